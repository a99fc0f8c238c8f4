"""`dowse mcp` asks a running `dowse serve`, and loads a model only where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult

from dowse._interfaces.http.server import OwnSocket
from dowse._interfaces.mcp.projects import VisibleProjects
from dowse._interfaces.mcp.server import build_server
from dowse._interfaces.served import find_server
from dowse._project.engine import Engine
from dowse._project.pool import EnginePool
from dowse._search.request import SearchRequest
from mcp_client import Ask, started, text_of, with_client
from serving import serving


@pytest.fixture
def running(service: EnginePool) -> Iterator[OwnSocket]:
    """A server that answers on the socket, in this process."""
    with serving(service) as own:
        assert not own.why_not
        yield own


def _refuse() -> EnginePool:
    raise AssertionError("Nothing is opened here.")


@pytest.mark.usefixtures("running")
def test_calls_are_answered_by_a_running_server(ask: Ask) -> None:
    projects = VisibleProjects(_refuse)

    calls: list[tuple[str, dict[str, Any]]] = [
        ("query_documents", {"query": "restore the database", "n": "2"}),
        ("get_document", {"references": ["[[restore#Steps]]", "nothing"]}),
        ("recent", {"since": "2023"}),
        ("query_documents", {"query": "x", "project": "other"}),
    ]

    async def work(client: Client) -> list[CallToolResult]:
        await client.list_tools()  # it would load everything where no server answers
        return [await client.call_tool(name, arguments) for name, arguments in calls]

    there = with_client(build_server(projects, [], shares=True), work)
    for (name, arguments), told in zip(calls, there, strict=True):
        here = ask(name, **arguments)
        assert told.structured_content == here.structured_content
        assert told.content == here.content
        assert told.is_error == here.is_error
    assert "use one of: notes" in text_of(there[-1])


def test_without_a_server_the_process_does_it_itself(
    service: EnginePool, monkeypatch: pytest.MonkeyPatch
) -> None:

    async def work(client: Client) -> Any:
        return await client.call_tool("query_documents", {"query": "lighthouse"})

    server = build_server(VisibleProjects(lambda: service), [], shares=True)
    assert with_client(server, work).structured_content["hits"]
    with serving(service):
        assert find_server() is not None
        monkeypatch.setenv("DOWSE_NO_SERVER", "1")
        assert find_server() is None


@pytest.mark.usefixtures("running")
def test_a_client_over_stdio_uses_the_running_server(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    search = Engine.search

    def noted(self: Engine, request: SearchRequest) -> Any:
        asked.append(request.query)
        return search(self, request)

    monkeypatch.setattr(Engine, "search", noted)

    async def work(client: Client) -> Any:
        return await client.call_tool("query_documents", {"query": "lighthouse"})

    found = with_client(started(notes), work)
    assert found.structured_content["hits"][0]["document"] == "lonely.md"
    assert "lighthouse" in asked  # in this process, not in the one that the client started
