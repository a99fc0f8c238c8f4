from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.server.lowlevel.server import Server
from mcp_types import CallToolResult

from dowse._interfaces.mcp.projects import VisibleProjects
from dowse._interfaces.mcp.server import build_server
from dowse._project.pool import EnginePool
from dowse._project.workspace import Workspace
from mcp_client import ERAS, Ask, with_client


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    """Each revision of the protocol in turn."""
    return str(request.param)


@pytest.fixture
def service(notes: Path, workspace: Workspace) -> Iterator[EnginePool]:
    """The warm engines of a user with notes, in this process."""
    warm = EnginePool(workspace, notes)
    yield warm
    for thread in threading.enumerate():
        if thread.name.startswith("dowse-"):  # they work for doors that are closed by now
            thread.join(20)
    warm.close()


@pytest.fixture
def server(service: EnginePool) -> Server[Any]:
    """A server over the notes."""
    return build_server(VisibleProjects(lambda: service), ["notes"])


@pytest.fixture
def ask(server: Server[Any]) -> Ask:
    """Calls a tool of that server."""

    def call(name: str, **arguments: object) -> CallToolResult:
        async def work(client: Client) -> CallToolResult:
            return await client.call_tool(name, arguments)

        result = with_client(server, work)
        assert isinstance(result, CallToolResult)
        return result

    return call
