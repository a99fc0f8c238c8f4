"""Runs lines of the command line in the server: other processes of the same user send them.

Only lines that ask are run, only for the same settings, and a line that fails is handed back, so
that its own process tells of the failure as it always does.
"""

from __future__ import annotations

import io
import json
import os
import socket
import socketserver
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import click

from dowse import __version__
from dowse.engine import Engine
from dowse.errors import DowseError
from dowse.files import make_private_folder
from dowse.front.cli.call import Call
from dowse.front.cli.commands import cli
from dowse.front.cli.remote import (
    AGREED,
    FRAME,
    environment_of_settings,
    is_for_server,
    is_same_user,
    socket_path,
)
from dowse.front.cli.screen import OutputClosed, Screen
from dowse.privacy import secure
from dowse.service import Service
from dowse.types import Announce, silent

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_LONGEST = 1 << 20  # bytes of a request
_PATIENCE = 10.0  # seconds for a request to arrive, and for an answer to be taken


class LineServer:
    """Listens on a socket that only this user can open; none is needed for the rest to work."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._server: _Server | None = None
        self.path = ""  # where it listens; empty: nowhere
        self.why_not = ""  # why it listens nowhere

    def __enter__(self) -> Self:
        path = socket_path(self._service.workspace.locations)
        if path is None:
            self.why_not = "the path of the data folder is too long for a socket"
        elif _is_answered(path):
            self.why_not = "another server answers already"
        else:
            try:
                self._listen(path)
            except OSError as error:  # what is no socket is not removed, whoever has put it there
                self.why_not = f"{path} cannot be made: {error.strerror}"
        return self

    def _listen(self, path: Path) -> None:
        make_private_folder(path.parent)
        secure(self._service.workspace.locations)
        if path.is_socket():
            path.unlink(missing_ok=True)
        former = os.umask(0o177)  # so that there is no moment in which others could open it
        try:
            self._server = _Server(path, self._service)
        finally:
            os.umask(former)
        self.path = str(path)
        threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="dowse-lines", daemon=True
        ).start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
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


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, path: Path, service: Service) -> None:
        super().__init__(str(path), _Handler)
        self.service = service
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
        """Says nothing: whoever went away has run the line himself."""


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
        code, tape = _run(self.server.service, request)
        frames = tape.frames if code is not None else []
        head = json.dumps({"code": code, "frames": len(frames)}).encode() + b"\n"
        body = b"".join(FRAME.pack(stream, len(data)) + data for stream, data in frames)
        self.wfile.write(head + body)


def _run(service: Service, request: Mapping[str, Any]) -> tuple[int | None, Tape]:
    """The exit code and the output of a line; None when its own process has to run it."""
    tape = Tape()
    call = SharedCall(service, request, tape)
    try:
        result = cli.main(
            request["arguments"],
            prog_name="dowse",
            standalone_mode=False,
            obj=call,
            help_option_names=[],  # help would be printed here
        )
    except (DowseError, click.ClickException, click.Abort, OutputClosed, OSError):
        return None, tape
    call.out.flush()
    call.aside.flush()
    return result if isinstance(result, int) else 0, tape


def _is_ours(service: Service, request: Mapping[str, Any]) -> bool:
    """Whether a line would be understood here as it is where it comes from."""
    where = service.workspace.locations
    return (
        request["version"] == __version__
        and request["locations"] == [str(where.config), str(where.data), str(where.cache)]
        and request["environment"] == environment_of_settings()
        and is_for_server(request["arguments"])
    )


class Tape:
    """What a line prints on its two streams, in order."""

    def __init__(self) -> None:
        self.frames: list[tuple[int, bytes]] = []

    def screen(self, stream: int, told: Mapping[str, Any], colours: Mapping[str, str]) -> Screen:
        """The screen that a line sees as the one it was sent from."""
        writer = _Stream(self, stream, told)
        return _ToldScreen(writer, colours, told["width"])


class _Recorder(io.BufferedIOBase):
    def __init__(self, tape: Tape, stream: int) -> None:
        self._tape, self._stream = tape, stream

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer) -> int:
        piece = bytes(data)
        self._tape.frames.append((self._stream, piece))
        return len(piece)


class _Stream(io.TextIOWrapper):
    def __init__(self, tape: Tape, stream: int, told: Mapping[str, Any]) -> None:
        encoding = str(told["encoding"])
        super().__init__(
            _Recorder(tape, stream),  # type: ignore[arg-type]  # it only has to be written to
            encoding=encoding,
            errors="dowse",
            newline="\n",
            write_through=True,
        )
        self._is_terminal = bool(told["is_terminal"])

    def isatty(self) -> bool:
        return self._is_terminal


class _ToldScreen(Screen):
    def __init__(
        self, stream: io.TextIOWrapper, colours: Mapping[str, str], width: int | None
    ) -> None:
        super().__init__(stream, colours)
        self._width = width

    @property
    def width(self) -> int | None:
        return self._width


class SharedCall(Call):
    """A call whose line comes from another process, and whose engine stays open."""

    def __init__(self, service: Service, request: Mapping[str, Any], tape: Tape) -> None:
        super().__init__()
        self._service = service
        self._here = Path(request["here"])
        self.workspace = service.workspace
        self.out = tape.screen(1, request["out"], request["colours"])
        self.aside = tape.screen(2, request["aside"], request["colours"])

    @property
    def here(self) -> Path:
        """The folder that the line was typed in."""
        return self._here

    def open(
        self,
        overrides: Mapping[str, Any] | None = None,
        announce: Announce = silent,  # noqa: ARG002  what is warm has nothing to announce
        *,
        fetch: bool = False,
    ) -> AbstractContextManager[Engine]:
        """The engine of the project that the line is about, as it is open already."""
        if overrides or fetch:
            raise DowseError("This line needs an engine of its own.")
        return nullcontext(self._service.engine(self.select().name))

    def begins(self, command: str) -> None:
        """Notes nothing: this process serves, whatever lines it runs for others."""

    def takes_long(self) -> None:
        """Hands the line back, so that nothing is paid for and then not waited for."""
        raise DowseError("This line may take longer than anybody waits for a server.")
