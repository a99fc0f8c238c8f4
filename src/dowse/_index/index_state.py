"""What the stages of an indexing run work on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, field

from dowse._index.chunk.options import ChunkOptions
from dowse._index.file_batch import FileBatch
from dowse._index.scan import Changes
from dowse._index.source.options import ReadOptions
from dowse._index.source.roots import Root
from dowse._index.vectors import VectorMaker
from dowse._model import (
    Announce,
    Event,
    LeftOut,
    Shard,
)
from dowse._model.ports import Analyzer, IndexWriter

_MANY = 20  # changed files: to embed fewer takes about a second


class IndexState(Struct):
    """The work that index stages hand along."""

    roots: Sequence[Root]
    within: Sequence[Path]  # only these files and folders; empty: everything
    read: ReadOptions
    chunk: ChunkOptions
    vocabulary: int  # how many words are embedded
    analyzer: Analyzer
    writing: IndexWriter
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
