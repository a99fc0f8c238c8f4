"""The projects that agents may see: which one a call means, and whether its index can serve."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from dowse._project.registry import ALL, Project
from dowse._util.messages import without_commands
from dowse.errors import DowseError, IndexUnusable, NotFound, UsageError

if TYPE_CHECKING:
    from dowse._project.all_projects import AllProjects
    from dowse._project.engine import Engine
    from dowse._project.pool import EnginePool, Job


_Found = TypeVar("_Found")


class BeingIndexed(IndexUnusable):
    """There is no index yet; a run that builds it is under way."""

    def __init__(self, message: str, hint: str, job: Job) -> None:
        super().__init__(message, hint)
        self.job = job


class VisibleProjects:
    """The projects that agents may see; opened when first asked for, safe from several threads."""

    def __init__(self, open_pool: Callable[[], EnginePool], pinned: str | None = None) -> None:
        self._open_pool = open_pool
        self.pinned = pinned  # the only project of the pool; None: it has all of them
        self._lock = threading.Lock()
        self._pool: EnginePool | None = None
        self._warmed = False

    @property
    def pool(self) -> EnginePool:
        """The warm engines."""
        with self._lock:
            if self._pool is None:
                self._pool = self._open_pool()
            return self._pool

    def warm(self, find_server: Callable[[], object] = lambda: None) -> None:
        """Load everything in the background, once, unless a server is found that has it."""
        with self._lock:
            warmed, self._warmed = self._warmed, True
        if not warmed:
            threading.Thread(
                target=self._warm, args=(find_server,), name="dowse-mcp-warm", daemon=True
            ).start()

    def _warm(self, find_server: Callable[[], object]) -> None:
        if find_server() is None:
            self.pool.warm()  # it is opened in this thread, too

    # ── Which project a call means ───────────────────────────────────────────

    def project(self, name: str | None) -> Project:
        """Find the project that a call means; raise a `UsageError` that says how to name one."""
        if name == ALL and all(one.name != ALL for one in self.pool.projects()):
            name = None
        return self._meant(name, self.pool.select)

    def find(self, name: str | None) -> Project | None:
        """Find the project that a search means; None when it means all projects."""
        return self._meant(name, self.pool.find) if self.pool.only is None else self.project(name)

    def _meant(self, name: str | None, find: Callable[[str | None], _Found]) -> _Found:
        try:
            return find(name)
        except UsageError as error:
            raise self._unclear(name) from error

    def _unclear(self, name: str | None) -> UsageError:
        listed = [project.name for project in self.pool.projects()]
        if not listed:
            return NotFound("There is no project yet.", "The user makes one with dowse.")
        known = f"one of: {', '.join(listed)}."
        if name is None:
            return UsageError("It is not clear which project is meant.", f"Pass project, {known}")
        instead = "Leave project out" if len(listed) == 1 else "Search all of them with project all"
        return NotFound(f"There is no project {name!r} here.", f"{instead}, or use {known}")

    # ── Its index ────────────────────────────────────────────────────────────

    @contextmanager
    def searched(self, name: str | None) -> Iterator[Engine | AllProjects]:
        """Open what a call means: the engine of a project, or all projects.

        Where nothing is indexed yet, begin the index of the project, or of the first of them.
        """
        project = self.find(name)
        if project is None:
            found = self.pool.open_all()
            with found.hold():
                if found.is_indexed:
                    yield found
                    return
        with self.opened(project or self.pool.projects()[0]) as engine:
            yield engine

    @contextmanager
    def opened(self, project: Project) -> Iterator[Engine]:
        """Open the engine of a project, with its index opened once; without one, begin it."""
        engine = self.pool.open(project)
        with engine.hold():
            if engine.built_with() is not None:
                yield engine
                return
            told = f"The project {project.name!r} has no index yet. {self.failure(project.name)}"
            job = self.pool.index(project)
            raise BeingIndexed(
                told.strip(),
                f"It is being indexed in the background{_amount(job)}: see project_info for the"
                " progress, then call again.",
                job,
            )

    def doing(self) -> str:
        """Say what the runs in the background are at, in a few words."""
        runs = self._pool.running() if self._pool else []
        return "; ".join(f"Indexing {job.project}{_amount(job)}" for job in runs) or "Working"

    def unfinished(self, searched: Engine | AllProjects) -> list[str]:
        """Say in a sentence how far each unfinished index is."""
        told = []
        for name in searched.names:
            with suppress(DowseError, OSError):  # one that cannot be read stops no other project
                engine = searched.of(name)
                with engine.read(fitting=False) as reader:
                    told.append(engine.unfinished(reader) or self.progress(name))
        return [one for one in told if one]

    def progress(self, project: str) -> str:
        """Say in a sentence what an indexing run is doing; empty when none is under way."""
        job = self.pool.job(project)
        if job is None or job.ended.is_set():
            return ""
        return f"The index is being updated, results may be incomplete{_amount(job)}."

    def failure(self, project: str) -> str:
        """Say in a sentence why the last indexing run failed; empty when it did not."""
        job = self.pool.job(project)
        if job is None or job.error is None:
            return ""
        return f"The last attempt failed: {job.error.message} {without_commands(job.error.hint)}"


def _amount(job: Job) -> str:
    event = job.event
    if event is None or event.total is None:
        return ""
    return f": {event.stage}, {event.done} of {event.total} {event.unit}"
