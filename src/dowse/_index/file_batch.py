"""A few files on their way into the index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from msgspec import Struct, field

from dowse._index.chunk.options import ChunkOptions
from dowse._index.source.options import ReadOptions
from dowse._model import (
    Document,
    FileState,
    IndexedDocument,
    LeftOut,
    SourceFile,
    SourceText,
    Vector,
)
from dowse._util.deadline import Deadline


class ReadFile(NamedTuple):
    """A file whose text is not the one that the index has."""

    source: SourceFile
    text: SourceText
    state: FileState


class ParsedFile(NamedTuple):
    """A file, understood; `deadline` limits the rest of the work on it."""

    file: ReadFile
    document: Document
    deadline: Deadline


class FileBatch(Struct):
    """A few files on their way into the index; every stage adds what it makes of them."""

    sources: Sequence[SourceFile] = ()
    known: Mapping[str, FileState] = field(default_factory=dict)  # what the index has, by id
    gone: list[str] = field(default_factory=list)  # ids of documents that are no more
    touched: list[tuple[str, FileState]] = field(default_factory=list)  # only their time is new
    texts: list[ReadFile] = field(default_factory=list)
    documents: list[ParsedFile] = field(default_factory=list)
    put: list[IndexedDocument] = field(default_factory=list)
    vectors: dict[bytes, Vector] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    secrets: int = 0
    prepared: bool = False  # whether another process has read, parsed and cut the files

    def leave_out(self, document: str, reason: str, *, lost: bool = True) -> None:
        """Notes a file that cannot be indexed; what the index has of it goes."""
        self.left_out.append(LeftOut(document, reason, lost=lost))
        if document in self.known:
            self.gone.append(document)

    def take(self, made: Prepared) -> None:
        """Takes what was made of the next of its files."""
        self.put += made.put
        self.touched += made.touched
        self.gone += made.gone
        self.left_out += made.left_out
        self.secrets += made.secrets
        self.prepared = True


class Prepared(NamedTuple):
    """What was made of some files, how much each stage worked on, and for how long."""

    put: list[IndexedDocument]
    touched: list[tuple[str, FileState]]
    gone: list[str]
    left_out: list[LeftOut]
    secrets: int
    counts: Mapping[str, int]
    seconds: Mapping[str, float]


class Preparing(Protocol):
    """What the stages need that make documents of files, in whatever process."""

    batch: FileBatch
    read: ReadOptions
    chunk: ChunkOptions
