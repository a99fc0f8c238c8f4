"""From a folder to an index: the stages in their order, and the loop that runs them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from itertools import groupby
from pathlib import Path

from msgspec import Struct

from dowse._index.ahead import prepared
from dowse._index.batches import PREPARING, embed_chunks, store_batch
from dowse._index.chunk.options import ChunkOptions
from dowse._index.file_batch import FileBatch
from dowse._index.index_state import IndexState
from dowse._index.report import IndexReport
from dowse._index.scan import beginnings, scan
from dowse._index.source.options import ReadOptions
from dowse._index.source.roots import Root
from dowse._index.vectors import VectorMaker
from dowse._model import Announce, ChunkKey, Edge, Event, FileState, Shard, context_of
from dowse._model.ports import Analyzer, Embedder, IndexWriter
from dowse._text.links import find_communities
from dowse._util.clock import Clock

_AT_ONCE = 1000  # texts whose vectors are kept together


class IndexStage(Struct, frozen=True):
    """One named step of indexing: it changes the work, and says how much it worked on."""

    name: str
    run: Callable[[IndexState], int]
    each_batch: bool = False  # it runs once for every few changed files
    of_all: bool = False  # it needs all documents, so that no shard runs it
    ahead: bool = False  # it needs nothing but files: other processes can run it ahead


def _scan(work: IndexState) -> int:
    known = work.writing.catalogue.files(beginnings(work.roots, work.within))
    work.changes = scan(work.roots, work.within, work.read, known, work.shard)
    work.left_out += work.changes.left_out
    return work.changes.unchanged + len(work.changes.pending)


def _embed_waiting(work: IndexState) -> int:
    """Embeds chunks that were stored without a vector: words first, or there was no model."""
    if not work.vectors.can_embed:
        return 0
    writing, context = work.writing, context_of(work.writing.catalogue.stamp())
    waiting = writing.text_vectors.waiting()
    if not waiting:  # then nobody needs all the links, which an engine has to look up
        return 0
    keys = most_useful_first(waiting, writing.links.all(), writing.catalogue.files())

    def texts(part: slice) -> list[str]:
        return [stored.embedding_text(context) for stored in writing.catalogue.chunks(keys[part])]

    return _embed(work, len(keys), texts, "chunks")


def most_useful_first(
    waiting: Mapping[ChunkKey, str], links: Iterable[Edge], files: Mapping[str, FileState]
) -> list[ChunkKey]:
    """Chunks in the order in which vectors help: of documents that many link to, then of new ones.

    `waiting` has the document of each chunk.
    """
    linked = Counter(edge.target for edge in links)

    def place(key: ChunkKey) -> tuple[int, int]:
        document = waiting[key]
        return -linked[document], -files[document].mtime_ns

    return sorted(waiting, key=place)


def _embed_vocabulary(work: IndexState) -> int:
    if not work.vectors.can_embed or not work.vocabulary:
        return 0
    words = work.vectors.unknown(work.writing.vocabulary.most_frequent(work.vocabulary))
    return _embed(work, len(words), words.__getitem__, "words")


def _embed(work: IndexState, count: int, texts: Callable[[slice], list[str]], unit: str) -> int:
    """Embeds so many texts, a few at a time, each few kept before the next are begun."""
    before = work.vectors.made
    for start in range(0, count, _AT_ONCE):
        end = min(count, start + _AT_ONCE)

        def progress(part: float, start: int = start, end: int = end) -> None:
            work.announce(Event(work.stage, start + int(part * (end - start)), count, unit))

        progress(0.0)
        # A text that several chunks share is embedded once.
        some = texts(slice(start, end))
        unknown = work.vectors.unknown(some)
        # A run that was killed may have kept a vector that not all its chunks have got.
        kept = work.vectors.known(some) if len(unknown) < len(set(some)) else {}
        work.writing.remember(kept | work.vectors.make(unknown, progress))
        if not work.vectors.can_embed:  # the embedder gave up
            break
    return work.vectors.made - before


def _find_communities(work: IndexState) -> int:
    if "communities" not in work.writing.pending():
        return 0
    communities = find_communities(work.writing.links.all())
    work.writing.set_communities(communities)
    return len(communities)


def _tidy(work: IndexState) -> int:
    if "tidy" not in work.writing.pending():
        return 0
    work.writing.tidy(work.vocabulary)
    return 1


INDEX_FLOW: tuple[IndexStage, ...] = (
    IndexStage("scan", _scan),
    *(IndexStage(name, run, each_batch=True, ahead=True) for name, run in PREPARING.items()),
    IndexStage("embed", embed_chunks, each_batch=True),
    IndexStage("store", store_batch, each_batch=True),
    IndexStage("waiting", _embed_waiting, of_all=True),
    IndexStage("vocabulary", _embed_vocabulary, of_all=True),
    IndexStage("communities", _find_communities, of_all=True),
    IndexStage("tidy", _tidy, of_all=True),
)
"""What happens to a folder, in this order; rows for each batch run in turn, batch after batch."""


def run_indexing(
    roots: Sequence[Root],
    within: Sequence[Path],
    *,
    read: ReadOptions,
    chunk: ChunkOptions,
    vocabulary: int,
    analyzer: Analyzer,
    writing: IndexWriter,
    embedder: Embedder | None,
    announce: Announce,
    shard: Shard | None = None,
) -> IndexReport:
    """Updates the index from the folder; each stage is counted, timed and announced."""
    clock = Clock()
    vectors = VectorMaker(embedder, writing)
    work = IndexState(
        roots, within, read, chunk, vocabulary, analyzer, writing, vectors, announce, shard
    )
    flow = [stage for stage in INDEX_FLOW if not (shard and stage.of_all)]
    for each_batch, rows in groupby(flow, key=lambda row: row.each_batch):
        stages = tuple(rows)
        with prepared(work, clock) if each_batch else nullcontext([FileBatch()]) as some:
            for batch in some:
                work.batch = batch
                _run(stages, work, clock)
    return IndexReport(
        added=work.added,
        changed=work.changed,
        removed=work.removed,
        unchanged=work.changes.unchanged,
        chunks=work.counts["chunk"],
        embedded=vectors.made,
        left_out=tuple(work.left_out),
        notices=tuple(vectors.notices),
        secrets=work.secrets,
        unreadable=vectors.unreadable,
        seconds=clock.seconds,
        counts=dict(work.counts),
    )


def _run(stages: Sequence[IndexStage], work: IndexState, clock: Clock) -> None:
    for stage in stages:
        if stage.ahead and work.batch.prepared:
            continue
        work.stage = stage.name
        if stage.each_batch:
            work.progress()
        else:
            work.announce(Event(stage.name, 0, None))
        with clock.timing(stage.name):
            work.counts[stage.name] += stage.run(work)
