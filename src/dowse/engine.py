"""The one door to a project: index, search, get, and what there is to know about it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from dowse.asking import Asking
from dowse.errors import Damaged, DowseError, Locked, Refused, StampMismatch
from dowse.flow import (
    IndexReport,
)
from dowse.flow.scan import scan
from dowse.read import watch
from dowse.stamp import takes_vectors
from dowse.types import (
    Announce,
    Counts,
    Event,
    Finding,
    Stamp,
    silent,
)


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


class Engine(Asking):
    """A project, open."""

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
            stamp = writing.catalogue.stamp()
            # An empty index can become one of any settings.
            if stamp is None or (wanted.mismatches(stamp) and not writing.catalogue.files()):
                stamp = wanted.whole
                writing.start(stamp)
            self._check_stamp(stamp, wanted)
            writing.note_roots([str(root) for root in self.project.own_roots])
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

    # ── Looking after it ─────────────────────────────────────────────────────

    def status(self) -> Status:
        """What there is to know about the project."""
        with self._parts.store.read() as reading:
            stamp = reading.catalogue.stamp()
            changes = scan(
                self.project.named_roots, (), self.settings.read, reading.catalogue.files()
            )
            new = sum(source.id not in changes.known for source in changes.pending)
            return Status(
                project=self.project.name,
                roots=tuple(str(root) for root in self.project.roots),
                folder=self._parts.store.place,
                bytes=self._parts.store.bytes(),
                counts=reading.catalogue.counts(),
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
            return reading.catalogue.stamp()

    def writer(self) -> str:
        """Who is writing to the index now, in a sentence; empty when nobody is."""
        try:
            with self._parts.store.write(wait=0):
                return ""
        except DowseError as error:  # or nothing can be written, which is no damage
            return error.message

    def mismatches(self) -> list[str]:
        """Settings that the index was not built with; an empty list while it can be used."""
        with self._parts.store.read() as reading:
            stamp = reading.catalogue.stamp()
            return self._wanted().mismatches(stamp) if stamp else []
