"""One process for everybody: the API, the MCP endpoint and the web page over warm engines."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from pathlib import Path
from typing import Protocol, Self

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route, Router
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from dowse._interfaces.http.answers import answer, from_bug, from_failure, from_http, from_nobody
from dowse._interfaces.http.api import http_routes
from dowse._interfaces.http.connection import Connection
from dowse._interfaces.http.observing import Observed, figures
from dowse._interfaces.http.openapi import description, page
from dowse._interfaces.http.routes import ROOT, ROUTES
from dowse._interfaces.http.security import Access, Guard, checked_origins, is_local
from dowse._interfaces.http.watching import Watchers
from dowse._interfaces.served import socket_path
from dowse._project.pool import EnginePool
from dowse._util.files import make_private_folder
from dowse._util.locations import Locations, secure
from dowse._util.metrics import CONTENT_TYPE
from dowse.errors import DowseError, UsageError

PAGE = Path(__file__).parent / "page"
"""The files of the web page."""

_DESCRIPTION = f"{ROOT}/openapi.json"
_HEADER_BYTES = 64 << 10  # that are kept while a head has not ended; the guard takes half of it
_CONNECTIONS = 200  # at once; more are turned away
_BACKLOG = 128  # connections that may wait to be taken
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_GRACE = 3  # seconds that requests at hand are given when the server stops


class Mounted(Protocol):
    """Another application that this server carries."""

    app: ASGIApp

    def run(self) -> AbstractAsyncContextManager[None]:
        """Run what the application needs while it serves."""


def application(
    pool: EnginePool, access: Access, *, watch: bool = True, mcp: Mounted | None = None
) -> ASGIApp:
    """Build the whole server as an ASGI application, with its checks around it."""
    watchers = Watchers(pool)
    api = http_routes(pool, watchers)
    api.append(Route("/openapi.json", _description, methods=["GET"]))
    routes: list[BaseRoute] = [
        *http_routes(pool, watchers, root=""),
        Route("/metrics", _figures(pool), methods=["GET"]),
        Route("/api", _described, methods=["GET"]),
        Route("/api/", _described, methods=["GET"]),
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

    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={
            DowseError: from_failure,
            HTTPException: from_http,
            ClientDisconnect: from_nobody,
            Exception: from_bug,
        },
    )
    app.router.redirect_slashes = False
    others = {"/", "/api", "/metrics", "/mcp", _DESCRIPTION}
    known = frozenset(one.address for one in ROUTES) | others
    return Observed(Guard(app, access), pool.metrics, known)


def _figures(pool: EnginePool) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(_: Request) -> Response:
        page = await run_in_threadpool(figures, pool)
        return Response(page, headers={"Content-Type": CONTENT_TYPE})

    return endpoint


async def _description(_: Request) -> Response:
    return answer(description())


async def _described(_: Request) -> Response:
    return Response(page(), media_type="text/html")


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
        elif _is_answered(path):
            self.why_not = "another server answers already"
        else:
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


def _is_answered(path: Path) -> bool:
    """Check that another server listens there; what a dead one has left behind does not answer."""
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(1.0)
        try:
            link.connect(str(path))
        except OSError:
            return False
    return True


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
