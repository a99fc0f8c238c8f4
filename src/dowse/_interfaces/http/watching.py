"""Watchers: one per project that has an index, as long as the server runs."""

from __future__ import annotations

import logging
import threading
import time

from msgspec import Struct, field

from dowse._model import Event, IndexReport
from dowse._project.pool import EnginePool
from dowse._project.registry import Project
from dowse.errors import DowseError

_LOOK = 2.0  # seconds between two looks at which projects there are
_RETRY = 30.0  # seconds until a watcher that failed is tried again
_PATIENCE = 10.0  # seconds that watchers are given to finish the files at hand
_log = logging.getLogger("dowse.web")


class Watcher(Struct):
    """What watches one project."""

    project: Project
    stop: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None
    event: Event | None = None
    error: DowseError | None = None
    failed_at: float = 0.0  # on the monotonic clock

    @property
    def runs(self) -> bool:
        """Whether its thread is at work."""
        return self.thread is not None and self.thread.is_alive()


class Watchers:
    """Update the index of every project while its folder changes."""

    def __init__(self, pool: EnginePool) -> None:
        self._pool = pool
        self._stop = threading.Event()
        self._watchers: dict[str, Watcher] = {}
        self._thread = threading.Thread(target=self._run, name="dowse-watchers", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Stop watching, once the files at hand are done."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(_PATIENCE)
        watchers = list(self._watchers.values())
        for one in watchers:
            one.stop.set()
        until = time.monotonic() + _PATIENCE
        for one in watchers:
            if one.thread:
                one.thread.join(max(0.0, until - time.monotonic()))

    def of(self, project: str) -> Watcher | None:
        """Return the watcher of a project; None: it has none."""
        return self._watchers.get(project)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._look()
            except (DowseError, OSError) as error:  # the next look may fare better
                _log.warning("%s", error)
            self._stop.wait(_LOOK)

    def _look(self) -> None:
        """Begin and end watchers, as projects come and go."""
        projects = {project.name: project for project in self._pool.projects()}
        for name, one in list(self._watchers.items()):
            if projects.get(name) != one.project:  # it is gone, or has other folders
                self._watchers.pop(name).stop.set()
        for name, project in projects.items():
            known = self._watchers.get(name)
            if known and (known.runs or time.monotonic() - known.failed_at <= _RETRY):
                continue
            watcher = Watcher(project)
            try:
                # The first index can take minutes, and is made when somebody asks for it.
                if self._pool.open(project).built_with() is None:
                    continue
                watcher.thread = threading.Thread(
                    target=self._watch, args=(watcher,), name=f"dowse-watch-{name}", daemon=True
                )
            except DowseError as error:
                watcher.error, watcher.failed_at = error, time.monotonic()
            self._watchers[name] = watcher
            if watcher.thread:
                watcher.thread.start()

    def _watch(self, watcher: Watcher) -> None:
        def announce(event: Event | None) -> None:
            watcher.event = event

        def changed(_: IndexReport) -> None:
            announce(None)

        try:
            self._pool.watch(watcher.project, changed, watcher.stop, announce)
        except DowseError as error:
            watcher.error, watcher.failed_at = error, time.monotonic()
        except Exception:  # noqa: BLE001  a bug must not end the others; it is logged
            watcher.failed_at = time.monotonic()
            _log.exception("The watcher of %s failed", watcher.project.name)
