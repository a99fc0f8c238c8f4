"""How the server is doing: alive, ready, and its figures. No answer says what was searched for."""

from __future__ import annotations

import logging
import time
from typing import Annotated, Literal

from msgspec import Struct
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dowse._interfaces.http.answers import ERROR
from dowse._project.pool import EnginePool
from dowse._project.registry import Project
from dowse._util.metrics import Labels, Metrics
from dowse.errors import DowseError

_log = logging.getLogger("dowse.requests")


class AliveRecord(Struct, frozen=True):
    """That the process answers."""

    status: Annotated[Literal["ok"], "Always `ok`."]


class ProjectReadyRecord(Struct, frozen=True):
    """Whether the index of a project can be searched."""

    project: Annotated[str, "Name of the project."]
    ready: Annotated[bool, "Whether its index opens."]
    generation: Annotated[int | None, "The generation that searches see; null: none."]
    indexing: Annotated[bool, "Whether this server is indexing it now."]
    reason: Annotated[str, "Why it is not ready, and what to do; empty when it is."]


class ReadyRecord(Struct, frozen=True):
    """Whether every project can be searched."""

    ready: Annotated[bool, "Whether all of them are."]
    projects: Annotated[tuple[ProjectReadyRecord, ...], "By name."]


def readiness(pool: EnginePool) -> ReadyRecord:
    """Open every index, and say which cannot be."""
    projects = tuple(_project(pool, project) for project in pool.projects())
    return ReadyRecord(all(one.ready for one in projects), projects)


def _project(pool: EnginePool, project: Project) -> ProjectReadyRecord:
    name = project.name
    job = pool.job(name)
    indexing = job is not None and not job.ended.is_set()
    try:
        with pool.open(project).read() as reading:
            return ProjectReadyRecord(name, True, reading.catalogue.generation, indexing, "")
    except (DowseError, OSError) as error:
        return ProjectReadyRecord(name, False, None, indexing, str(error))


def figures(pool: EnginePool) -> str:
    """Write the page for Prometheus, with the generations as they are now."""
    now = readiness(pool)
    known: dict[Labels, float] = {
        (one.project,): one.generation for one in now.projects if one.generation is not None
    }
    pool.metrics.generation.replace(known)
    return pool.metrics.page()


class Observed:
    """Count and time every request of an application, also those that are refused."""

    def __init__(self, app: ASGIApp, metrics: Metrics, routes: frozenset[str]) -> None:
        self._app, self._metrics, self._routes = app, metrics, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        path, method = scope["path"], scope["method"]  # mounts change the scope
        began = time.perf_counter()
        self._metrics.in_flight.add(amount=1)
        try:
            await self._app(scope, receive, watched)
        finally:
            self._metrics.in_flight.add(amount=-1)
            self._note(method, path, status, scope.get(ERROR), time.perf_counter() - began)

    def _note(self, method: str, path: str, status: int, error: str | None, seconds: float) -> None:
        # Names of routes and methods, not what a client made up: there are few of them.
        route = path if path in self._routes else "other"
        method = method if method in {"GET", "HEAD", "POST", "DELETE"} else "other"
        self._metrics.requests.add(method, route, str(status))
        self._metrics.request_seconds.add(route, seconds=seconds)
        if status >= 400:
            self._metrics.errors.add(error or f"http_{status}")
        fields = {"method": method, "route": route, "status": status}
        spent = {"milliseconds": round(seconds * 1000, 1)}
        _log.info("%s %s %d", method, route, status, extra={"fields": fields | spent})
