"""Writing the index of one open project."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from dowse.errors import Damaged, Locked, Refused, StampMismatch, UsageError
from dowse.flow import IndexReport
from dowse.open_index import OpenIndex
from dowse.projects.run_note import noted
from dowse.read import watch
from dowse.stamp import takes_vectors
from dowse.types import Announce, Event, Shard, silent


class _SettingsChanged(Exception):
    """The settings that a watch began with no longer hold."""


class Indexer:
    """What changes the index."""

    def __init__(self, index: OpenIndex) -> None:
        self._index = index

    def index(
        self,
        paths: Sequence[Path] = (),
        *,
        rebuild: bool = False,
        shard: Shard | None = None,
        wait: float = 10.0,
        announce: Announce = silent,
    ) -> IndexReport:
        """Updates the index from the folder, or from some paths of it, or from one shard.

        With `rebuild` it is emptied first, and filled with everything again; raises `Refused` when
        there is nothing to fill it with. Raises `Locked` when another process is still writing
        after `wait` seconds.
        """
        if not rebuild:
            return self._update(paths, wait, announce, shard)
        if shard is not None:
            raise UsageError(
                "One shard cannot rebuild the index: it would remove what the others wrote.",
                "Empty it first with: dowse reset. Then run all shards without --rebuild.",
            )
        if not any(root.exists() for root in self._index.project.roots):
            raise Refused(
                "None of its folders exists, so there is nothing to build the index from.",
                "Restore them, or import the project again.",
            )
        try:
            self.reset(wait)
            return self._update((), wait, announce)
        except Damaged:  # deeper than emptying could notice
            self._index.parts.store.discard(wait)
            return self._update((), wait, announce)

    def _update(
        self, paths: Sequence[Path], wait: float, announce: Announce, shard: Shard | None = None
    ) -> IndexReport:
        from dowse.flow.indexing import run_indexing  # noqa: PLC0415  (searching needs no parsers)

        part = str(shard or "")
        with self._index.parts.store.write(wait, part) as writing:
            wanted = self._index.wanted()
            stamp = writing.catalogue.stamp()
            # An empty index can become one of any settings.
            if stamp is None or (wanted.mismatches(stamp) and not writing.catalogue.files()):
                stamp = wanted.whole
                writing.start(stamp)
            self._index.check_stamp(stamp, wanted)
            writing.note_roots([str(root) for root in self._index.project.own_roots])
            with noted(self._index.project.folder, announce) as noting:
                report = run_indexing(
                    self._index.roots,
                    paths,
                    read=self._index.settings.read,
                    chunk=self._index.settings.chunk,
                    vocabulary=self._index.settings.vocabulary.size,
                    writing=writing,
                    embedder=self._index.parts.embedder if takes_vectors(stamp) else None,
                    announce=noting,
                    shard=shard,
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
        """Updates the index as the folder changes, until `stop` is set or the settings change."""

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

        roots = self._index.roots
        with suppress(_SettingsChanged):
            watch(roots, self._index.settings.read, follow, stop=stop, announce=announce)

    def reset(self, wait: float = 10.0) -> None:
        """Empties the index; known vectors are kept, so that indexing again is quick.

        An index that cannot be opened any more, or is of another version, is removed altogether.
        """
        try:
            self._start(wait)
        except (Damaged, StampMismatch):
            self._index.parts.store.discard(wait)
            self._start(wait)

    def _start(self, wait: float) -> None:
        with self._index.parts.store.write(wait) as writing:
            writing.start(self._index.wanted().whole)
