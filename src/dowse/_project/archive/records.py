"""What is in an export: a ZIP file with a manifest and three files of JSON Lines.

The manifest names every other file with its size and its SHA-256. Bytes, which is to say vectors,
are base64 in JSON: half floats, little end first. docs/export.md explains it.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Struct, field

from dowse._model import Fields, FileState, Stamp

FORMAT = "dowse-export"
"""What the manifest of every export says it is."""

VERSION = 1
"""Raised when older versions of dowse could not make sense of an export any more."""

MANIFEST, DOCUMENTS, CHUNKS, WORDS = (
    "manifest.json",
    "documents.jsonl",
    "chunks.jsonl",
    "vocabulary.jsonl",
)
"""The files of an export."""

Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
"""How many; never fewer than none, and no more than a disk could hold."""


class FormatClaim(Struct, frozen=True):
    """What a manifest says of itself first, in every version."""

    format: str = ""
    version: Annotated[int, msgspec.Meta(ge=0, le=2**31)] = 0


class Part(Struct, frozen=True):
    """A file of an export, unpacked."""

    bytes: Count
    sha256: str  # hex


class Manifest(Struct, frozen=True):
    """What an export says about itself."""

    format: str
    version: int
    dowse: str  # the version of dowse that wrote it
    project: str  # the name it had
    roots: tuple[str, ...]  # names only, never paths; the first is "", see `Root`
    stamp: Stamp  # what the index was built with
    embed: dict[str, str]  # settings of a model that everybody can have; else empty
    documents: Count
    chunks: Count
    vectors: Count  # of chunks
    words: Count  # of the vocabulary that have a vector
    parts: dict[str, Part]  # by name: every file but the manifest


class DocumentLine(Struct, frozen=True):
    """A document."""

    id: str
    fields: Fields  # for readers: importing reads them from the text again
    modified: float
    file: FileState
    text: str
    community: int | None = None


class ImportedDocument(Struct, frozen=True):
    """As much of a document's line as an import reads: the rest costs no memory."""

    id: str
    file: FileState
    text: str
    community: int | None = None


class ImportedChunk(Struct, frozen=True):
    """As much of a chunk's line as an import reads."""

    document: str
    header_path: tuple[str, ...]
    text: str
    vector: bytes | None = None


class ChunkLine(Struct, frozen=True):
    """A chunk with its vector; those of a document follow each other, in its order."""

    id: str
    document: str
    section: str
    header_path: tuple[str, ...]
    start: int
    end: int
    overlap: int
    first_line: int
    last_line: int
    text: str
    vector: bytes | None = None


class WordLine(Struct, frozen=True):
    """A word of the vocabulary with its vector."""

    word: str
    vector: bytes = field(default=b"")
