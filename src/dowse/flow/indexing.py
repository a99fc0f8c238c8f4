"""From a folder to an index: the stages in their order, and the loop that runs and times them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dowse.analyze import find_communities
from dowse.chunk import ChunkOptions
from dowse.flow.batches import Batches
from dowse.flow.report import IndexReport
from dowse.flow.scan import Changes, scan
from dowse.flow.stages import Clock, Stage
from dowse.flow.vectors import VectorMaker
from dowse.ports import Embedder, Writing
from dowse.read import ReadOptions, Root
from dowse.types import Announce, Event, LeftOut

_AT_ONCE = 1000  # texts whose vectors are kept together


@dataclass(slots=True)
class Indexing:
    """The work that index stages hand along."""

    roots: Sequence[Root]
    within: Sequence[Path]  # only these files and folders; empty: everything
    read: ReadOptions
    chunk: ChunkOptions
    vocabulary: int  # how many words are embedded
    writing: Writing
    vectors: VectorMaker
    announce: Announce
    clock: Clock
    changes: Changes = field(default_factory=Changes)
    left_out: list[LeftOut] = field(default_factory=list)
    added: int = 0
    changed: int = 0
    removed: int = 0
    chunks: int = 0
    secrets: int = 0


def _scan(work: Indexing) -> None:
    work.announce(Event("scan", 0, None))
    work.changes = scan(work.roots, work.within, work.read, work.writing.catalogue.files())
    work.left_out += work.changes.left_out


def _index(work: Indexing) -> None:
    batches = Batches(
        work.changes,
        read=work.read,
        chunk=work.chunk,
        vectors=work.vectors,
        clock=work.clock,
        announce=work.announce,
    )
    for done in batches:
        with work.clock.timing("store"):
            work.writing.apply(done.batch)
        work.left_out += done.left_out
        work.added += done.added
        work.changed += len(done.batch.put) - done.added
        work.removed += len(done.batch.gone)
        work.secrets += done.secrets
        work.chunks += sum(len(put.chunked.chunks) for put in done.batch.put)


def _embed_waiting(work: Indexing) -> None:
    """Embeds chunks that were stored while no weights were to be had."""
    if work.vectors.can_embed:
        # A text that several chunks share is embedded once.
        _embed_texts(
            work, work.vectors.unknown(work.writing.text_vectors.waiting()), "embed", "chunks"
        )


def _embed_vocabulary(work: Indexing) -> None:
    words = work.writing.vocabulary.most_frequent(work.vocabulary) if work.vectors.can_embed else []
    new = work.vectors.unknown(words)
    _embed_texts(work, new, "vocabulary", "words")


def _embed_texts(work: Indexing, texts: Sequence[str], stage: str, unit: str) -> None:
    """Embeds texts a few at a time, each few kept before the next are begun."""
    for start in range(0, len(texts), _AT_ONCE):
        some = texts[start : start + _AT_ONCE]

        def progress(part: float, start: int = start, count: int = len(some)) -> None:
            work.announce(Event(stage, start + int(part * count), len(texts), unit))

        progress(0.0)
        work.writing.remember(work.vectors.make(some, progress))


def _find_communities(work: Indexing) -> None:
    if "communities" in work.writing.owed():
        work.writing.set_communities(find_communities(work.writing.links.all()))


def _tidy(work: Indexing) -> None:
    if "tidy" in work.writing.owed():
        work.writing.tidy(work.vocabulary)


INDEX_FLOW: tuple[Stage[Indexing], ...] = (
    Stage("scan", _scan),
    Stage("index", _index),  # batch by batch: read, parse, chunk, embed, store
    Stage("waiting", _embed_waiting),
    Stage("vocabulary", _embed_vocabulary),
    Stage("communities", _find_communities),
    Stage("tidy", _tidy),
)
"""What happens to a folder, in this order."""


def run_indexing(
    roots: Sequence[Root],
    within: Sequence[Path],
    *,
    read: ReadOptions,
    chunk: ChunkOptions,
    vocabulary: int,
    writing: Writing,
    embedder: Embedder | None,
    announce: Announce,
) -> IndexReport:
    """Updates the index from the folder, and times each stage."""
    clock = Clock()
    vectors = VectorMaker(embedder, writing)
    work = Indexing(roots, within, read, chunk, vocabulary, writing, vectors, announce, clock)
    for stage in INDEX_FLOW:
        with clock.timing(stage.name):
            stage.run(work)
    return IndexReport(
        added=work.added,
        changed=work.changed,
        removed=work.removed,
        unchanged=work.changes.unchanged,
        chunks=work.chunks,
        embedded=vectors.made,
        left_out=tuple(work.left_out),
        notices=tuple(vectors.notices),
        secrets=work.secrets,
        seconds={name: spent for name, spent in clock.seconds.items() if name != "index"},
    )
