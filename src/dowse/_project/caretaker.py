"""The state of one open project: how fresh and how whole its index is."""

from __future__ import annotations

from msgspec import Struct

from dowse._model import Counts, Finding, Stamp
from dowse._project.open_index import OpenIndex
from dowse._project.unread_note import unread_of
from dowse.errors import DowseError


class Freshness(Struct, frozen=True):
    """How far the folder has moved on from the index."""

    new: int
    changed: int
    deleted: int


class Status(Struct, frozen=True):
    """What there is to know about a project."""

    project: str
    roots: tuple[str, ...]
    folder: str  # where the index is
    bytes: int  # that the index takes on disk
    counts: Counts
    stamp: Stamp | None
    freshness: Freshness
    notices: tuple[str, ...]  # why the index or a folder cannot be used, and what to do
    run: str = ""  # a run that has not come to its end, in a sentence
    unread: int = 0  # files that could not be read, and have not changed since
    imported: tuple[str, ...] = ()  # those of the roots whose documents are on another machine


class Caretaker:
    """What can be known about the index, and its repair."""

    def __init__(self, index: OpenIndex) -> None:
        self._index = index

    def repair(self, wait: float = 10.0) -> None:
        """Rebuilds what is damaged."""
        self._index.parts.store.repair(wait)

    def status(self) -> Status:
        """What there is to know about the project."""
        from dowse._index.scan import has_changed, scan  # noqa: PLC0415  a search does not walk through folders

        with self._index.read() as reading:
            stamp = reading.catalogue.stamp()
            options = self._index.settings.read
            changes = scan(self._index.roots, (), options, reading.catalogue.files())
            unread = unread_of(self._index.project.folder, changes.pending)
            waiting = [
                source.id
                for source in changes.pending
                if source.id not in unread
                and has_changed(source, changes.known.get(source.id), options)
            ]
            mismatches = self._index.wanted().mismatches(stamp) if stamp else []
            advice = [self._index.rebuild] if mismatches else []
            new = sum(id_ not in changes.known for id_ in waiting)
            return Status(
                project=self._index.project.name,
                roots=tuple(str(root) for root in self._index.project.roots),
                folder=self._index.parts.store.place,
                bytes=self._index.parts.store.bytes(),
                counts=reading.catalogue.counts(),
                stamp=stamp,
                freshness=Freshness(new, len(waiting) - new, len(changes.gone)),
                notices=(*mismatches, *advice, *self._index.closed()),
                run=self._index.unfinished(reading),
                unread=len(unread),
                imported=tuple(str(root.path) for root in self._index.roots if root.is_elsewhere),
            )

    def check(self) -> list[Finding]:
        """What is not as it should be with the index, with the command that fixes it."""
        return self._index.parts.store.check()

    def built_with(self) -> Stamp | None:
        """What the index was built with; None while there is none."""
        with self._index.read() as reading:
            return reading.catalogue.stamp()

    def writer(self) -> str:
        """Who is writing to the index now, in a sentence; empty when nobody is."""
        try:
            with self._index.parts.store.write(wait=0):
                return ""
        except DowseError as error:  # or nothing can be written, which is no damage
            return error.message

    def mismatches(self) -> list[str]:
        """Settings that the index was not built with; an empty list while it can be used."""
        with self._index.read() as reading:
            stamp = reading.catalogue.stamp()
            return self._index.wanted().mismatches(stamp) if stamp else []
