"""The protocol over streamable HTTP, for a server that does other things too."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager

from dowse.front.mcp.desk import Desk
from dowse.front.mcp.server import build_server

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from dowse.service import Service

_MOST_SESSIONS = 200
_MOST_BYTES = 1_000_000  # of a request; a query and its filters take a few hundred


class McpEndpoint:
    """The ASGI application, and what must run around it as long as it serves.

    Who may call is for the server to decide that mounts it: its Host, Origin and token checks.
    """

    def __init__(self, service: Service, *, compat: bool = False) -> None:
        names = [project.name for project in service.projects()]
        server = build_server(Desk(lambda: service), names, compat=compat)
        self._sessions = StreamableHTTPSessionManager(
            server,
            max_sessions=_MOST_SESSIONS,
            max_request_body_size=_MOST_BYTES,
        )
        self.app: ASGIApp = StreamableHTTPASGIApp(self._sessions)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Keeps sessions alive; to be entered once, in the lifespan of the server."""
        async with self._sessions.run():
            yield


def mcp_endpoint(service: Service, *, compat: bool = False) -> McpEndpoint:
    """The endpoint for a warm service: mount `.app` at /mcp, enter `.run()` in the lifespan."""
    return McpEndpoint(service, compat=compat)
