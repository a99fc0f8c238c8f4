"""Warm engines for servers: one per project, kept open and shared by all callers."""

from __future__ import annotations

import copy
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Self

import numpy  # noqa: F401, ICN001  before threads begin: two that load it at once fail
from msgspec import Struct, field

from dowse._model import Announce, Event, IndexReport, silent
from dowse._project.all_projects import AllProjects
from dowse._project.engine import Engine
from dowse._project.indexing import watch_folders
from dowse._project.registry import Project
from dowse._project.workspace import ResolvedSettings, Workspace
from dowse._search.request import SearchRequest
from dowse._util.metrics import Metrics
from dowse.errors import DowseError, NotFound

_log = logging.getLogger("dowse._project.pool")


class Job(Struct):
    """An indexing run in the background."""

    project: str
    event: Event | None = None  # the last thing it said
    report: IndexReport | None = None  # once it has ended well
    error: DowseError | None = None  # once it has failed
    ended: threading.Event = field(default_factory=threading.Event)

    def announce(self, event: Event) -> None:
        """Note what a stage says."""
        self.event = event


class EnginePool:
    """A user's projects, each opened once and kept open; safe from several threads."""

    def __init__(
        self, workspace: Workspace, start: Path | None = None, only: str | None = None
    ) -> None:
        self.workspace = workspace
        self.only = only  # the one project that is shown; None: all of them
        self.metrics = Metrics()
        self._start = start or Path.cwd()
        self._lock = threading.Lock()
        # By name: what an engine was opened for, and the engine.
        self._engines: dict[str, tuple[tuple[Project, ResolvedSettings], Engine]] = {}
        self._jobs: dict[str, Job] = {}

    def seen_from(self, start: Path, only: str | None = None) -> Self:
        """Return the same engines for a caller in another folder, who sees all or `only` one."""
        view = copy.copy(self)
        view._start, view.only = start, only  # noqa: SLF001  it is one of these
        return view

    def close(self) -> None:
        """Close everything that is open."""
        with self._lock:
            for _, engine in self._engines.values():
                engine.close()
            self._engines.clear()

    # ── Which project a call means, and its engine ───────────────────────────

    def projects(self) -> list[Project]:
        """List the projects that are shown, by name."""
        known = self.workspace.projects
        return known.all() if self.only is None else [known.get(self.only)]

    def find(self, name: str | None = None) -> Project | None:
        """Find the project that a search means; None when it means all projects."""
        return self.workspace.find(name, self._start) if self.only is None else self.select(name)

    def select(self, name: str | None = None) -> Project:
        """Find the project of that name, or the one that the folder of the process belongs to."""
        if self.only is not None and name not in {None, self.only}:
            raise NotFound(
                f"There is no project {name!r} here.", f"This server shows {self.only} alone."
            )
        return self.workspace.select(self.only or name, self._start)

    def open(self, project: Project) -> Engine:
        """Return the open engine of a project; it has the settings that hold now."""
        with self._lock:
            # Folders, settings and consent may have changed since it was opened. They are read
            # under the lock, so that no thread opens an engine with settings older than another's.
            settings = self.workspace.settings(project)
            opened_for, engine = self._engines.get(project.name, (None, None))
            if engine is None or opened_for != (project, settings):
                engine = self.workspace.open(project, chosen=settings)
                self._engines[project.name] = ((project, settings), engine)
            return engine

    def settings_of(self, engine: Engine) -> ResolvedSettings:
        """Return the settings that an engine was opened with, and where they come from."""
        (_, settings), _ = self._engines[engine.project.name]
        return settings

    def open_all(self) -> AllProjects:
        """Return all projects as one."""
        return AllProjects(self.workspace.projects, self.open)

    def warm(self, name: str | None = None) -> None:
        """Open an index and load its model in the background; failures show in the first call."""
        threading.Thread(target=self._warm, args=(name,), name="dowse-warm", daemon=True).start()

    def _warm(self, name: str | None) -> None:
        with suppress(DowseError, OSError):
            # Any project will do: what takes longest is loading what all of them share.
            self.open(self.find(name) or self.projects()[0]).search(SearchRequest("warm"))

    # ── Indexing ─────────────────────────────────────────────────────────────

    def watch(
        self,
        project: Project,
        changed: Callable[[IndexReport], None],
        stop: threading.Event,
        announce: Announce = silent,
    ) -> None:
        """Update a project's index as its folder changes, with the engine that searches it."""
        name = project.name

        def note(report: IndexReport) -> None:
            self._note_run(name, "done", report)
            changed(report)

        while not stop.is_set():
            engine = self.open(self.select(name))
            watch_folders(engine, note, stop, announce, partial(self._is_current, name, engine))

    def _is_current(self, name: str, engine: Engine) -> bool:
        return self.open(self.select(name)) is engine

    def index(self, project: Project) -> Job:
        """Update a project's index in the background; a run under way is joined."""
        with self._lock:
            job = self._jobs.get(project.name)
            if job is not None and not job.ended.is_set():
                return job
            job = self._jobs[project.name] = Job(project.name)
        threading.Thread(
            target=self._index, args=(project, job), name="dowse-index", daemon=True
        ).start()
        return job

    def _index(self, project: Project, job: Job) -> None:
        self.metrics.indexing.add(project.name)
        try:
            with self.workspace.open(project, announce=job.announce, fetch=True) as engine:
                job.report = engine.index(announce=job.announce)
        except DowseError as error:
            job.error = error
        except OSError as error:
            job.error = DowseError(f"{error}.", "Check the disk and the permissions: dowse doctor")
        except Exception as error:  # noqa: BLE001  in a thread nobody else would report it
            _log.exception("Indexing %s failed", project.name)
            job.error = DowseError(
                f"{type(error).__name__}: {error}.",
                f"See what it is with: dowse index -v -p {project.typed}",
            )
        finally:
            self.metrics.indexing.add(project.name, amount=-1)
            self._note_run(project.name, "failed" if job.error else "done", job.report)
            job.ended.set()

    def _note_run(self, name: str, outcome: str, report: IndexReport | None) -> None:
        self.metrics.index_runs.add(name, outcome)
        fields: dict[str, object] = {"project": name, "outcome": outcome}
        if report is not None:
            fields |= {
                "added": report.added,
                "changed": report.changed,
                "removed": report.removed,
                "left_out": len(report.left_out),
            }
        _log.info("Indexing %s: %s", name, outcome, extra={"fields": fields})

    def job(self, name: str) -> Job | None:
        """Return the last indexing run of a project; None when there was none."""
        return self._jobs.get(name)

    def running(self) -> list[Job]:
        """List the indexing runs that have not ended."""
        return [job for job in tuple(self._jobs.values()) if not job.ended.is_set()]
