"""The one door to a project: index, search, get, and what there is to know about it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

from dowse.errors import Damaged, Locked, NotFound, Refused, StampMismatch
from dowse.flow import (
    Explanation,
    Found,
    IndexReport,
    Kit,
    KnownWords,
    LinkGraph,
    Related,
    Searching,
    explain,
    find,
    find_related,
    rank_documents,
    run_search,
    whole_graph,
    with_answer,
)
from dowse.flow.scan import scan
from dowse.ports import Reading
from dowse.projects import Project
from dowse.read import path_of, watch
from dowse.references import Passage, find_passage
from dowse.retrieve import Filters
from dowse.settings import Settings, change_recipe
from dowse.stamp import WantedStamp, takes_vectors, wanted_stamp
from dowse.types import (
    Announce,
    Counts,
    DocumentEntry,
    Edge,
    Event,
    Finding,
    Response,
    Stamp,
    silent,
)
from dowse.wiring import Parts

NO_FILTERS = Filters()
"""Filters that let everything pass."""

NOTHING: Mapping[str, Any] = MappingProxyType({})
"""No changes to the settings."""


@dataclass(frozen=True, slots=True)
class Freshness:
    """How far the folder has moved on from the index."""

    new: int
    changed: int
    deleted: int


@dataclass(frozen=True, slots=True)
class Status:
    """What there is to know about a project."""

    project: str
    roots: tuple[str, ...]
    folder: str  # where the index lies
    bytes: int  # that the index takes on disk
    counts: Counts
    stamp: Stamp | None
    freshness: Freshness
    notices: tuple[str, ...]


class _SettingsChanged(Exception):
    """The settings that a watch began with no longer hold."""


class Engine:
    """A project, open."""

    def __init__(self, project: Project, settings: Settings, parts: Parts) -> None:
        self.project = project
        self.settings = settings
        self._parts = parts
        self._words = KnownWords(settings.vocabulary.size)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of everything that is open."""
        self._parts.store.close()

    # ── Changing ─────────────────────────────────────────────────────────────

    def index(
        self,
        paths: Sequence[Path] = (),
        *,
        rebuild: bool = False,
        wait: float = 10.0,
        announce: Announce = silent,
    ) -> IndexReport:
        """Brings the index level with the folder, or with some paths of it.

        With `rebuild` it is emptied first, and filled with everything again; raises `Refused` when
        there is nothing to fill it with. Raises `Locked` when another process is still writing
        after `wait` seconds.
        """
        if not rebuild:
            return self._bring_level(paths, wait, announce)
        if not any(root.exists() for root in self.project.roots):
            raise Refused(
                "None of its folders is here, so there is nothing to build it from.",
                "Bring them back, or import it once more.",
            )
        try:
            self.reset(wait)
            return self._bring_level((), wait, announce)
        except Damaged:  # deeper than emptying could notice
            self._parts.store.discard(wait)
            return self._bring_level((), wait, announce)

    def _bring_level(self, paths: Sequence[Path], wait: float, announce: Announce) -> IndexReport:
        from dowse.flow.indexing import run_indexing  # noqa: PLC0415  (searching needs no parsers)

        with self._parts.store.write(wait) as writing:
            wanted = self._wanted()
            stamp = writing.stamp()
            # An empty index can become one of any settings.
            if stamp is None or (wanted.mismatches(stamp) and not writing.files()):
                stamp = wanted.whole
                writing.start(stamp)
            self._check_stamp(stamp, wanted)
            report = run_indexing(
                self.project.named_roots,
                paths,
                read=self.settings.read,
                chunk=self.settings.chunk,
                vocabulary=self.settings.vocabulary.size,
                writing=writing,
                embedder=self._parts.embedder if takes_vectors(stamp) else None,
                announce=announce,
            )
        if takes_vectors(stamp) or not wanted.why_no_model:
            return report
        return replace(report, notices=(f"Indexed for keyword search only. {wanted.why_no_model}",))

    def watch(
        self,
        changed: Callable[[IndexReport], None],
        stop: threading.Event,
        announce: Announce = silent,
        settings_hold: Callable[[], bool] = lambda: True,
    ) -> None:
        """Keeps the index level with the folder until told to stop, or the settings changed."""

        def follow(paths: Iterable[Path]) -> None:
            if not settings_hold():
                raise _SettingsChanged
            while not stop.is_set():
                try:
                    changed(self.index(sorted(paths), announce=announce))
                except Locked as error:
                    announce(Event("watch", 0, None, note=f"{error.message} Waiting for it."))
                else:
                    return

        roots = self.project.named_roots
        with suppress(_SettingsChanged):
            watch(roots, self.settings.read, follow, stop=stop, announce=announce)

    def reset(self, wait: float = 10.0) -> None:
        """Empties the index; known vectors are kept, so that indexing again is quick.

        An index that cannot be opened any more, or is of another version, is removed altogether.
        """
        try:
            self._start(wait)
        except (Damaged, StampMismatch):
            self._parts.store.discard(wait)
            self._start(wait)

    def _start(self, wait: float) -> None:
        with self._parts.store.write(wait) as writing:
            writing.start(self._wanted().whole)

    def repair(self, wait: float = 10.0) -> None:
        """Rebuilds what is damaged."""
        self._parts.store.repair(wait)

    # ── Asking ───────────────────────────────────────────────────────────────

    def search(
        self, query: str, *, filters: Filters = NO_FILTERS, changes: Mapping[str, Any] = NOTHING
    ) -> Response:
        """The chunks that answer a query best.

        `changes` are settings that hold for this search alone, by their full names.
        """
        with self._searching(query, filters, changes) as search:
            return run_search(search)

    def rank(
        self, query: str, *, filters: Filters = NO_FILTERS, changes: Mapping[str, Any] = NOTHING
    ) -> tuple[tuple[str, float], ...]:
        """The documents of what `search` would find, each by its best chunk and with its score.

        Snippets take longer than the ranking does: whoever needs hundreds of results asks here.
        """
        with self._searching(query, filters, changes) as search:
            return rank_documents(search)

    def answer(
        self, query: str, *, filters: Filters = NO_FILTERS, changes: Mapping[str, Any] = NOTHING
    ) -> Response:
        """The same, with what the chunks say to the question."""
        with self._searching(query, filters, changes) as search:
            response = run_search(search)
            return with_answer(search, response, self.settings.answer, self._parts.writer)

    def explain(
        self,
        query: str,
        reference: str,
        *,
        filters: Filters = NO_FILTERS,
        changes: Mapping[str, Any] = NOTHING,
    ) -> Explanation:
        """Why a document stands where it does in the results, or is not there."""
        with self._searching(query, filters, changes) as search:
            document = self._document(search.reading, reference)
            run_search(search)
            return explain(search, document)

    def find(
        self, query: str, *, filters: Filters = NO_FILTERS, changes: Mapping[str, Any] = NOTHING
    ) -> Found:
        """What every strategy finds, to be fused in one way or another."""
        with self._searching(query, filters, changes) as search:
            return find(search)

    def related(self, reference: str, limit: int = 10) -> Related:
        """What belongs to a document: by links, by community, by meaning."""
        with self._reading() as (reading, _):
            return find_related(reading, self._document(reading, reference), limit)

    def graph(self) -> LinkGraph:
        """All documents and the links between them."""
        with self._reading() as (reading, _):
            return whole_graph(reading)

    @contextmanager
    def read(self) -> Iterator[Reading]:
        """The newest generation of the index, unchanged for as long as it is held."""
        with self._reading() as (reading, _):
            yield reading

    @contextmanager
    def _reading(self) -> Iterator[tuple[Reading, bool]]:
        """A reading that can be used, and whether it has vectors."""
        with self._parts.store.read() as reading:
            yield reading, takes_vectors(self._check_readable(reading))

    @contextmanager
    def _searching(
        self, query: str, filters: Filters, changes: Mapping[str, Any]
    ) -> Iterator[Searching]:
        recipe, parts = change_recipe(self.settings, changes), self._parts
        with self._reading() as (reading, has_vectors):
            kit = Kit(
                reading,
                parts.analyzer,
                parts.embedder if has_vectors else None,
                parts.reranker(recipe.rerank.model),
                self._words,
                self.project.named_roots,
                time.time(),
            )
            search = Searching(query, recipe, kit, filters.conditions())
            if parts.embedder and not has_vectors:
                search.notices.append(
                    f"Ranked by words alone: the index has no vectors. {self._rebuild}"
                )
            yield search

    def _document(self, reading: Reading, reference: str) -> str:
        return find_passage(reading, reference, self.project.named_roots).document

    def get(self, reference: str) -> Passage:
        """A document or a part of it: `path`, `path:line`, `path:line:count`, or a short id."""
        with self._reading() as (reading, _):
            return find_passage(reading, reference, self.project.named_roots)

    def links(self, document_id: str) -> list[Edge]:
        """The links of a document, to others and from them."""
        with self._parts.store.read() as reading:
            return reading.links_of([document_id])

    def documents(self) -> list[DocumentEntry]:
        """All documents, by id."""
        with self._parts.store.read() as reading:
            return reading.documents()

    def path_of(self, document_id: str) -> Path:
        """Where a document's file is."""
        return path_of(self.project.named_roots, document_id)

    def status(self) -> Status:
        """What there is to know about the project."""
        with self._parts.store.read() as reading:
            stamp = reading.stamp()
            changes = scan(self.project.named_roots, (), self.settings.read, reading.files())
            new = sum(source.id not in changes.known for source in changes.pending)
            return Status(
                project=self.project.name,
                roots=tuple(str(root) for root in self.project.roots),
                folder=str(self.project.index_folder),
                bytes=_size(self.project.index_folder),
                counts=reading.counts(),
                stamp=stamp,
                freshness=Freshness(new, len(changes.pending) - new, len(changes.gone)),
                notices=tuple(self._wanted().mismatches(stamp) if stamp else ()),
            )

    def check(self) -> list[Finding]:
        """What is not as it should be with the index, with the command that mends it."""
        return self._parts.store.check()

    def built_with(self) -> Stamp | None:
        """What the index was built with; None while there is none."""
        with self._parts.store.read() as reading:
            return reading.stamp()

    def writer(self) -> str:
        """Who is writing to the index now, in a sentence; empty when nobody is."""
        try:
            with self._parts.store.write(wait=0):
                return ""
        except Locked as error:
            return error.message

    def mismatches(self) -> list[str]:
        """Settings that the index was not built with; an empty list while it can be used."""
        with self._parts.store.read() as reading:
            stamp = reading.stamp()
            return self._wanted().mismatches(stamp) if stamp else []

    # ── The stamp ────────────────────────────────────────────────────────────

    def _wanted(self) -> WantedStamp:
        return wanted_stamp(self.settings.chunk, self._parts.analyzer, self._parts.embedder)

    def _check_stamp(self, stamp: Stamp, wanted: WantedStamp) -> None:
        mismatches = wanted.mismatches(stamp)
        if mismatches:
            raise StampMismatch(
                "The index was built with other settings. " + " ".join(mismatches), self._rebuild
            )

    @property
    def _rebuild(self) -> str:
        return f"Rebuild it with: dowse index --rebuild -p {self.project.name}"

    def _check_readable(self, reading: Reading) -> Stamp:
        stamp = reading.stamp()
        if stamp is None:
            raise NotFound(
                f"The project {self.project.name!r} has not been indexed yet.",
                f"Index it with: dowse index -p {self.project.name}",
            )
        self._check_stamp(stamp, self._wanted())
        return stamp


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # a writer may be replacing files meanwhile
            total += path.stat().st_size if path.is_file() else 0
    return total
