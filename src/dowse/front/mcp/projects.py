"""Where calls are received: which project each means, and whether its index can serve."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dowse.errors import IndexUnusable, NotFound, UsageError

if TYPE_CHECKING:
    from dowse.engine import Engine
    from dowse.projects.all_projects import AllProjects
    from dowse.projects.registry import Project
    from dowse.service import Job, Service


class VisibleProjects:
    """The projects that agents may see; opened when first asked for, safe from several threads."""

    def __init__(self, open_service: Callable[[], Service], pinned: str | None = None) -> None:
        self._open_service = open_service
        self._pinned = pinned  # the only project that may be seen; None means all
        self._lock = threading.Lock()
        self._service: Service | None = None
        self._warmed = False

    @property
    def service(self) -> Service:
        """The warm engines."""
        with self._lock:
            if self._service is None:
                self._service = self._open_service()
            return self._service

    def warm(self) -> None:
        """Loads everything in the background, once."""
        with self._lock:
            warmed, self._warmed = self._warmed, True
        if not warmed:
            threading.Thread(target=self._warm, name="dowse-mcp-warm", daemon=True).start()

    def _warm(self) -> None:
        from dowse.front.mcp import resources  # noqa: F401, PLC0415
        from dowse.front.mcp.tools import info, read, search  # noqa: F401, PLC0415

        self.service.warm(self._pinned)

    def all(self) -> list[Project]:
        """The projects that may be seen, by name."""
        if self._pinned is not None:
            return [self.service.project(self._pinned)]
        return self.service.projects()

    def project(self, name: str | None) -> Project:
        """The project that a call means; raises `UsageError` that says how to name one."""
        if self._pinned is not None and name in {None, self._pinned}:
            return self.service.project(self._pinned)
        try:
            if self._pinned is None:
                return self.service.project(name)
        except UsageError as error:
            raise self._unclear(name) from error
        raise self._unclear(name)

    def _unclear(self, name: str | None) -> UsageError:
        listed = ", ".join(project.name for project in self.all())
        if name is not None:
            return NotFound(
                f"There is no project {name!r} here.",
                f"Leave project out to search all of them, or use one of: {listed or 'none yet'}.",
            )
        if not listed:
            return NotFound("There is no project yet.", "The user makes one with: dowse index PATH")
        return UsageError(
            "It is not clear which project is meant.", f"Pass project, one of: {listed}."
        )

    @contextmanager
    def searched(self, name: str | None) -> Iterator[Engine | AllProjects]:
        """What a search means: the engine of a project, or all projects."""
        found = self.service.all_projects(name) if self._pinned is None else None
        if found is not None:
            with found.hold():
                yield found
            return
        with self.engine(name) as engine:
            yield engine

    @contextmanager
    def engine(self, name: str | None) -> Iterator[Engine]:
        """The engine of a project, whose index is opened once; without one, it is begun."""
        project = self.project(name)
        engine, _ = self.service.open(project)
        with engine.hold():
            if engine.built_with() is None:
                raise self._without_index(project)
            yield engine

    def _without_index(self, project: Project) -> IndexUnusable:
        told = f"The project {project.name!r} has no index yet. {self.failure(project.name)}"
        self.service.index(project)
        return IndexUnusable(
            told.strip(),
            "It is being indexed in the background: see project_info for the progress, then"
            " call again.",
        )

    def refresh(self, project: Project) -> str:
        """Updates an index in the background; gives a sentence that says so."""
        self.service.index(project)
        return (
            "Some of these files have changed since they were indexed; the index is being updated"
            " in the background."
        )

    def progress(self, project: str) -> str:
        """What an indexing run is doing, in a sentence; empty when none is under way."""
        job = self.service.job(project)
        if job is None or job.ended.is_set():
            return ""
        return f"The index is being updated, results may be incomplete{_amount(job)}."

    def failure(self, project: str) -> str:
        """Why the last indexing run failed, in a sentence; empty when it did not."""
        job = self.service.job(project)
        return f"The last attempt failed: {job.error}" if job is not None and job.error else ""


def _amount(job: Job) -> str:
    event = job.event
    if event is None or event.total is None:
        return ""
    return f": {event.stage}, {event.done} of {event.total} {event.unit}"
