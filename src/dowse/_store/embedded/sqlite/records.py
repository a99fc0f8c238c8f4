"""The records that rows of the database stand for."""

from __future__ import annotations

from typing import Annotated

import msgspec

from dowse._model import (
    Chunk,
    ChunkKey,
    DocumentEntry,
    Edge,
    Fields,
    FileState,
    Link,
    LinkKind,
    Name,
    NameKind,
    Section,
)

Moment = Annotated[float, msgspec.Meta(ge=-1e19, le=1e19)]
"""Seconds since 1970, as far from it as a file system can say."""

ENTRY = """d.id, d.short, d.fields, d.modified, d.size, d.mtime_ns,
  (SELECT count(*) FROM chunks c WHERE c.document = d.key)"""
"""The columns of a `DocumentEntry`."""

EntryRow = tuple[str, str, str, Moment, int, int, int]
"""The values in `ENTRY`."""

FileRow = tuple[str, int, int, str, int]
"""The id of a document, and the values of its `FileState`."""

SECTION = """id, header_path, start, "end", first_line, last_line"""
"""The columns of a `Section`."""

SectionRow = tuple[str, str, int, int, int, int]
"""The values in `SECTION`."""

CHUNK = """c.id, c.section, c.header_path, c.start, c."end", c.overlap, c.first_line, c.last_line"""
"""The columns of a `Chunk`."""

ChunkRow = tuple[str, str, str, int, int, int, int, int]
"""The values in `CHUNK`."""

KeyedChunkRow = tuple[int, int, str, str, str, int, int, int, int, int]
"""A key, the key of a document, and the values in `CHUNK`."""

EDGES = """SELECT s.id, l.kind, l.target, l.anchor, l.label, l.line, t.id FROM edges l
  JOIN documents s ON s.key = l.source LEFT JOIN documents t ON t.key = l.leads"""
"""The rows of `Edge`."""

EdgeRow = tuple[str, LinkKind, str, str, str, int, str | None]
"""The values in a row of `EDGES`."""

EDGE_ORDER = "ORDER BY s.id, l.line, l.key"
"""By source and line."""

NamedRow = tuple[int, NameKind, str, int, int]
"""The values in a row of chunk_names: chunk, kind, path, start, line."""


def entry(row: EntryRow) -> DocumentEntry:
    """A document as the index lists it."""
    document_id, short, fields, modified, size, mtime_ns, chunks = row
    decoded = msgspec.json.decode(fields, type=Fields)
    return DocumentEntry(document_id, short, decoded, modified, size, mtime_ns, chunks)


def file(row: FileRow) -> tuple[str, FileState]:
    """The id of a document, and what is known of its file."""
    document_id, size, mtime_ns, digest, settled = row
    return document_id, FileState(size, mtime_ns, digest, bool(settled))


def section(row: SectionRow) -> Section:
    """A section."""
    return Section(row[0], headings(row[1]), *row[2:])


def chunk(row: ChunkRow) -> Chunk:
    """A chunk."""
    return Chunk(row[0], row[1], headings(row[2]), *row[3:])


def edge(row: EdgeRow) -> Edge:
    """A link and where it leads."""
    return Edge(row[0], Link(*row[1:6]), row[6])


def keyed_chunk(row: KeyedChunkRow) -> tuple[ChunkKey, int, Chunk]:
    """A chunk with its key and that of its document."""
    return row[0], row[1], chunk(row[2:])


def named(row: NamedRow) -> tuple[ChunkKey, Name]:
    """A chunk and what it is called."""
    key, kind, path, start, line = row
    return key, Name(kind, headings(path), start, line)


def headings(path: str) -> tuple[str, ...]:
    """The headings in a column."""
    return msgspec.json.decode(path, type=tuple[str, ...])


def of_documents(columns: str) -> str:
    """A statement that lists columns of some documents, whose keys are bound as JSON."""
    return f"SELECT {columns} FROM documents d WHERE d.key IN (SELECT value FROM json_each(?))"
