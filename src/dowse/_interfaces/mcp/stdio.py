"""The protocol over stdin and stdout."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dowse._interfaces.mcp.projects import VisibleProjects

if TYPE_CHECKING:
    from dowse._project.pool import EnginePool

_INTERRUPTED = 130


def serve_stdio(
    open_pool: Callable[[], EnginePool],
    names: Sequence[str],
    *,
    pinned: str | None = None,
    compat: bool = False,
) -> None:
    """Serve one client until it closes stdin.

    A running `dowse serve` calls the tools. Without one, the pool is opened after the
    handshake, in the background. Stdout belongs to the protocol: whatever else is printed goes to
    stderr.
    """
    # Thousands of small objects are made while the SDK is loaded, and all of them stay.
    gc.disable()
    import anyio  # noqa: PLC0415
    from mcp.server.stdio import stdio_server  # noqa: PLC0415  `dowse --help` must not wait for it

    from dowse._interfaces.mcp.server import build_server  # noqa: PLC0415

    gc.freeze()
    gc.enable()
    # The loop could not end while a thread waits for the next line of stdin.
    signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))
    projects = VisibleProjects(open_pool, pinned)
    server = build_server(projects, names, compat=compat, shares=True)

    # What is printed must reach stderr before stdout is given back at the end: line by line.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)

    async def run() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    try:
        anyio.run(run)
    except* (BrokenPipeError, ConnectionResetError):
        pass  # the client is gone, and nobody is left to be told
