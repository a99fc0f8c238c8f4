"""One server for everybody: the API, the MCP endpoint and the web page over warm engines."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import queue
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from functools import partial
from multiprocessing import reduction
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote_to_bytes

import h11
import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from dowse._interfaces.http.api import ERROR, FAILURES, http_routes
from dowse._interfaces.http.routes import ROOT, ROUTES, ApiCall, readiness
from dowse._interfaces.http.security import Access, Guard, checked_origins, is_local
from dowse._interfaces.mcp.server import mcp_sessions
from dowse._interfaces.served import is_same_user, socket_path
from dowse._model import Event
from dowse._project.pool import EnginePool
from dowse._project.registry import Project
from dowse._project.workspace import Workspace
from dowse._util.files import Locations, make_private_folder, secure
from dowse._util.metrics import CONTENT_TYPE, Figures, Metrics
from dowse.errors import DowseError, UsageError

_HERE = Path(__file__).parent
PAGE = _HERE / "page"
"""The files of the web page."""

_BACKLOG = 128  # connections that may wait to be taken
_METHODS = frozenset({"GET", "HEAD", "POST", "DELETE"})  # that are counted by their names
_GRACE = 3  # seconds that requests at hand are given when the server stops
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
    workers: int = 1,
    begin: Callable[[], None] = lambda: None,
) -> Server:
    """Build the server of a user's projects, or of `only` one; nothing is bound yet.

    With more than one of the `workers`, processes answer that each call `begin` first.
    """
    pool = EnginePool(workspace, start, only)
    several = workers > 1 and sys.platform != "win32"  # where no process can hand over a connection
    crew = Workers(workers, begin, start, only, access) if several else None
    mcp, counted = mcp_sessions(pool, compat=compat), crew.figures if crew else tuple
    return Server(application(pool, access, watch=watch, mcp=mcp, counted=counted), crew)


def application(
    pool: EnginePool,
    access: Access,
    *,
    watch: bool = True,
    mcp: StreamableHTTPSessionManager | None = None,
    counted: Callable[[], Iterable[Figures]] = tuple,
) -> ASGIApp:
    """Build the whole server as an ASGI application, with its checks around it.

    `counted` gives the figures of other processes that answer.
    """
    watchers = Watchers(pool)

    def metrics(_: Request) -> Response:
        """Answer with the page for Prometheus, with the generations as they are now."""
        pool.metrics.generation.replace(
            {
                (one.project,): one.generation
                for one in readiness(pool).projects
                if one.generation is not None
            }
        )
        return Response(pool.metrics.page(counted()), headers={"Content-Type": CONTENT_TYPE})

    described = FileResponse(_HERE / "api.html")
    routes = [
        *http_routes(partial(ApiCall, pool, watchers)),
        Route("/metrics", metrics, methods=["GET"]),
        Route("/api", described, methods=["GET"]),
        Route("/api/", described, methods=["GET"]),
        Route(f"{ROOT}/openapi.json", FileResponse(_HERE / "openapi.json"), methods=["GET"]),
        *([Route("/mcp", StreamableHTTPASGIApp(mcp))] if mcp else []),
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with mcp.run() if mcp else nullcontext():
            if watch:
                watchers.start()
            pool.warm()
            yield
            await run_in_threadpool(watchers.stop)
            pool.close()

    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=FAILURES)
    app.router.redirect_slashes = False
    app.router.default = StaticFiles(directory=PAGE, html=True)
    others = {"/", "/api", "/metrics", "/mcp", f"{ROOT}/openapi.json"}
    return Observed(Guard(app, access), pool.metrics, others | {one.address for one in ROUTES})


class Observed:
    """Count and time every request of an application, also those that are refused."""

    def __init__(self, app: ASGIApp, metrics: Metrics, routes: Collection[str]) -> None:
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
            fields = {
                "method": method,
                "route": route,
                "status": status,
                "milliseconds": round(seconds * 1000, 1),
            }
            _requests.info("%s %s %d", method, route, status, extra={"fields": fields})


# ── Watchers: one per project that has an index, as long as the server runs ──


class Watcher:
    """Update the index of one project while its folder changes."""

    def __init__(self, pool: EnginePool, project: Project) -> None:
        self.project, self.stop = project, threading.Event()
        self.event: Event | None = None
        self.error: DowseError | None = None
        self.failed_at = 0.0  # on the monotonic clock
        self.thread = threading.Thread(
            target=self._run, args=(pool,), name=f"dowse-watch-{project.name}", daemon=True
        )
        self.thread.start()

    def _run(self, pool: EnginePool) -> None:
        def announce(event: Event | None) -> None:
            self.event = event

        try:
            pool.watch(self.project, lambda _: announce(None), self.stop, announce)
        except DowseError as error:
            self.error, self.failed_at = error, time.monotonic()
        except Exception:  # noqa: BLE001  a bug must not end the others; it is logged
            self.failed_at = time.monotonic()
            _log.exception("The watcher of %s failed", self.project.name)


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
        until = time.monotonic() + _WATCHERS_END
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(_WATCHERS_END)
        for one in self._watchers.values():
            one.stop.set()
        for one in self._watchers.values():
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
            self._stop.wait(2.0)

    def _look(self) -> None:
        """Begin and end watchers, as projects come and go."""
        projects = {project.name: project for project in self._pool.projects()}
        for name, one in list(self._watchers.items()):
            if projects.get(name) != one.project:  # it is gone, or has other folders
                self._watchers.pop(name).stop.set()
        for name, project in projects.items():
            known = self._watchers.get(name)
            failed_lately = known and time.monotonic() - known.failed_at <= _RETRY
            if failed_lately or (known and known.thread.is_alive()):
                continue
            with suppress(DowseError):  # its watcher says so
                # The first index can take minutes, and is made when somebody asks for it.
                if self._pool.open(project).built_with() is None:
                    continue
            self._watchers[name] = Watcher(self._pool, project)


# ── Sockets ──────────────────────────────────────────────────────────────────


def access_for(
    host: str, token: str | None, names: Sequence[str] = (), origins: Sequence[str] = ()
) -> Access:
    """Let this machine's user in without a token, and others, also past a proxy, with one."""
    if not token and (names or not is_local(host)):
        token = secrets.token_urlsafe(24)
    return Access(
        host=host, token=token or "", names=tuple(names), origins=checked_origins(origins)
    )


def bind(host: str, port: int) -> socket.socket:
    """Open a socket that listens; raise `UsageError` when that cannot be."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), port), family=family, backlog=_BACKLOG)
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
        listening = socket.socket(socket.AF_UNIX)
        try:
            make_private_folder(path.parent)
            secure(self._where)
            if path.is_socket():
                path.unlink(missing_ok=True)
            listening.bind(str(path))
            path.chmod(0o600)  # before it listens, nobody can open it
            listening.listen(_BACKLOG)
            self.sockets, self.path, self._made = [listening], str(path), path.lstat().st_ino
        except OSError as error:  # what is no socket is not removed
            listening.close()
            self.why_not = f"{path} cannot be made: {error.strerror}"
        return self

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

    begun = b""
    """What another process has read of it already."""

    main: Line | None = None
    """To the main process, in a worker."""

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
        if self.begun:
            self.data_received(self.begun)

    def data_received(self, data: bytes) -> None:
        """Take what has arrived."""
        super().data_received(data)
        self._watch_head()

    def handle_events(self) -> None:
        """Handle what has arrived, here or where it is known."""
        if self.main and self.conn.their_state is h11.IDLE:
            begun, _ = self.conn.trailing_data
            words = begun.split(b" ", 2)
            if len(words) > 2 and unquote_to_bytes(words[1].partition(b"?")[0]) in _KEPT:
                self.main.send(begun, self.transport.get_extra_info("socket").fileno())
                self.transport.abort()  # the main process has it open, so it does not end
                return
        super().handle_events()

    def _watch_head(self) -> None:
        """Count from the first byte of a head: one byte at a time must not prolong it."""
        if self.conn.their_state is h11.IDLE:
            if self._arriving is None:
                self._arriving = self.loop.call_later(
                    self.head_seconds, self.timeout_keep_alive_handler
                )
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
    """A server that ends its work at the first signal, and at once at the second.

    `others` are its workers, among which it shares out its connections; or the main process, which
    gives it some.
    """

    def __init__(self, app: ASGIApp, others: Workers | Line | None = None) -> None:
        self._others = others
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
                limit_concurrency=200,  # more connections are turned away
                timeout_keep_alive=5,
                timeout_graceful_shutdown=_GRACE,
                h11_max_incomplete_event_size=64 << 10,  # of a head; the guard takes half of it
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        self._loop, shares = asyncio.get_running_loop(), isinstance(self._others, Workers)
        await super().startup([] if shares else sockets)
        if self._others:
            self._others.start(self)
        for listening in sockets or () if shares else ():
            listening.setblocking(False)
            self._loop.add_reader(listening, self._share, listening)

    def _share(self, listening: socket.socket) -> None:
        with suppress(OSError):  # the client has left, or too many files are open
            link, _ = listening.accept()
            if not (isinstance(self._others, Workers) and self._others.take(link)):
                self.adopt(link)

    def adopt(self, link: socket.socket, begun: bytes = b"") -> None:
        """Answer on a connection that was accepted elsewhere, and of which `begun` was read."""

        def made() -> Connection:
            one = Connection(self.config, self.server_state, self.lifespan.state, self._loop)
            one.begun, one.main = begun, self._others if isinstance(self._others, Line) else None
            return one

        link.setblocking(False)
        asyncio.run_coroutine_threadsafe(self._loop.connect_accepted_socket(made, link), self._loop)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish what is under way."""
        if isinstance(self._others, Workers):
            for listening in sockets or ():
                self._loop.remove_reader(listening)
            await run_in_threadpool(self._others.stop, self)
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take Ctrl-C and a polite kill; unlike uvicorn's, it does not raise them again."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()


# ── Workers: of the threads of a process, one at a time runs Python, and a search is Python ──

_KEPT = {b"/mcp", b"/metrics", *(one.address.encode() for one in ROUTES if one.kept)}
_WAIT = 1.0  # seconds until a worker must have said what it counted, or is started again


class Line:
    """The line between the main process and a worker: connections, and what was counted."""

    def __init__(self, pipe: Pipe, metrics: Metrics | None = None) -> None:
        self._pipe, self._metrics = pipe, metrics  # those of a worker
        self._one_at_a_time = threading.Lock()
        self.heard: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def send(self, said: object, link: int | None = None) -> None:
        """Say something, or give a connection away, with the bytes that were read of it."""
        with self._one_at_a_time:
            self._pipe.send(said)
            if link is not None:
                reduction.send_handle(self._pipe, link, 0)

    def follow(self, server: Server) -> None:
        """Take connections for a server until the other process ends."""
        with suppress(EOFError, OSError):
            while True:
                said = self._pipe.recv()
                if isinstance(said, bytes):
                    server.adopt(socket.socket(fileno=reduction.recv_handle(self._pipe)), said)
                elif self._metrics:
                    self.send(self._metrics.figures())
                else:
                    self.heard.put(said)
        server.should_exit = server.should_exit or self._metrics is not None

    def start(self, server: Server) -> None:
        """Take connections from the main process, and end when it ends."""
        threading.Thread(target=self.follow, args=(server,), daemon=True).start()


class Workers:
    """The processes that answer what needs no memory of other requests.

    Sessions of MCP, runs of indexing and watchers are in the main process alone: a worker gives a
    connection back that asks for one of these.
    """

    def __init__(self, count: int, *told: object) -> None:
        self._told = told
        self._turns = itertools.count()
        self._lines: dict[Line, subprocess.Popen[bytes]] = {}
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(count)]
        self._stopped = threading.Event()

    def start(self, server: Server) -> None:
        """Start the processes; connections that they give back go to this server."""
        self._server = server
        for thread in self._threads:
            thread.start()

    def _run(self) -> None:
        """Run a worker, and another one when it has died."""
        while not self._stopped.is_set():
            own, other = socket.socketpair()
            # -P: the current folder may be anybody's, nothing is imported from it.
            code = f"from {__name__} import work; work({other.fileno()})"
            command = [sys.executable, "-P", "-c", code]
            with other:
                process = subprocess.Popen(command, pass_fds=[other.fileno()])  # noqa: S603  dowse itself
            line = Line(Pipe(own.detach()))
            line.send(self._told)
            self._lines[line] = process
            line.follow(self._server)
            del self._lines[line]
            process.kill()
            process.wait()
            if not self._stopped.wait(_WAIT):
                _log.warning("A worker process has died, and another one is started.")

    def take(self, link: socket.socket) -> bool:
        """Give a connection to the worker whose turn it is; false when there is none."""
        lines = list(self._lines)
        with suppress(OSError, ZeroDivisionError):  # it has died, or all have
            lines[next(self._turns) % len(lines)].send(b"", link.fileno())
            link.close()
            return True
        return False

    def figures(self) -> Iterator[Figures]:
        """Ask every worker what it has counted."""
        for line in list(self._lines):
            with suppress(OSError, queue.Empty):
                line.send(None)
                yield line.heard.get(timeout=_WAIT)

    def stop(self, server: Server) -> None:
        """Let the workers finish what is under way; those that do not end with this process."""
        self._stopped.set()
        for process in list(self._lines.values()):
            process.terminate()
        until = time.monotonic() + _GRACE + 1
        for thread in self._threads:
            while thread.is_alive() and time.monotonic() < until and not server.force_exit:
                thread.join(0.05)


def work(descriptor: int) -> None:
    """Answer on the connections that the main process gives away, for as long as it runs."""
    pipe = Pipe(descriptor)
    begin, start, only, access = pipe.recv()
    begin()
    pool = EnginePool(Workspace(), start, only)
    Server(application(pool, access, watch=False), Line(pipe, pool.metrics)).run([])
    os._exit(0)  # a search that takes too long is not waited for
