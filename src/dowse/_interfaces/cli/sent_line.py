"""Running a line that another process has sent, with the engines that a server keeps open."""

from __future__ import annotations

import io
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dowse._interfaces.cli.app import cli
from dowse._interfaces.cli.call import Call
from dowse._interfaces.cli.screen import OutputClosed, Screen
from dowse._interfaces.socket.client import Frames
from dowse._model import Announce, silent
from dowse._project.engine import Engine
from dowse._project.pool import EnginePool
from dowse._project.registry import Project
from dowse.errors import DowseError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def run_line(service: EnginePool, request: Mapping[str, Any]) -> tuple[int | None, Frames]:
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
        return None, []
    call.out.flush()
    call.aside.flush()
    return result if isinstance(result, int) else 0, tape.frames


class Tape:
    """What a line prints on its two streams, in order."""

    def __init__(self) -> None:
        self.frames: list[tuple[int, bytes]] = []

    def screen(
        self, stream: int, terminal: Mapping[str, Any], colours: Mapping[str, str]
    ) -> Screen:
        """The screen that a line sees as the one it was sent from."""
        writer = _Stream(self, stream, terminal)
        return _RemoteScreen(writer, colours, terminal["width"])


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
    def __init__(self, tape: Tape, stream: int, terminal: Mapping[str, Any]) -> None:
        encoding = str(terminal["encoding"])
        super().__init__(
            _Recorder(tape, stream),  # type: ignore[arg-type]  # it only has to be written to
            encoding=encoding,
            errors="dowse",
            newline="\n",
            write_through=True,
        )
        self._is_terminal = bool(terminal["is_terminal"])

    def isatty(self) -> bool:
        return self._is_terminal


class _RemoteScreen(Screen):
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

    def __init__(self, service: EnginePool, request: Mapping[str, Any], tape: Tape) -> None:
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
        if fetch:
            raise DowseError("This line needs an engine of its own.")
        return self.open_project(self.select(), overrides=overrides)

    def open_project(
        self,
        project: Project,
        announce: Announce = silent,  # noqa: ARG002  as above
        overrides: Mapping[str, Any] | None = None,
    ) -> AbstractContextManager[Engine]:
        """The engine of one project, as it is open already."""
        if overrides:
            raise DowseError("This line needs an engine of its own.")
        engine = self._service.open(project)
        self.say_withheld(project, self._service.settings_of(engine))
        return nullcontext(engine)

    def begins(self, command: str) -> None:
        """Notes nothing: this process serves, whatever lines it runs for others."""

    def takes_long(self) -> None:
        """Hands the line back, so that nothing is paid for and then not waited for."""
        raise DowseError("This line may take longer than anybody waits for a server.")
