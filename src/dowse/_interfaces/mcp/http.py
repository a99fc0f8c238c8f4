"""The protocol over streamable HTTP, for a server that does other things too."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager

from dowse._interfaces.mcp.instructions import introduced
from dowse._interfaces.mcp.projects import VisibleProjects
from dowse._interfaces.mcp.server import build_server

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from dowse._project.pool import EnginePool

_MOST_SESSIONS = 200
_IDLE_SECONDS = 600.0  # a session without a request; clients open a new one by themselves
_MOST_BYTES = 1_000_000  # of a request; a query and its filters take a few hundred


class _Sessions(StreamableHTTPSessionManager):
    """The SDK's sessions; where all places are taken, a new one takes the place of an idle one.

    Otherwise clients that never end their sessions would keep everybody else out.
    """

    def _admit_session(self, *arguments: Any) -> StreamableHTTPServerTransport | None:
        if len(self._server_instances) >= (self.max_sessions or _MOST_SESSIONS):
            self._drop_the_longest_idle()
        return super()._admit_session(*arguments)

    def _drop_the_longest_idle(self) -> None:
        # The time at which each would expire grows with its last request; one at work has none.
        expiring = {
            name: one.idle_scope.deadline
            for name, one in self._server_instances.items()
            if one.idle_scope is not None and math.isfinite(one.idle_scope.deadline)
        }
        if not expiring:
            return
        oldest = min(expiring, key=expiring.__getitem__)
        scope = self._server_instances.pop(oldest).idle_scope
        if scope is not None:
            scope.cancel()  # its task ends, and cleans up behind it


class McpEndpoint:
    """The ASGI application, and what must run around it as long as it serves.

    A server mounts `app` at /mcp and enters `run()` in its lifespan. That server decides who may
    call: its Host, Origin and token checks.
    """

    def __init__(self, pool: EnginePool, *, compat: bool = False) -> None:
        named = {one.name: pool.workspace.description(one) for one in pool.projects()}
        visible = VisibleProjects(lambda: pool, pool.only)
        server = build_server(visible, introduced(named), compat=compat)
        self._sessions = _Sessions(
            server,
            session_idle_timeout=_IDLE_SECONDS,
            max_sessions=_MOST_SESSIONS,
            max_request_body_size=_MOST_BYTES,
        )
        self.app: ASGIApp = StreamableHTTPASGIApp(self._sessions)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Keep sessions alive; to be entered once, in the lifespan of the server."""
        async with self._sessions.run():
            yield
