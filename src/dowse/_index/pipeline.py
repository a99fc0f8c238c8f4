"""From a folder to an index: the state of a run, its stages in their order, and the loop."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
from graspologic_native import leiden
from msgspec import Struct, field
from msgspec.structs import replace

from dowse._index.options import ChunkOptions, ReadOptions
from dowse._index.prepare import FILE_STAGES, FileBatch, IndexStage, WorkerPool, prepare
from dowse._index.source.roots import Root
from dowse._index.source.walk import Changes, beginnings, scan
from dowse._model import (
    Announce,
    Batch,
    ChunkKey,
    Edge,
    Event,
    FileState,
    IndexReport,
    LeftOut,
    Shard,
    SourceFile,
    Vector,
    context_of,
    silent,
    text_key,
)
from dowse._model.ports import Analyzer, Embedder, IndexWriter
from dowse._text.scripts import is_readable
from dowse._util.messages import counted
from dowse._util.process import Clock
from dowse.errors import EmbedError

_MANY = 20  # changed files: to embed fewer takes about a second
_FILES = 64  # of the first batch at most
_BYTES = 400_000  # about 500 chunks: some seconds of embedding
_SEED = 20090621  # of communities
_LOOK_AFTER = 0.5  # seconds of embedding, and
_LOOKS = 0.05  # share of the time that looking at the folder may take
_AT_ONCE = 1000  # texts whose vectors are kept together
_LARGEST = 8  # times as much, where nothing is embedded: every transaction is synced to the disk


# ── Vectors: known ones are looked up, the others made, and nothing made is ever lost ────────────


class VectorMaker:
    """Makes the vectors of an indexing run."""

    def __init__(self, embedder: Embedder | None, writer: IndexWriter) -> None:
        self._embedder = embedder
        self._writing = writer
        self.made = 0  # texts that the embedder has read
        self.unreadable = 0  # texts in a script that the model cannot read
        self.notices: list[str] = []  # why there are no vectors, if there are none

    @property
    def can_embed(self) -> bool:
        """Whether vectors are wanted and can be had, as far as is known."""
        return self._embedder is not None

    def unknown(self, texts: Iterable[str]) -> list[str]:
        """Return the texts that have no vector yet, each once, in their order."""
        keys = {text_key(text): text for text in texts}
        return [keys[key] for key in self._writing.text_vectors.missing(list(keys))]

    def known(self, texts: Iterable[str]) -> dict[bytes, Vector]:
        """Return the vectors of those texts that have one, by text key."""
        return self._writing.text_vectors.known(list({text_key(text) for text in texts}))

    def make(
        self, texts: Sequence[str], progress: Callable[[float], None] = lambda _: None
    ) -> dict[bytes, Vector]:
        """Return the vectors of these texts, by text key; fewer when the embedder gives up.

        When the run is interrupted, what is made so far is kept in the index.
        """
        made: dict[bytes, Vector] = {}
        if self._embedder is None or not texts:
            return made
        try:
            model = self._embedder.model
            # What the model cannot read gets a vector that is near nothing.
            nothing: Vector = np.zeros(model.dimensions, np.float32)
            blank = {text: nothing for text in texts if not is_readable(text, model.scripts)}
            readable = [text for text in texts if text not in blank]
            for batch in self._embedder.passages(readable):
                for position, vector in zip(batch.positions, batch.vectors, strict=True):
                    made[text_key(readable[position])] = vector
                self.made += len(batch.positions)
                progress(len(made) / len(readable))
        except EmbedError as error:
            self.notices.append(f"Indexed for keyword search only. {error}")
            self._embedder, blank = None, {}
        except BaseException:
            self._writing.remember(made)
            raise
        self.unreadable += len(blank)
        return made | {text_key(text): vector for text, vector in blank.items()}

    def make_and_keep(
        self, count: int, texts: Callable[[slice], list[str]], progress: Callable[[int], None]
    ) -> int:
        """Embed so many texts, a few at a time; each few are kept before the next are begun."""
        before = self.made
        for start in range(0, count, _AT_ONCE):
            end = min(count, start + _AT_ONCE)

            def progress_from(part: float, start: int = start, end: int = end) -> None:
                progress(start + int(part * (end - start)))

            progress_from(0.0)
            # A text that several chunks share is embedded once.
            some = texts(slice(start, end))
            unknown = self.unknown(some)
            # A run that was killed may have kept a vector that not all its chunks have got.
            kept = self.known(some) if len(unknown) < len(set(some)) else {}
            self._writing.remember(kept | self.make(unknown, progress_from))
            if not self.can_embed:  # the embedder gave up
                break
        return self.made - before


# ── The stages ───────────────────────────────────────────────────────────────


class IndexState(Struct):
    """What the stages of an indexing run work on."""

    roots: Sequence[Root]
    within: Sequence[Path]  # only these files and folders; empty: everything
    read: ReadOptions
    chunk: ChunkOptions
    vocabulary: int  # how many words are embedded
    analyzer: Analyzer
    writer: IndexWriter
    vectors: VectorMaker
    announce: Announce
    shard: Shard | None = None  # only its documents; None: all
    changes: Changes = field(default_factory=Changes)
    # All files are stored before any is embedded, so that words find them at once.
    words_first: bool = False
    tried: set[SourceFile] = field(default_factory=set)  # as they were when they were read
    edited: set[str] = field(default_factory=set)  # documents that changed during the run
    next_look: float = 0.0  # at the folder, while chunks are embedded
    batch: FileBatch = field(default_factory=lambda: FileBatch(ReadOptions(), ChunkOptions()))
    files_done: int = 0
    files_shown: int = 0  # of which people have been told: it never goes back
    left_out: list[LeftOut] = field(default_factory=list)
    added: int = 0
    changed: int = 0
    removed: int = 0
    secrets: int = 0
    counts: Counter[str] = field(default_factory=Counter)  # what each stage has worked on
    clock: Clock = field(default_factory=Clock)

    def progress(self, stage: str, of_batch: int = 0) -> None:
        """Announce how many files are done, with those of the batch.

        Where a batch is embedded, that takes nearly all of its time, so that nothing else counts.
        """
        self.files_shown = max(
            self.files_shown,
            self.files_done + (of_batch if self.words_first or stage == "embed" else 0),
        )
        self.announce(Event(stage, self.files_shown, len(self.changes.pending)))


def _scan(work: IndexState) -> int:
    """Find what is new, changed or gone."""
    known = work.writer.catalogue.files(beginnings(work.roots, work.within))
    work.changes = scan(work.roots, work.within, work.read, known, work.shard)
    work.left_out += work.changes.left_out
    # A few changed files come whole. Shards cannot wait: none of them knows what others did.
    work.words_first = work.shard is None and len(work.changes.pending) >= _MANY
    return work.changes.unchanged + len(work.changes.pending)


def _embed(work: IndexState) -> int:
    """Make the vectors that the index does not have yet, unless words come first."""
    if work.words_first:
        return 0
    batch = work.batch
    documents = [put.chunked for put in batch.put]
    texts = [one.embedding_text(part) for one in documents for part in one.chunks]

    def progress(part: float) -> None:
        work.progress("embed", int(part * len(batch.sources)))

    batch.vectors = work.vectors.make(work.vectors.unknown(texts), progress)
    return len(batch.vectors)


def _store(work: IndexState) -> int:
    """Store the batch in one transaction."""
    batch = work.batch
    work.writer.apply(
        Batch(tuple(batch.put), tuple(batch.gone), tuple(batch.touched), batch.vectors)
    )
    new = sum(put.chunked.document.id not in work.changes.known for put in batch.put)
    work.added += new
    work.changed += len(batch.put) - new
    work.removed += len(batch.gone)
    work.left_out += batch.left_out
    work.secrets += batch.secrets
    work.files_done += len(batch.sources)
    work.progress("store")
    return len(batch.put)


def _embed_waiting(work: IndexState) -> int:
    """Embed chunks that were stored without a vector: words came first, or there was no model.

    This takes long. Files that are edited meanwhile are stored at once, and embedded next.
    """
    made = work.vectors.made
    while work.vectors.can_embed:
        try:
            _embed_most_useful(work)
        except _Edited:
            continue
        break
    return work.vectors.made - made


class _Edited(Exception):
    """The folder has changed, and the changes are stored: other chunks are to be embedded next."""


def _embed_most_useful(work: IndexState) -> None:
    writer, context = work.writer, context_of(work.writer.catalogue.stamp())
    waiting = writer.text_vectors.waiting()
    if not waiting:  # then nobody needs all the links, which an engine has to look up
        return
    keys = most_useful_first(
        waiting, writer.links.all(), writer.catalogue.files(), first=work.edited
    )
    total = writer.catalogue.sizes().chunks  # those of former runs count too
    before = total - len(keys)
    if work.words_first and not work.changes.known:  # a first index: people may search by now
        said = f"Keyword search is ready. Embedding {counted(len(keys), 'chunk')}."
        work.announce(Event("waiting", before, total, "chunks", note=said))

    def texts(part: slice) -> list[str]:
        return [stored.embedding_text(context) for stored in writer.catalogue.chunks(keys[part])]

    def progress(done: int) -> None:
        work.announce(Event("waiting", before + done, total, "chunks"))
        if time.monotonic() >= work.next_look and _store_edits(work):
            raise _Edited

    work.vectors.make_and_keep(len(keys), texts, progress)


def _store_edits(work: IndexState) -> bool:
    """Store what has changed in the folder since it was scanned; return whether anything has."""
    began = time.monotonic()
    known = work.writer.catalogue.files(beginnings(work.roots, work.within))
    changes = scan(work.roots, work.within, work.read, known, work.shard)
    # What could not be read, or was just written, is tried again by the next run.
    changes.pending = [source for source in changes.pending if source not in work.tried]
    is_edited = bool(changes.pending or changes.gone)
    if is_edited:
        work.changes = replace(changes, unchanged=work.changes.unchanged)
        work.words_first = True
        work.edited.update(source.id for source in changes.pending)
        told, work.announce = work.announce, silent  # people are told how far the run is
        for batch in _batches(work):
            prepare(batch, _rows("files"))
            _take(batch, work)
        work.announce = told
    now = time.monotonic()
    work.next_look = now + max(_LOOK_AFTER, (now - began) / _LOOKS)
    return is_edited


def most_useful_first(
    waiting: Mapping[ChunkKey, str],
    links: Iterable[Edge],
    files: Mapping[str, FileState],
    first: Collection[str] = (),
) -> list[ChunkKey]:
    """Order chunks as vectors help: of documents that many link to, of new ones, of the others.

    `waiting` has the document of each chunk. Those of `first` come before all.
    """
    linked = Counter(edge.target for edge in links)

    def place(key: ChunkKey) -> tuple[bool, int, int]:
        document = waiting[key]
        return document not in first, -linked[document], -files[document].mtime_ns

    return sorted(waiting, key=place)


def _embed_vocabulary(work: IndexState) -> int:
    """Embed frequent words, with which queries can be expanded."""
    if not work.vectors.can_embed or not work.vocabulary:
        return 0
    words = work.vectors.unknown(work.writer.vocabulary.most_frequent(work.vocabulary))

    def progress(done: int) -> None:
        work.announce(Event("vocabulary", done, len(words), "words"))

    return work.vectors.make_and_keep(len(words), words.__getitem__, progress)


def _find_communities(work: IndexState) -> int:
    """Find which documents belong together, when links have changed."""
    if "communities" not in work.writer.pending():
        return 0
    communities = find_communities(work.writer.links.all())
    work.writer.set_communities(communities)
    return len(communities)


def find_communities(edges: Iterable[Edge]) -> dict[str, int]:
    """Find Leiden communities of the undirected link graph (Traag et al., 2019), by document id.

    Communities are numbered from 0, the largest first; documents without links have none.
    """
    pairs = sorted(
        {
            (min(edge.source, edge.target), max(edge.source, edge.target))
            for edge in edges
            if edge.target is not None and edge.target != edge.source
        }
    )
    if not pairs:
        return {}
    # All parameters are set here, so that no default can change the groups. Release 1.3, which is
    # for Python 3.14, divides graphs without clear groups differently, with modularity within .02.
    _, found = leiden(
        [(*pair, 1.0) for pair in pairs],
        starting_communities=None,
        resolution=1.0,
        randomness=0.001,
        iterations=1,
        use_modularity=True,
        seed=_SEED,
        trials=1,
    )
    by_group = sorted(found, key=lambda name: (found[name], name))
    largest_first = sorted(
        [list(names) for _, names in groupby(by_group, found.__getitem__)],
        key=lambda group: (-len(group), group[0]),
    )
    return {name: rank for rank, group in enumerate(largest_first) for name in group}


def _tidy(work: IndexState) -> int:
    """Remove what deletions have left behind."""
    if "tidy" not in work.writer.pending():
        return 0
    work.writer.tidy(work.vocabulary)
    return 1


INDEX_FLOW: tuple[IndexStage, ...] = (
    IndexStage("scan", _scan, over="folder"),
    *FILE_STAGES,  # read, parse, chunk
    IndexStage("embed", _embed, over="batch"),
    IndexStage("store", _store, over="batch"),
    IndexStage("waiting", _embed_waiting),
    IndexStage("vocabulary", _embed_vocabulary),
    IndexStage("communities", _find_communities),
    IndexStage("tidy", _tidy),
)
"""What happens to a folder, in this order; rows over files and batches run batch after batch."""


# ── The loop ─────────────────────────────────────────────────────────────────


def run_indexing(
    roots: Sequence[Root],
    within: Sequence[Path],
    *,
    read: ReadOptions,
    chunk: ChunkOptions,
    vocabulary: int,
    analyzer: Analyzer,
    writer: IndexWriter,
    embedder: Embedder | None,
    announce: Announce,
    shard: Shard | None = None,
) -> IndexReport:
    """Update the index from the folder; each stage is counted, timed and announced."""
    vectors = VectorMaker(embedder, writer)
    work = IndexState(
        roots, within, read, chunk, vocabulary, analyzer, writer, vectors, announce, shard
    )
    for stage in _rows("folder"):
        announce(Event(stage.name, 0, None))
        _run(stage, work)
    # Where each batch is embedded, preparing it takes no time in comparison.
    with WorkerPool(len(work.changes.pending) if work.words_first else 0, analyzer) as pool:
        for batch in pool.prepared(_batches(work), _rows("files"), work.progress):
            _take(batch, work)
    for stage in [] if shard else _rows("index"):
        announce(Event(stage.name, 0, None))
        _run(stage, work)
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
        seconds=work.clock.seconds,
        counts=dict(work.counts),
    )


def _rows(over: str) -> list[IndexStage]:
    return [stage for stage in INDEX_FLOW if stage.over == over]


def _run(stage: IndexStage, work: IndexState) -> None:
    with work.clock.timing(stage.name):
        work.counts[stage.name] += stage.run(work)


def _take(batch: FileBatch, work: IndexState) -> None:
    """Run the rows over batches on one that is prepared."""
    work.batch = batch
    work.counts.update(batch.counts)
    work.clock.add(batch.clock.seconds)
    for stage in _rows("batch"):
        work.progress(stage.name)
        _run(stage, work)


def _batches(work: IndexState) -> Iterator[FileBatch]:
    """Yield the changes of a scan, a few files at a time; the first batch is what is gone."""
    changes = work.changes
    work.tried.update(changes.pending)
    # A file that moved keeps its size and time: its old id goes when its new one comes.
    arriving = {(source.size, source.mtime_ns) for source in changes.pending}
    left = {(known.size, known.mtime_ns): id_ for id_, known in changes.gone.items()}
    moved = {state: left[state] for state in arriving & left.keys()}
    stay_gone = [id_ for id_ in changes.gone if id_ not in set(moved.values())]
    if stay_gone:
        yield FileBatch(work.read, work.chunk, gone=stay_gone)
    for group in _groups(changes.pending, _LARGEST if work.words_first else 1):
        former = (moved.pop((source.size, source.mtime_ns), None) for source in group)
        yield FileBatch(
            work.read, work.chunk, group, changes.known, [id_ for id_ in former if id_ is not None]
        )


def _groups(sources: Iterable[SourceFile], largest: int) -> Iterator[list[SourceFile]]:
    """Yield the files in groups, each up to twice as large as the one before: one is soon there."""
    group: list[SourceFile] = []
    size, times = 0, 1
    for source in sources:
        if group and (len(group) >= times * _FILES or size + source.size > times * _BYTES):
            yield group
            group, size, times = [], 0, min(largest, 2 * times)
        group.append(source)
        size += source.size
    if group:
        yield group
