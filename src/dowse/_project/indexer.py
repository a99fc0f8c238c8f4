"""Writing the index of one open project."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote

from msgspec.structs import replace

from dowse._index.report import IndexReport
from dowse._model import Announce, Event, ModelFit, Shard, silent
from dowse._project.open_index import OpenIndex
from dowse._project.run_note import noted
from dowse._project.stamp import takes_vectors
from dowse._project.unread_note import note_unread
from dowse._search.confidence.calibrate import model_name
from dowse._search.confidence.model_fit import read_fit, write_fit
from dowse._search.confidence.nearness import DEFAULT
from dowse.errors import Damaged, DowseError, Locked, Refused, StampMismatch, UsageError


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
        after `wait` seconds, and `Refused` when a link has taken the place of a folder.
        """
        if self._index.roots[0].is_closed:  # its dowse.toml says how all folders are read
            raise Refused(
                f"{self._index.roots[0].path} cannot be entered, and it may hold settings.",
                "Allow yourself to enter it with:"
                f" chmod u+rwx {quote(str(self._index.roots[0].path))}",
            )
        for root in self._index.roots:
            if (real := root.leads_to) is not None:
                raise Refused(
                    f"{root.path} was a folder and is now a link, or is below one, that leads to "
                    f"{real}. It is not followed; the index stays as it is.",
                    f"Make it a folder again. If you have moved it, write {real} in its place into "
                    f"{self._index.project.settings_file}.",
                )
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
        from dowse._index.pipeline import run_indexing  # noqa: PLC0415  (searching needs no parsers)

        part, began = str(shard or ""), time.time_ns()
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
                    vocabulary=self._index.settings.learned_words,
                    analyzer=self._index.parts.analyzer,
                    writing=writing,
                    embedder=self._index.parts.embedder if takes_vectors(stamp) else None,
                    announce=noting,
                    shard=shard,
                )
        lost = [one.id for one in report.left_out if one.whole and one.lost]
        note_unread(self._index.project.folder, lost, began, whole=not paths and not part)
        if takes_vectors(stamp) and report.added:
            self._fit_unknown_model(announce)
        if takes_vectors(stamp) or not wanted.why_no_model:
            return report
        return replace(report, notices=(f"Indexed for keyword search only. {wanted.why_no_model}",))

    def fit_confidence(self, announce: Announce = silent) -> ModelFit | None:
        """Fits what cosines mean on the documents, and keeps it; None when these are too few.

        The default model keeps the fit that it ships with.
        """
        from dowse._search.confidence.fitting import fit_model  # noqa: PLC0415  (searching does not need it)

        embedder = self._index.parts.embedder
        with self._index.read_usable() as (reading, has_vectors):
            if embedder is None or not has_vectors:
                return None
            if (name := model_name(embedder.model.key)) == DEFAULT.model:
                return DEFAULT
            default = self._index.parts.default()
            fit = fit_model(reading, embedder, name, announce, default=default)
        if fit is not None:
            write_fit(self._index.project.folder, fit)
        return fit

    def _fit_unknown_model(self, announce: Announce) -> None:
        """Fits the confidence for a model that has none yet; the index is good without it."""
        embedder = self._index.parts.embedder
        known = (DEFAULT, read_fit(self._index.project.folder))
        with suppress(DowseError, OSError):
            name = model_name(embedder.model.key) if embedder is not None else DEFAULT.model
            if name not in {one.model for one in known if one is not None}:
                self.fit_confidence(announce)

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

        from dowse._index.source.watch import watch  # noqa: PLC0415  most calls end without watching

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
