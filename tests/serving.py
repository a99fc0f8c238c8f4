"""A `dowse serve` in this process, on the socket that other processes of the user ask."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from dowse._interfaces.http.security import Access
from dowse._interfaces.http.server import OwnSocket, Server, application
from dowse._interfaces.mcp.server import mcp_sessions
from dowse._project.pool import EnginePool

_PATIENCE = 30.0


@contextmanager
def serving(service: EnginePool) -> Iterator[OwnSocket]:
    """Serve until the end of the block; nothing is loaded before it is asked for."""
    with patch.object(EnginePool, "warm"), OwnSocket(service.workspace.locations) as own:
        app = application(service, Access(), watch=False, mcp=mcp_sessions(service))
        server = Server(app)
        thread = threading.Thread(target=server.run, args=(own.sockets,))
        thread.start()
        try:
            until = time.monotonic() + _PATIENCE
            while not server.started and thread.is_alive():
                assert time.monotonic() < until
                time.sleep(0.005)
            yield own
        finally:
            server.should_exit = True
            thread.join(_PATIENCE)
