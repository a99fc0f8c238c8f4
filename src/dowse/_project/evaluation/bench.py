"""What an evaluation searches: never the user's own index.

A collection is a project of its own, indexed in the cache. For queries out of the user's documents
there is a copy of their index in which the texts that the queries were drawn from cannot be found.
The copy is made from the index, not from the folder: no file of the user's is read or written. It
is with the project, so that it goes when the project goes, and keeps its vectors from run to run.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from msgspec import Struct, field
from msgspec.structs import replace

from dowse._config.schema import Settings, of_an_index
from dowse._index.chunk.chunker import chunk
from dowse._index.vectors import VectorMaker
from dowse._model import (
    Announce,
    Batch,
    Event,
    IndexedDocument,
    IndexReport,
    Stamp,
    context_of,
    silent,
    text_key,
)
from dowse._model.ports import IndexReader, IndexWriter, Store
from dowse._model.store_options import StoreOptions
from dowse._project.engine import Engine, Parts, expected_stamp, takes_vectors
from dowse._project.evaluation.collections import lay_out
from dowse._project.evaluation.measures import Collection, Run
from dowse._project.evaluation.own_queries import OwnQuery, hide, own_collection
from dowse._project.evaluation.runs import search_run
from dowse._project.registry import Project
from dowse._project.workspace import Workspace
from dowse._search.request import Filters
from dowse._text.links import find_communities
from dowse._util.files import PRIVATE_FILE, make_private_folder
from dowse.errors import Damaged, Locked, NotFound, StampMismatch, UsageError


class Bench(Struct, frozen=True):
    """A collection that is indexed and can be searched."""

    collection: Collection
    engine: Engine
    names: Mapping[str, str]  # what judgments call a document, where it is not its id
    indexed: IndexReport
    filters: Mapping[str, Filters] = field(default_factory=dict)  # by query, where it has some
    withheld: tuple[str, ...] = ()  # what a dowse.toml asks for without the user's consent

    @property
    def documents(self) -> int:
        """How many there are."""
        return len(self.engine.documents())

    @property
    def has_vectors(self) -> bool:
        """Whether it can be searched by meaning."""
        stamp = self.engine.built_with()
        return stamp is not None and takes_vectors(stamp)

    def run(self, name: str, changes: Mapping[str, Any], announce: Announce = silent) -> Run:
        """Asks all queries of the collection with these changes to the settings."""
        return search_run(
            name,
            self.engine,
            self.collection.queries,
            changes,
            names=self.names,
            filters=self.filters,
            announce=announce,
        )

    def unknown(self) -> tuple[str, ...]:
        """The documents that judgments name and that are not in the index.

        Raises `UsageError` when that is all of them: then names differ, and no figure would mean
        anything.
        """
        here = {self.names.get(entry.id, entry.id) for entry in self.engine.documents()}
        judged = {name for query in self.collection.queries for name in query.relevant}
        if here and judged and not here & judged:
            raise UsageError(
                f"No judged document is in {self.collection.name}: judgments name {min(judged)!r},"
                f" documents are called {min(here)!r}.",
                "Judge documents by their path below docs/, or by their _id in corpus.jsonl.",
            )
        return tuple(sorted(judged - here))


@contextmanager
def open_bench(
    workspace: Workspace,
    collection: Collection,
    overrides: Mapping[str, Any] | None = None,
    announce: Announce = silent,
) -> Iterator[Bench]:
    """Updates the index of a collection, and opens it.

    `overrides` are settings by their full names; with other settings of the index, also those of a
    preset, an index of its own is kept.
    """
    if collection.documents is None:
        raise NotFound(
            f"{collection.name} has no documents to search.",
            "Put them into docs/ or corpus.jsonl, or judge a run file: --run FILE",
        )
    if not all(query.text for query in collection.queries):
        raise NotFound(
            f"{collection.name} has no queries to ask.",
            "Put them into queries.jsonl, or judge a run file: --run FILE",
        )
    chosen = dict(overrides or {})
    folder = evaluation_folder(workspace, collection.documents, chosen)
    documents, names = collection.documents.resolve(), {}
    if not documents.is_dir():  # a corpus.jsonl
        documents = folder / "docs"
        names = lay_out(collection.documents, documents)
    project = Project(collection.name, folder, (documents,))
    here = {"store.url": "", **chosen}  # a copy is of no use to other machines
    with workspace.open(project, here, announce, fetch=True) as engine:
        withheld = workspace.settings(project).withheld
        try:
            report = engine.index(announce=announce)
        except StampMismatch:  # the settings have changed; nothing here is worth a question
            report = engine.index(rebuild=True, announce=announce)
        yield Bench(collection, engine, names, report, withheld=withheld)


def evaluation_folder(workspace: Workspace, documents: Path, overrides: Mapping[str, Any]) -> Path:
    """Where the index over these documents is kept, apart for other settings of the index."""
    of_index = of_an_index(overrides)
    key = json.dumps([str(documents.resolve()), sorted(of_index.items())], default=str)
    digest = hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:12]
    return workspace.locations.evaluations / digest


# ── A copy of an index without the texts that queries were drawn from ───────────


_FOLDER = "evaluation"  # below that of the project
_AT_ONCE = 100  # documents that are stored together
_WAIT = 10.0  # seconds for another evaluation of the same project


class Copy(Struct, frozen=True):
    """An index without the texts that queries were drawn from, open."""

    engine: Engine
    report: IndexReport  # what making it took


@contextmanager
def hidden_copy(
    workspace: Workspace,
    engine: Engine,
    queries: Sequence[OwnQuery],
    settings: Settings | None = None,
    announce: Announce = silent,
) -> Iterator[Copy]:
    """The copy for these queries; with other settings, words may weigh otherwise there.

    There is one per project: while it is open, another raises `Locked`.
    """
    # A copy is of no use to other machines, so it is always kept on this one.
    settings = replace(settings or engine.settings, store=StoreOptions())
    project = replace(engine.project, folder=engine.project.folder / _FOLDER)
    parts = workspace.parts(project, settings, announce)
    with _alone(project), Engine(project, settings, parts) as copy:
        yield Copy(copy, _fill(engine, parts, settings, queries, announce))


@contextmanager
def _alone(project: Project) -> Iterator[None]:
    """Keeps other evaluations from changing the copy while it is searched."""
    make_private_folder(project.folder)
    lock = FileLock(project.folder / "evaluation.lock", mode=PRIVATE_FILE)
    try:
        lock.acquire(timeout=_WAIT, poll_interval=0.05)
    except Timeout:
        raise Locked(
            f"Another process is measuring or tuning {project.name}.", "Wait for it to end."
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def open_own_bench(
    workspace: Workspace,
    engine: Engine,
    queries: Sequence[OwnQuery],
    overrides: Mapping[str, Any],
    announce: Announce = silent,
) -> Iterator[Bench]:
    """The copy for these queries, to be evaluated with them.

    `overrides` are settings by their full names.
    """
    settings = workspace.settings(engine.project, overrides).settings
    with hidden_copy(workspace, engine, queries, settings, announce) as copy:
        collection = own_collection(engine.project.name, queries)
        filters = {query.id: query.filters for query in queries if query.linking}
        yield Bench(collection, copy.engine, {}, copy.report, filters)


def _fill(
    engine: Engine,
    parts: Parts,
    settings: Settings,
    queries: Sequence[OwnQuery],
    announce: Announce,
) -> IndexReport:
    with engine.read() as reading:
        understood = expected_stamp(settings, parts).text
        stamp = {**(reading.catalogue.stamp() or {}), **understood}
        _empty(parts.store, stamp)
        with parts.store.write(_WAIT) as writing:
            _copy(reading, writing, settings, queries, announce)
            vectors = VectorMaker(parts.embedder if takes_vectors(stamp) else None, writing)
            _embed_changed(vectors, writing, announce)
            writing.set_communities(find_communities(writing.links.all()))
            if settings.learned_words:
                words = reading.vocabulary.most_frequent(settings.learned_words)
                writing.remember(reading.text_vectors.known([text_key(word) for word in words]))
            writing.tidy(settings.learned_words)
            counts = writing.catalogue.counts()
    return IndexReport(
        added=counts.documents,
        changed=0,
        removed=0,
        unchanged=0,
        chunks=counts.chunks,
        embedded=vectors.made,
        left_out=(),
        notices=tuple(vectors.notices),
        seconds={},
        unreadable=vectors.unreadable,
    )


def _empty(store: Store, stamp: Stamp) -> None:
    try:
        with store.write(_WAIT) as writing:
            writing.start(stamp)
    except (Damaged, StampMismatch):  # broken, or of another version: it is only a copy
        store.discard(_WAIT)
        with store.write(_WAIT) as writing:
            writing.start(stamp)


def _copy(
    reading: IndexReader,
    writing: IndexWriter,
    settings: Settings,
    queries: Sequence[OwnQuery],
    announce: Announce,
) -> None:
    by_document: defaultdict[str, list[OwnQuery]] = defaultdict(list)
    for query in queries:
        by_document[query.document].append(query)
    files = sorted(reading.catalogue.files().items())
    for start in range(0, len(files), _AT_ONCE):
        announce(Event("copy", start, len(files)))
        put = []
        for document, state in files[start : start + _AT_ONCE]:
            stored = reading.catalogue.document(document)
            hidden = hide(document, stored.text if stored else "", by_document[document])
            put.append(IndexedDocument(chunk(hidden, settings.chunk), state))
        texts = [one.chunked.embedding_text(part) for one in put for part in one.chunked.chunks]
        known = reading.text_vectors.known(list({text_key(text) for text in texts}))
        writing.apply(Batch(put=tuple(put), vectors=known))


def _embed_changed(vectors: VectorMaker, writing: IndexWriter, announce: Announce) -> None:
    waiting = writing.catalogue.chunks(list(writing.text_vectors.waiting()))
    context = context_of(writing.catalogue.stamp())
    texts = [stored.embedding_text(context) for stored in waiting] if vectors.can_embed else []
    texts = vectors.unknown(texts)

    def progress(part: float) -> None:
        announce(Event("waiting", int(part * len(texts)), len(texts), "chunks"))

    writing.remember(vectors.make(texts, progress))
