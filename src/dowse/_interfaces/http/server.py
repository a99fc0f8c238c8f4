"""One process for everybody: the API, the MCP endpoint and the web page over warm engines."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Self

import h11
import uvicorn
from msgspec import Struct, field
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route, Router
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from dowse._interfaces.http.api import ERROR, FAILURES, http_routes
from dowse._interfaces.http.routes import ROOT, ROUTES, ApiCall, readiness
from dowse._interfaces.http.security import Access, Guard, checked_origins, is_local
from dowse._interfaces.mcp.server import McpEndpoint
from dowse._interfaces.served import is_same_user, socket_path
from dowse._model import Event, IndexReport
from dowse._project.pool import EnginePool
from dowse._project.registry import Project
from dowse._project.workspace import Workspace
from dowse._util.files import make_private_folder
from dowse._util.locations import Locations, secure
from dowse._util.metrics import CONTENT_TYPE, Labels, Metrics
from dowse.errors import DowseError, UsageError

_HERE = Path(__file__).parent
PAGE = _HERE / "page"
"""The files of the web page."""

_HEADER_BYTES = 64 << 10  # that are kept while a head has not ended; the guard takes half of it
_CONNECTIONS = 200  # at once; more are turned away
_BACKLOG = 128  # connections that may wait to be taken
_METHODS = frozenset({"GET", "HEAD", "POST", "DELETE"})  # that are counted by their names
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_GRACE = 3  # seconds that requests at hand are given when the server stops
_LOOK = 2.0  # seconds between two looks at which projects there are
_RETRY = 30.0  # seconds until a watcher that failed is tried again
_WATCHERS_END = 10.0  # seconds that watchers are given to finish the files at hand
_log = logging.getLogger("dowse.web")
_requests = logging.getLogger("dowse.requests")


def server_for(
    workspace: Workspace,
    start: Path,
    only: str | None,
    access: Access,
    *,
    watch: bool,
    compat: bool,
) -> Server:
    """Build the server of a user's projects, or of `only` one; nothing is bound yet."""
    pool = EnginePool(workspace, start, only)
    return Server(application(pool, access, watch=watch, mcp=McpEndpoint(pool, compat=compat)))


def application(
    pool: EnginePool, access: Access, *, watch: bool = True, mcp: McpEndpoint | None = None
) -> ASGIApp:
    """Build the whole server as an ASGI application, with its checks around it."""
    watchers = Watchers(pool)

    def figures() -> str:
        """Write the page for Prometheus, with the generations as they are now."""
        now = readiness(pool).projects
        known: dict[Labels, float] = {
            (one.project,): one.generation for one in now if one.generation is not None
        }
        pool.metrics.generation.replace(known)
        return pool.metrics.page()

    async def metrics(_: Request) -> Response:
        return Response(await run_in_threadpool(figures), headers={"Content-Type": CONTENT_TYPE})

    async def described(_: Request) -> Response:
        return FileResponse(_HERE / "api.html")

    async def openapi(_: Request) -> Response:
        return FileResponse(_HERE / "openapi.json")

    found = http_routes(partial(ApiCall, pool, watchers))
    api = [*found[ROOT], Route("/openapi.json", openapi, methods=["GET"])]
    routes: list[BaseRoute] = [
        *found[""],
        Route("/metrics", metrics, methods=["GET"]),
        Route("/api", described, methods=["GET"]),
        Route("/api/", described, methods=["GET"]),
        Mount(ROOT, Router(api, redirect_slashes=False)),
        Mount("/api", routes=[]),
    ]
    routes += [Route("/mcp", mcp.app)] if mcp else []
    if (PAGE / "index.html").is_file():
        routes.append(Mount("/", app=StaticFiles(directory=PAGE, html=True)))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as open_parts:
            if mcp:
                await open_parts.enter_async_context(mcp.run())
            if watch:
                watchers.start()
            pool.warm()
            yield
            if watch:
                await run_in_threadpool(watchers.stop)
            pool.close()

    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=FAILURES)
    app.router.redirect_slashes = False
    others = {"/", "/api", "/metrics", "/mcp", f"{ROOT}/openapi.json"}
    known = frozenset(one.address for one in ROUTES) | others
    return Observed(Guard(app, access), pool.metrics, known)


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

        # Names of routes and methods, not what a client made up: there are few of them.
        route = scope["path"] if scope["path"] in self._routes else "other"
        method = scope["method"] if scope["method"] in _METHODS else "other"
        began = time.perf_counter()
        self._metrics.in_flight.add(amount=1)
        try:
            await self._app(scope, receive, watched)
        finally:
            seconds = time.perf_counter() - began
            self._metrics.in_flight.add(amount=-1)
            self._metrics.requests.add(method, route, str(status))
            self._metrics.request_seconds.add(route, seconds=seconds)
            if status >= 400:
                self._metrics.errors.add(scope.get(ERROR) or f"http_{status}")
            fields = {"method": method, "route": route, "status": status}
            fields["milliseconds"] = round(seconds * 1000, 1)
            _requests.info("%s %s %d", method, route, status, extra={"fields": fields})


# ── Watchers: one per project that has an index, as long as the server runs ──


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
            self._thread.join(_WATCHERS_END)
        watchers = list(self._watchers.values())
        for one in watchers:
            one.stop.set()
        until = time.monotonic() + _WATCHERS_END
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


# ── Sockets ──────────────────────────────────────────────────────────────────


def access_for(
    host: str, token: str | None, names: Sequence[str] = (), origins: Sequence[str] = ()
) -> Access:
    """Let this machine's user in without a token, and others, also past a proxy, with one."""
    if not token and (names or not is_local(host)):
        token = secrets.token_urlsafe(24)
    origins = checked_origins(origins)
    return Access(host=host, token=token or "", names=tuple(names), origins=origins)


def bind(host: str, port: int) -> socket.socket:
    """Open a socket that listens; raise `UsageError` when that cannot be."""
    bare = host.strip("[]")
    family = socket.AF_INET6 if ":" in bare else socket.AF_INET
    try:
        return socket.create_server((bare, port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"The server cannot listen on {host}, port {port}: {error}.",
            "Choose another with: dowse serve --host HOST --port PORT",
        ) from error


class OwnSocket:
    """A socket that only this user can open, for other processes; the server works without it."""

    def __init__(self, where: Locations) -> None:
        self._where = where
        self._made = 0  # the inode of the socket
        self.sockets: list[socket.socket] = []
        self.path = ""  # where it listens; empty: nowhere
        self.why_not = ""  # why it listens nowhere

    def __enter__(self) -> Self:
        path = socket_path(self._where)
        if path is None:
            self.why_not = (
                "the path of the data folder is too long for a socket"
                if hasattr(socket, "AF_UNIX")
                else "Python has no socket files on this system"
            )
            return self
        with socket.socket(socket.AF_UNIX) as link, suppress(OSError):
            link.settimeout(1.0)
            link.connect(str(path))  # what a dead server has left behind does not answer
            self.why_not = "another server answers already"
            return self
        try:
            self._listen(path)
        except OSError as error:  # what is no socket is not removed
            self.why_not = f"{path} cannot be made: {error.strerror}"
        return self

    def _listen(self, path: Path) -> None:
        make_private_folder(path.parent)
        secure(self._where)
        if path.is_socket():
            path.unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX)
        former = os.umask(0o177)  # so that there is no moment in which others could open it
        try:
            listening.bind(str(path))
            listening.listen(_BACKLOG)
        except OSError:
            listening.close()
            raise
        finally:
            os.umask(former)
        self.sockets, self.path, self._made = [listening], str(path), path.lstat().st_ino

    def __exit__(self, *_: object) -> None:
        """Stop listening, and remove the socket unless another server has put its own there."""
        for listening in self.sockets:
            listening.close()
            with suppress(OSError):
                if Path(self.path).lstat().st_ino == self._made:
                    Path(self.path).unlink()


class Connection(H11Protocol):
    """HTTP/1.1 with a patience that ends; how long an answer may take is the guard's to say."""

    head_seconds = 10.0
    """For the head of a request to arrive."""

    taking_seconds = 60.0
    """For the client to take what waits for it."""

    # Either may end after the connection: it does nothing then.
    _arriving: asyncio.TimerHandle | None = None
    _leaving: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        link = transport.get_extra_info("socket")
        super().connection_made(transport)
        if link.family != getattr(socket, "AF_UNIX", None):
            # An answer is written in two parts. Without this, the second waits 40 ms until the
            # client has confirmed the first; asyncio sets it only for sockets that name their
            # protocol.
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        elif not is_same_user(link):
            transport.abort()
        self._watch_head()

    def data_received(self, data: bytes) -> None:
        """Take what has arrived."""
        super().data_received(data)
        self._watch_head()

    def _watch_head(self) -> None:
        """Count from the first byte of a head: one byte at a time must not prolong it."""
        if self.conn.their_state is h11.IDLE:
            if self._arriving is None:
                close = self.timeout_keep_alive_handler
                self._arriving = self.loop.call_later(self.head_seconds, close)
        elif self._arriving is not None:
            self._arriving.cancel()
            self._arriving = None

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection on which no request has come."""
        super().timeout_keep_alive_handler()
        self._watch_taking()

    def pause_writing(self) -> None:
        """Note that the client is slow to take an answer."""
        super().pause_writing()
        self._watch_taking()

    def _watch_taking(self) -> None:
        # What has been written is only lost by an abort: a close waits for it to be taken.
        if self._leaving is None:
            self._leaving = self.loop.call_later(self.taking_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Note that it has taken it."""
        super().resume_writing()
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None


class Server(uvicorn.Server):
    """A server that ends its work at the first signal, and at once at the second."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=Connection,
                ws="none",
                lifespan="on",
                log_config=None,
                log_level="error",  # what clients do wrong is in the answer to them
                access_log=False,
                server_header=False,
                proxy_headers=False,
                limit_concurrency=_CONNECTIONS,
                timeout_keep_alive=5,
                timeout_graceful_shutdown=_GRACE,
                h11_max_incomplete_event_size=_HEADER_BYTES,
            )
        )

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take Ctrl-C and a polite kill; unlike uvicorn's, it does not raise them again."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        former = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)
