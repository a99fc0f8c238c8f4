"""What the stages of an indexing run work on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from dowse.chunk import ChunkOptions
from dowse.deadline import Deadline
from dowse.flow.scan import Changes
from dowse.flow.vectors import VectorMaker
from dowse.ports import Writing
from dowse.read import ReadOptions, Root
from dowse.types import (
    Announce,
    Document,
    Event,
    FileState,
    IndexedDocument,
    LeftOut,
    Shard,
    SourceFile,
    SourceText,
    Vector,
)

_MANY = 20  # changed files: to embed fewer takes about a second


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


@dataclass(slots=True)
class FileBatch:
    """A few files on their way into the index; every stage adds what it makes of them."""

    sources: Sequence[SourceFile] = ()
    gone: list[str] = field(default_factory=list)  # ids of documents that are no more
    touched: list[tuple[str, FileState]] = field(default_factory=list)  # only their time is new
    texts: list[ReadFile] = field(default_factory=list)
    documents: list[ParsedFile] = field(default_factory=list)
    put: list[IndexedDocument] = field(default_factory=list)
    vectors: dict[bytes, Vector] = field(default_factory=dict)


@dataclass(slots=True)
class IndexState:
    """The work that index stages hand along."""

    roots: Sequence[Root]
    within: Sequence[Path]  # only these files and folders; empty: everything
    read: ReadOptions
    chunk: ChunkOptions
    vocabulary: int  # how many words are embedded
    writing: Writing
    vectors: VectorMaker
    announce: Announce
    shard: Shard | None = None  # only its documents; None: all
    changes: Changes = field(default_factory=Changes)
    batch: FileBatch = field(default_factory=FileBatch)
    stage: str = ""  # the one that runs
    counts: Counter[str] = field(default_factory=Counter)  # what each stage has worked on
    files_done: int = 0
    left_out: list[LeftOut] = field(default_factory=list)
    added: int = 0
    changed: int = 0
    removed: int = 0
    secrets: int = 0

    @property
    def words_first(self) -> bool:
        """Whether all files are stored before any is embedded, so that words find them at once.

        A few changed files come whole. Shards cannot wait: none of them knows what others did.
        """
        return self.shard is None and len(self.changes.pending) >= _MANY

    def progress(self, part: float = 0.0) -> None:
        """Announces how many files are done, with a part of the batch."""
        done = self.files_done + int(part * len(self.batch.sources))
        self.announce(Event(self.stage, done, len(self.changes.pending)))

    def leave_out(self, document: str, reason: str, *, lost: bool = True) -> None:
        """Notes a file that cannot be indexed; what the index has of it goes."""
        self.left_out.append(LeftOut(document, reason, lost=lost))
        if document in self.changes.known:
            self.batch.gone.append(document)
