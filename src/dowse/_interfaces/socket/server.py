"""A socket for command lines and tools: other processes of the same user ask a warm server.

Only lines that read are run, and only for the same settings. A line that fails is handed back, so
that its own process reports the failure. All tools only read.
"""

from __future__ import annotations

import json
import os
import socket
import socketserver
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from dowse import __version__
from dowse._interfaces.socket.client import (
    AGREED,
    FRAME,
    Frames,
    environment_of_settings,
    is_for_server,
    is_same_user,
    socket_path,
)
from dowse._project.pool import EnginePool
from dowse._util.files import make_private_folder
from dowse._util.privacy import secure

_LONGEST = 1 << 20  # bytes of a request
_PATIENCE = 10.0  # seconds for a request to arrive, and for an answer to be taken


Run = Callable[[EnginePool, Mapping[str, Any]], tuple[int | None, Frames]]
"""Runs a line or a tool: its exit code and output; None when its own process has to run it."""


def _no_tools(_: EnginePool, __: Mapping[str, Any]) -> tuple[int | None, Frames]:
    return None, []


class LineServer:
    """Listens on a socket that only this user can open; none is needed for the rest to work."""

    def __init__(self, service: EnginePool, run_line: Run, run_tool: Run = _no_tools) -> None:
        self._service = service
        self._runs = {"arguments": run_line, "tool": run_tool}
        self._server: _Server | None = None
        self.path = ""  # where it listens; empty: nowhere
        self.why_not = ""  # why it listens nowhere

    def __enter__(self) -> Self:
        path = socket_path(self._service.workspace.locations)
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
        secure(self._service.workspace.locations)
        if path.is_socket():
            path.unlink(missing_ok=True)
        former = os.umask(0o177)  # so that there is no moment in which others could open it
        try:
            self._server = _Server(path, self._service, self._runs)
        finally:
            os.umask(former)
        self.path = str(path)
        threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="dowse-lines", daemon=True
        ).start()

    def __exit__(self, *_: object) -> None:
        if self._server:
            self._server.end()


def _is_answered(path: Path) -> bool:
    """Whether another server listens there; what a dead one has left behind does not answer."""
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(1.0)
        try:
            link.connect(str(path))
        except OSError:
            return False
    return True


class _Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    address_family = getattr(socket, "AF_UNIX", socket.AF_INET)  # Windows: none is ever made
    daemon_threads = True
    block_on_close = False

    def __init__(self, path: Path, service: EnginePool, runs: Mapping[str, Run]) -> None:
        super().__init__(str(path), _Handler)  # type: ignore[arg-type]  # the address of a file
        self.service = service
        self.runs = runs
        self._path = path
        self._made = path.lstat().st_ino

    def end(self) -> None:
        """Stops listening, and removes the socket unless another server has put its own there."""
        self.shutdown()
        self.server_close()
        with suppress(OSError):
            if self._path.lstat().st_ino == self._made:
                self._path.unlink()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing: a client that has gone runs its line by itself."""


class _Handler(socketserver.StreamRequestHandler):
    server: _Server
    timeout = _PATIENCE

    def handle(self) -> None:
        if not is_same_user(self.connection):
            return
        written = self.rfile.readline(_LONGEST)
        if not written.endswith(b"\n"):
            return
        request = json.loads(written)
        if not _is_ours(self.server.service, request):
            return
        self.wfile.write(AGREED)
        run = next(run for name, run in self.server.runs.items() if name in request)
        code, printed = run(self.server.service, request)
        frames = printed if code is not None else []
        head = json.dumps({"code": code, "frames": len(frames)}).encode() + b"\n"
        body = b"".join(FRAME.pack(stream, len(data)) + data for stream, data in frames)
        self.wfile.write(head + body)


def _is_ours(service: EnginePool, request: Mapping[str, Any]) -> bool:
    """Whether a line would be understood here as it is where it comes from."""
    where = service.workspace.locations
    return (
        request["version"] == __version__
        and request["locations"] == [str(where.config), str(where.data), str(where.cache)]
        and request["environment"] == environment_of_settings()
        and ("tool" in request or is_for_server(request["arguments"]))
    )
