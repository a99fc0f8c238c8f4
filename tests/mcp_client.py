"""Speaking the Model Context Protocol in tests, with the client of the official SDK."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.server.lowlevel.server import Server
from mcp_types import CallToolResult, TextContent

from command_line import DOWSE

ERAS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
"""How a client begins, and the revision it then speaks: the newest, and the one before it."""

Ask = Callable[..., CallToolResult]
"""Calls a tool by name, with its arguments."""

_PATIENCE = 30  # seconds


def with_client(
    server: Server[Any] | StdioServerParameters | str,
    work: Callable[[Client], Awaitable[Any]],
    era: str = "auto",
) -> Any:
    """Does something with a client of a server in this process, at an address, or to be started."""

    async def run() -> Any:
        with anyio.fail_after(_PATIENCE):
            async with Client(server, mode=era) as client:
                return await work(client)

    return anyio.run(run)


def started(folder: Path, *arguments: str) -> StdioServerParameters:
    """A server that the client starts in a folder."""
    return StdioServerParameters(
        command=DOWSE, args=["mcp", *arguments], env=dict(os.environ), cwd=folder
    )


def text_of(result: CallToolResult) -> str:
    """What a client that reads no structures sees."""
    first = result.content[0]
    assert isinstance(first, TextContent)
    return first.text
