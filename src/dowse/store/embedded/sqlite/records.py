"""The records that rows of the database stand for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from dowse.types import Chunk, ChunkKey, DocumentEntry, Edge, Fields, Link, Name, Section

ENTRY = """d.id, d.short, d.fields, d.modified, d.size, d.mtime_ns,
  (SELECT count(*) FROM chunks c WHERE c.document = d.key)"""
"""The columns of a `DocumentEntry`."""

SECTION = """id, header_path, start, "end", first_line, last_line"""
"""The columns of a `Section`."""

CHUNK = """c.id, c.section, c.header_path, c.start, c."end", c.overlap, c.first_line, c.last_line"""
"""The columns of a `Chunk`."""

EDGES = """SELECT s.id, l.kind, l.target, l.anchor, l.label, l.line, t.id FROM edges l
  JOIN documents s ON s.key = l.source LEFT JOIN documents t ON t.key = l.leads"""
"""The rows of `Edge`."""

EDGE_ORDER = "ORDER BY s.id, l.line, l.key"
"""By source and line."""


def entry(row: Sequence[Any]) -> DocumentEntry:
    """A document as the index lists it."""
    document_id, short, fields, *rest = row
    return DocumentEntry(document_id, short, msgspec.json.decode(fields, type=Fields), *rest)


def section(row: Sequence[Any]) -> Section:
    """A section."""
    section_id, header_path, *rest = row
    return Section(section_id, tuple(json.loads(header_path)), *rest)


def chunk(row: Sequence[Any]) -> Chunk:
    """A chunk."""
    chunk_id, section, header_path, *rest = row
    return Chunk(chunk_id, section, tuple(json.loads(header_path)), *rest)


def edge(row: Sequence[Any]) -> Edge:
    """A link and where it leads."""
    return Edge(row[0], Link(*row[1:6]), row[6])


def keyed_chunk(row: Sequence[Any]) -> tuple[ChunkKey, int, Chunk]:
    """A chunk with its key and that of its document."""
    return row[0], row[1], chunk(row[2:])


def named(row: Sequence[Any]) -> tuple[ChunkKey, Name]:
    """A chunk and what it is called."""
    key, kind, path, start, line = row
    return key, Name(kind, tuple(json.loads(path)), start, line)


def of_documents(columns: str) -> str:
    """A statement that lists columns of some documents, whose keys are bound as JSON."""
    return f"SELECT {columns} FROM documents d WHERE d.key IN (SELECT value FROM json_each(?))"
