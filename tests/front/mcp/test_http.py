"""The endpoint for streamable HTTP, as `dowse serve` offers it, on this machine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import anyio
import pytest
from mcp import Client
from starlette.testclient import TestClient

from dowse._interfaces.http.security import Access
from dowse._interfaces.http.server import Server, application
from dowse._interfaces.mcp.server import mcp_sessions
from dowse._project.pool import EnginePool
from mcp_client import ERAS, with_client


@pytest.fixture
def address(service: EnginePool) -> Iterator[str]:
    """Where the endpoint is served."""
    server = Server(
        application(service, Access(), watch=False, mcp=mcp_sessions(service, compat=True))
    )
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield f"http://127.0.0.1:{port}/mcp"
        server.should_exit = True
        thread.join()


def test_a_client_finds_everything(address: str, era: str) -> None:
    async def work(client: Client) -> None:
        assert client.protocol_version == ERAS[era]
        assert "Projects: notes." in (client.instructions or "")
        assert len((await client.list_tools()).tools) == 10
        found = await client.call_tool("search", {"query": "restore the database"})
        uri = found.structured_content["hits"][0]["uri"]
        read = await client.call_tool("get", {"references": [uri]})
        assert read.structured_content["passages"][0]["uri"] == uri
        assert (await client.call_tool("get_project_info", {})).structured_content["model"]

    with_client(address, work, era)


def test_many_clients_are_served_at_once(address: str) -> None:
    found: list[str] = []

    async def one(query: str) -> None:
        async with Client(address) as client:
            hits = (await client.call_tool("query_documents", {"query": query})).structured_content
            found.append(hits["hits"][0]["document"])

    async def run() -> None:
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                for query in ["lighthouse", "rain gauge", "lighthouse", "rain gauge"]:
                    group.start_soon(one, query)

    anyio.run(run)
    assert sorted(found) == ["journal/day.txt"] * 2 + ["lonely.md"] * 2


_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "forgetful", "version": "1"},
    },
}


def test_sessions_that_nobody_ends_do_not_keep_others_out(service: EnginePool) -> None:
    headers = {"Accept": "application/json, text/event-stream"}
    app = application(service, Access(), watch=False, mcp=mcp_sessions(service))
    with TestClient(app, base_url="http://127.0.0.1:7333") as client:
        begun = [client.post("/mcp", json=_HELLO, headers=headers) for _ in range(230)]
        assert {answer.status_code for answer in begun} == {200}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        states = [
            client.post(
                "/mcp",
                json=ping,
                headers={**headers, "Mcp-Session-Id": one.headers["mcp-session-id"]},
            ).status_code
            for one in begun
        ]
        assert states == [404] * 30 + [200] * 200  # those that were idle longest are gone
