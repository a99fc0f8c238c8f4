"""The one door to a project: index, search, get, and what there is to know about it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dowse import versions
from dowse.errors import Damaged, EmbedError, Locked, NotFound, StampMismatch
from dowse.flow import IndexReport, Searching, SearchOptions, run_search
from dowse.flow.scan import scan
from dowse.ports import Reading
from dowse.projects import Project
from dowse.read import path_of, watch
from dowse.references import Passage, find_passage
from dowse.settings import Settings
from dowse.types import (
    Announce,
    Counts,
    DocumentEntry,
    Event,
    Finding,
    Response,
    Stamp,
    silent,
)
from dowse.wiring import Parts

_NO_MODEL: Stamp = {"model": "none", "dimensions": 0}


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


class Engine:
    """A project, open."""

    def __init__(self, project: Project, settings: Settings, parts: Parts) -> None:
        self.project = project
        self.settings = settings
        self._parts = parts

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

        With `rebuild` it is emptied first, and filled with everything again. Raises `Locked` when
        another process is still writing after `wait` seconds.
        """
        if not rebuild:
            return self._bring_level(paths, wait, announce)
        try:
            self.reset(wait)
            return self._bring_level((), wait, announce)
        except Damaged:  # deeper than emptying could notice
            self._parts.store.discard(wait)
            return self._bring_level((), wait, announce)

    def _bring_level(self, paths: Sequence[Path], wait: float, announce: Announce) -> IndexReport:
        from dowse.flow.indexing import run_indexing  # noqa: PLC0415  (searching needs no parsers)

        with self._parts.store.write(wait) as writing:
            model, why_none = self._model_stamp()
            stamp = writing.stamp()
            # An empty index can become one of any settings.
            if stamp is None or (self._mismatches(stamp, model) and not writing.files()):
                stamp = _NO_MODEL | model | self._text_stamp()
                writing.start(stamp)
            self._check_stamp(stamp, model)
            takes_vectors = _takes_vectors(stamp)
            report = run_indexing(
                self.project.named_roots,
                paths,
                read=self.settings.read,
                chunk=self.settings.chunk,
                vocabulary=self.settings.vocabulary.size,
                writing=writing,
                embedder=self._parts.embedder if takes_vectors else None,
                announce=announce,
            )
        if takes_vectors or not why_none:
            return report
        return replace(report, notices=(f"Indexed for keyword search only. {why_none}",))

    def watch(
        self,
        changed: Callable[[IndexReport], None],
        stop: threading.Event,
        announce: Announce = silent,
    ) -> None:
        """Keeps the index level with the folder until told to stop."""

        def follow(paths: Iterable[Path]) -> None:
            while not stop.is_set():
                try:
                    changed(self.index(sorted(paths), announce=announce))
                except Locked as error:
                    announce(Event("watch", 0, None, note=f"{error.message} Waiting for it."))
                else:
                    return

        roots = self.project.named_roots
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
            writing.start(_NO_MODEL | self._model_stamp()[0] | self._text_stamp())

    def repair(self) -> None:
        """Rebuilds what is damaged."""
        self._parts.store.repair()

    # ── Asking ───────────────────────────────────────────────────────────────

    def search(self, query: str, options: SearchOptions | None = None) -> Response:
        """The chunks that answer a query best."""
        analyzer = self._parts.analyzer
        with self._parts.store.read() as reading:
            takes_vectors = _takes_vectors(self._check_readable(reading))
            work = Searching(
                query,
                options or self.settings.search,
                reading,
                self._parts.embedder if takes_vectors else None,
                analyzer.query_terms(query),
            )
            if self._parts.embedder and not takes_vectors:
                work.notices.append(
                    f"Ranked by words alone: the index has no vectors. {self._rebuild}"
                )
            return run_search(work, analyzer.query_terms)

    def get(self, reference: str) -> Passage:
        """A document or a part of it: `path`, `path:line`, `path:line:count`, or a short id."""
        with self._parts.store.read() as reading:
            self._check_readable(reading)
            return find_passage(reading, reference, self.project.named_roots)

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
                notices=tuple(self._mismatches(stamp)),
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
            return self._mismatches(reading.stamp())

    # ── The stamp ────────────────────────────────────────────────────────────

    def _model_stamp(self) -> tuple[Stamp, str]:
        """The model's part of the stamp; nothing, and the reason, when it cannot be had."""
        embedder = self._parts.embedder
        if embedder is None:
            return _NO_MODEL, ""
        try:
            model = embedder.model
        except EmbedError as error:
            return {}, str(error)
        return {"model": model.key, "dimensions": model.dimensions}, ""

    def _text_stamp(self) -> Stamp:
        return {
            "chunk": {"version": versions.CHUNK, **asdict(self.settings.chunk)},
            "keyword": dict(self._parts.analyzer.stamp),
            "parse": {"version": versions.PARSE},
        }

    def _mismatches(self, stamp: Stamp | None, model: Stamp | None = None) -> list[str]:
        wanted, known = dict(_flat(self._text_stamp())), dict(_flat(stamp or {}))
        # A model that cannot be had makes no vectors that could be mixed; words are found without.
        wanted |= self._model_stamp()[0] if model is None else model
        return [
            f"{name}: the index has {known.get(name)!r}, the settings say {value!r}."
            for name, value in wanted.items()
            if stamp is not None and known.get(name) != value
        ]

    def _check_stamp(self, stamp: Stamp, model: Stamp | None = None) -> None:
        mismatches = self._mismatches(stamp, model)
        if mismatches:
            raise StampMismatch(
                "The index was built with other settings. " + " ".join(mismatches),
                self._rebuild,
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
        self._check_stamp(stamp)
        return stamp


def _takes_vectors(stamp: Stamp) -> bool:
    return bool(stamp["model"] != _NO_MODEL["model"])


def _flat(stamp: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a stamp under its full name, as a message can show it."""
    for name, value in stamp.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # a writer may be replacing files meanwhile
            total += path.stat().st_size if path.is_file() else 0
    return total
