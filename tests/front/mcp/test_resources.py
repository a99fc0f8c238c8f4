"""Documents as resources, and requests for what is not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.server.lowlevel.server import Server

from command_line import Dowse
from dowse._project.pool import EnginePool
from mcp_client import with_client


def test_every_document_is_listed_once_page_by_page(
    server: Server[Any], notes: Path, dowse: Dowse
) -> None:
    for number in range(230):
        (notes / f"n{number:03}.md").write_text(f"# Note {number}\n")
    assert dowse("index", notes).code == 0

    async def work(client: Client) -> list[list[str]]:
        pages, cursor = [], None
        while True:
            found = await client.list_resources(cursor=cursor)
            pages.append([one.uri for one in found.resources])
            cursor = found.next_cursor
            if cursor is None:
                return pages

    pages = with_client(server, work)
    assert [len(page) for page in pages] == [100, 100, 36]
    listed = [uri for page in pages for uri in page]
    assert listed == sorted(set(listed))


def test_a_broken_project_does_not_hide_the_others(
    server: Server[Any], service: EnginePool
) -> None:
    folder = service.workspace.locations.projects / "broken"
    folder.mkdir()
    (folder / "project.toml").write_text("[project\n")

    async def work(client: Client) -> int:
        return len((await client.list_resources()).resources)

    assert with_client(server, work) == 6


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("dowse://notes/nothing.md", "There is no document"),
        ("dowse://nobody/a.md", "There is no project"),
        ("file:///etc/passwd", "is not an address of dowse"),
        ("dowse://notes/../../../../etc/passwd", "There is no document"),
    ],
)
def test_what_is_not_there_is_reported(server: Server[Any], era: str, uri: str, said: str) -> None:
    async def work(client: Client) -> None:
        with pytest.raises(MCPError, match=said):
            await client.read_resource(uri)

    with_client(server, work, era)


def test_a_wrong_cursor_tool_or_prompt_is_reported(server: Server[Any], era: str) -> None:
    async def work(client: Client) -> None:
        with pytest.raises(MCPError, match="not an address"):
            await client.list_resources(cursor="page two")
        with pytest.raises(MCPError, match="Known are: query_documents"):
            await client.call_tool("delete_documents", {})
        with pytest.raises(MCPError, match="search_documents"):
            await client.get_prompt("nothing")

    with_client(server, work, era)
