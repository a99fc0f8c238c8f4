"""Index an open project: check its folders, run the pipeline, note what the run left.

Only what writes or compares an index loads this module, with the parsers and the walk.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dowse._index.pipeline import run_indexing
from dowse._index.source.walk import watch
from dowse._model import (
    Announce,
    Batch,
    ChunkedDocument,
    Event,
    IndexedDocument,
    IndexReport,
    ModelFit,
    Shard,
    Vector,
    silent,
    text_key,
)
from dowse._model.ports import IndexReader, IndexWriter
from dowse._project.engine import NO_MODEL, Engine, takes_vectors
from dowse._project.state import note_unread, noted
from dowse._search.confidence import DEFAULT, model_name, read_fit, write_fit
from dowse._search.fit import fit_model
from dowse.errors import Damaged, DowseError, Locked, Refused, UsageError

if TYPE_CHECKING:
    from dowse._project.registry import Project
    from dowse._project.workspace import ResolvedSettings, Workspace


def update(
    engine: Engine,
    paths: Sequence[Path],
    shard: Shard | None,
    wait: float,
    announce: Announce,
    *,
    rebuild: bool,
) -> IndexReport:
    """Update the index from the folders, or from some paths in them, or from one shard.

    With `rebuild` it is emptied first, and filled with everything again. Raise `Refused` when a
    folder cannot be read as the user means it.
    """
    first = engine.roots[0]
    if first.is_closed:  # its dowse.toml says how all folders are read
        raise Refused(
            f"{first.path} cannot be entered, and it may hold settings.",
            f"Allow yourself to enter it with: chmod u+rwx {quote(str(first.path))}",
        )
    for root in engine.roots:
        if (real := root.leads_to) is not None:
            raise Refused(
                f"{root.path} was a folder and is now a link, or is below one, that leads to "
                f"{real}. It is not followed; the index stays as it is.",
                f"Make it a folder again. If you have moved it, write {real} in its place into "
                f"{engine.project.settings_file}.",
            )
    if not rebuild:
        return _run(engine, paths, shard, wait, announce)
    if shard is not None:
        raise UsageError(
            "One shard cannot rebuild the index: it would remove what the others wrote.",
            "Empty it first with: dowse reset. Then run all shards without --rebuild.",
        )
    if not any(root.exists() for root in engine.project.roots):
        raise Refused(
            "None of its folders exists, so there is nothing to build the index from.",
            "Restore them, or import the project again.",
        )
    try:
        engine.reset(wait)
        return _run(engine, (), None, wait, announce)
    except Damaged:  # deeper than emptying could notice
        engine.parts.store.discard(wait)
        return _run(engine, (), None, wait, announce)


def _run(
    engine: Engine, paths: Sequence[Path], shard: Shard | None, wait: float, announce: Announce
) -> IndexReport:
    folder, settings, parts = engine.project.folder, engine.settings, engine.parts
    part, began = str(shard or ""), time.time_ns()
    with parts.store.write(wait, part) as writer:
        expected = engine.expected_stamp()
        stamp = writer.catalogue.stamp()
        # An empty index can become one of any settings.
        if stamp is None or (expected.mismatches(stamp) and not writer.catalogue.files()):
            stamp = expected.whole
            writer.start(stamp)
        engine.check_stamp(stamp, expected)
        writer.note_roots([str(root) for root in engine.project.own_roots])
        with noted(folder, announce) as noting:
            report = run_indexing(
                engine.roots,
                paths,
                read=settings.read,
                chunk=settings.chunk,
                vocabulary=settings.learned_words,
                analyzer=parts.analyzer,
                writer=writer,
                embedder=parts.embedder if takes_vectors(stamp) else None,
                announce=noting,
                shard=shard,
            )
    report = replace(
        report, project=engine.project.name, roots=tuple(map(str, engine.project.own_roots))
    )
    lost = [one.id for one in report.left_out if one.whole and one.lost]
    note_unread(folder, lost, began, whole=not paths and not part)
    if not takes_vectors(stamp) and expected.why_no_model:
        return replace(
            report, notices=(f"Indexed for keyword search only. {expected.why_no_model}",)
        )
    if takes_vectors(stamp) and report.added and parts.embedder is not None:
        with suppress(DowseError, OSError):  # the index is good without a fit for its model
            name, fit = model_name(parts.embedder.model.key), read_fit(folder)
            if name != DEFAULT.model and (fit is None or fit.model != name):
                fit_confidence(engine, announce)
    return report


def fit_confidence(engine: Engine, announce: Announce = silent) -> ModelFit | None:
    """Fit what cosines mean on the documents, and keep it; None when these are too few.

    The default model keeps the fit that it ships with.
    """
    embedder = engine.parts.embedder
    with engine.read() as reader:
        if embedder is None or not takes_vectors(reader.catalogue.stamp() or NO_MODEL):
            return None
        if (name := model_name(embedder.model.key)) == DEFAULT.model:
            return DEFAULT
        fit = fit_model(reader, embedder, name, announce, default=engine.parts.default())
    if fit is not None:
        write_fit(engine.project.folder, fit)
    return fit


# ── Storing documents that are prepared already, as those of another index are ───────────────────

_DOCUMENTS = 256  # of a transaction at most
_LARGEST = 16_000_000  # bytes of memory that its texts and vectors take
_PER_CHARACTER = 8

PreparedDocument = tuple[IndexedDocument, Mapping[bytes, Vector]]
"""A document as an index takes it, with vectors by text key."""


def store_documents(
    writer: IndexWriter,
    documents: Iterable[PreparedDocument],
    progress: Callable[[int], None],
) -> None:
    """Store documents, as many at once as memory holds easily."""
    done = 0
    for batch in _batches(documents):
        writer.apply(batch)
        done += len(batch.put)
        progress(done)


def _batches(
    documents: Iterable[PreparedDocument],
) -> Iterator[Batch]:
    put: list[IndexedDocument] = []
    vectors: dict[bytes, Vector] = {}
    size = 0
    for document, own in documents:
        put.append(document)
        vectors |= own
        size += _PER_CHARACTER * len(document.chunked.document.text)
        size += sum(vector.nbytes for vector in own.values())
        if len(put) >= _DOCUMENTS or size >= _LARGEST:
            yield Batch(put=tuple(put), vectors=vectors)
            put, vectors, size = [], {}, 0
    if put:
        yield Batch(put=tuple(put), vectors=vectors)


def with_vectors(
    reader: IndexReader, documents: Iterable[ChunkedDocument]
) -> Iterator[PreparedDocument]:
    """Look up the vectors that an index has for documents of it, cut in whatever way."""
    files = reader.catalogue.files()
    for chunked in documents:
        known = reader.text_vectors.known(
            list({text_key(chunked.embedding_text(one)) for one in chunked.chunks})
        )
        yield IndexedDocument(chunked, files[chunked.document.id]), known


# ── Following a folder ────────────────────────────────────────────────────────


class _SettingsChanged(Exception):
    """The settings that a watch began with no longer hold."""


def watch_folders(
    engine: Engine,
    changed: Callable[[IndexReport], None],
    stop: threading.Event,
    announce: Announce = silent,
    settings_hold: Callable[[], bool] = lambda: True,
) -> None:
    """Update the index as the folders change, until `stop` is set or the settings change."""

    def follow(paths: Iterable[Path]) -> None:
        if not settings_hold():
            raise _SettingsChanged
        while not stop.is_set():
            try:
                changed(engine.index(sorted(paths), announce=announce))
            except Locked as error:
                announce(Event("watch", 0, None, note=f"{error.message} Waiting for it."))
            else:
                return

    with suppress(_SettingsChanged):
        watch(engine.roots, engine.settings.read, follow, stop=stop, announce=announce)


def watch_project(
    workspace: Workspace,
    project: Project,
    changed: Callable[[IndexReport], None],
    stop: threading.Event,
    announce: Announce = silent,
) -> None:
    """Update a project's index as its folders change, with the settings that hold then."""

    def opened_for() -> tuple[Project, ResolvedSettings]:
        current = workspace.projects.get(project.name)
        return current, workspace.settings(current)

    def still_holds(known: tuple[Project, ResolvedSettings]) -> bool:
        return opened_for() == known  # otherwise documents would be dropped

    while not stop.is_set():
        current, chosen = opened_for()
        with workspace.open(current, None, announce, fetch=True, chosen=chosen) as engine:
            watch_folders(engine, changed, stop, announce, partial(still_holds, (current, chosen)))
