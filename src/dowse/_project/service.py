"""Warm engines for doors that stay open: one per project, shared by all callers."""

from __future__ import annotations

import copy
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Self

from msgspec import Struct, field

from dowse._index.report import IndexReport
from dowse._model import Announce, Event, silent
from dowse._project.all_projects import AllProjects
from dowse._project.engine import Engine
from dowse._project.registry import Project
from dowse._project.workspace import Chosen, Workspace
from dowse._search.request import SearchRequest
from dowse._util.metrics import Metrics
from dowse.errors import DowseError, NotFound, UsageError

_log = logging.getLogger("dowse._project.service")


class Job(Struct):
    """An indexing run in the background."""

    project: str
    event: Event | None = None  # the last thing it said
    report: IndexReport | None = None  # once it has ended well
    error: DowseError | None = None  # once it has failed
    ended: threading.Event = field(default_factory=threading.Event)

    def announce(self, event: Event) -> None:
        """Notes what a stage says."""
        self.event = event


class Service:
    """A user's projects, each opened once and kept open; safe from several threads."""

    def __init__(
        self, workspace: Workspace, start: Path | None = None, only: str | None = None
    ) -> None:
        self.workspace = workspace
        self.only = only  # the one project that is shown; None: all of them
        self._start = start or Path.cwd()
        self._lock = threading.Lock()
        # By name: what an engine was opened for, and the engine.
        self._engines: dict[str, tuple[tuple[Project, Chosen], Engine]] = {}
        self._jobs: dict[str, Job] = {}
        self.metrics = Metrics()

    def seen_from(self, start: Path) -> Self:
        """The same engines for a caller in another folder, who may see all projects."""
        view = copy.copy(self)
        view._start, view.only = start, None  # noqa: SLF001  it is one of these
        return view

    def projects(self) -> list[Project]:
        """The projects that are shown, by name."""
        if self.only is not None:
            return [self.workspace.projects.get(self.only)]
        return self.workspace.projects.all()

    def project(self, name: str | None = None) -> Project:
        """The project of that name, or the one that the folder of the process belongs to."""
        if self.only is not None and name not in {None, self.only}:
            raise NotFound(
                f"There is no project {name!r} here.", f"This server shows {self.only} alone."
            )
        return self.workspace.select(self.only or name, self._start)

    def all_projects(self, name: str | None = None) -> AllProjects | None:
        """All projects, when a search means them; None when it means one."""
        if self.only is not None or not self.workspace.means_all(name, self._start):
            return None
        broken = self.workspace.projects.broken()
        return AllProjects(self.projects(), lambda one: self.open(one)[0], broken)

    def engine(self, name: str | None = None) -> Engine:
        """The open engine of the project that a call means."""
        return self.open(self.project(name))[0]

    def open(self, project: Project) -> tuple[Engine, Chosen]:
        """The open engine of a project, and the settings that hold for it now."""
        with self._lock:
            # Folders, settings and consent may have changed since it was opened. They are read
            # under the lock, so that no thread opens an engine with settings older than another's.
            chosen = self.workspace.settings(project)
            opened_for, engine = self._engines.get(project.name, (None, None))
            if engine is None or opened_for != (project, chosen):
                engine = self.workspace.open_with(project, chosen)
                self._engines[project.name] = ((project, chosen), engine)
            return engine, chosen

    def watch(
        self,
        project: Project,
        changed: Callable[[IndexReport], None],
        stop: threading.Event,
        announce: Announce = silent,
    ) -> None:
        """Updates a project's index as its folder changes, with the engine that searches it."""
        while not stop.is_set():
            engine = self.engine(project.name)
            holds = partial(self._is_current, project.name, engine)
            engine.watch(partial(self._changed, project.name, changed), stop, announce, holds)

    def _changed(
        self, name: str, changed: Callable[[IndexReport], None], report: IndexReport
    ) -> None:
        self._note_run(name, "done", report)
        changed(report)

    def _note_run(self, name: str, outcome: str, report: IndexReport | None = None) -> None:
        self.metrics.index_runs.add(name, outcome)
        noted: dict[str, object] = {"project": name, "outcome": outcome}
        if report is not None:
            counts = {"added": report.added, "changed": report.changed, "removed": report.removed}
            noted |= counts | {"left_out": len(report.left_out)}
        _log.info("Indexing %s: %s", name, outcome, extra={"fields": noted})

    def _is_current(self, name: str, engine: Engine) -> bool:
        return self.engine(name) is engine

    def warm(self, name: str | None = None) -> None:
        """Opens an index and loads its model in the background; failures show in the first call."""
        threading.Thread(target=self._warm, args=(name,), name="dowse-warm", daemon=True).start()

    def _warm(self, name: str | None) -> None:
        with suppress(DowseError, OSError):
            self.engine(name or self._likely()).search(SearchRequest("warm"))

    def _likely(self) -> str | None:
        """The project that a call would mean; any, where that is not clear.

        What takes longest is loading what all of them share.
        """
        try:
            return self.project().name
        except UsageError:
            return next((project.name for project in self.projects()), None)

    def index(self, project: Project, done: Callable[[Job], None] | None = None) -> Job:
        """Updates a project's index in the background; a run under way is joined."""
        with self._lock:
            job = self._jobs.get(project.name)
            if job is not None and not job.ended.is_set():
                return job
            job = self._jobs[project.name] = Job(project.name)
        threading.Thread(
            target=self._index, args=(project, job, done), name="dowse-index", daemon=True
        ).start()
        return job

    def job(self, name: str) -> Job | None:
        """The last indexing run of a project; None when there was none."""
        return self._jobs.get(name)

    def running(self) -> list[Job]:
        """The indexing runs that have not ended."""
        return [job for job in tuple(self._jobs.values()) if not job.ended.is_set()]

    def close(self) -> None:
        """Closes everything that is open."""
        with self._lock:
            for _, engine in self._engines.values():
                engine.close()
            self._engines.clear()

    def _index(self, project: Project, job: Job, done: Callable[[Job], None] | None) -> None:
        self.metrics.indexing.add(project.name)
        try:
            with self.workspace.open(project, announce=job.announce, fetch=True) as engine:
                job.report = engine.index(announce=job.announce)
        except DowseError as error:
            job.error = error
        except OSError as error:
            job.error = DowseError(f"{error}.", "Check the disk and the permissions: dowse doctor")
        except Exception as error:  # noqa: BLE001  in a thread nobody else would tell of it
            _log.exception("Indexing %s failed", project.name)
            what = f"{type(error).__name__}: {error}."
            job.error = DowseError(what, f"See what it is with: dowse index -v -p {project.typed}")
        finally:
            self.metrics.indexing.add(project.name, amount=-1)
            self._note_run(project.name, "failed" if job.error else "done", job.report)
            job.ended.set()
            if done is not None:
                done(job)
