"""Asking a running `dowse serve` to run a line or a tool, so that nothing need be loaded here.

This is read before every line, so it imports as little as it can. Whenever anything is not as
it should be, the process does it by itself, as if there were no server.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dowse import __version__
from dowse._util.locations import Locations, locations

if TYPE_CHECKING:
    from dowse._interfaces.cli.screen import Screen

NO_SERVER = "DOWSE_NO_SERVER"
"""The variable that keeps every line from asking a server."""

FRAME = struct.Struct("!BI")
"""What comes before each piece of output: which stream (1 or 2), and how many bytes."""

AGREED = b"\n"
"""What a server says at once when it runs a line; a server that hangs says nothing."""

_COLOURS = ("NO_COLOR", "TERM", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE")
_OF_THE_PROCESS = frozenset({NO_SERVER, "DOWSE_TOKEN"})
_FLAGS = frozenset({"--json", "-q", "--quiet", "-v", "--verbose"})
_COMMANDS = frozenset({"search", "query", "find", "answer", "explain", "related", "get"})
_LONGEST_PATH = 100  # bytes; systems take little more for the name of a socket
_CREDENTIALS = struct.Struct("3i")  # process, user, group: what Linux knows of the other side
_AGREE = 1.0  # seconds in which a server that lives says that it runs a line
_ANSWER = 10.0  # seconds in which it must have run it; here it would be done by then
_TOOL = 60.0  # the same for a tool: its process lives on, and has loaded nothing yet

Frames = list[tuple[int, bytes]]
"""What a line prints, in order: which stream (1 or 2), and the bytes."""


def ask_server(arguments: Sequence[str], out: Screen, aside: Screen) -> int | None:
    """The exit code of a line that a server has run; None: it must be run here."""
    if not is_for_server(arguments):
        return None
    line = {
        "arguments": list(arguments),
        "colours": {name: os.environ[name] for name in _COLOURS if name in os.environ},
        "out": _described(out),
        "aside": _described(aside),
    }
    code, frames = _asked(line, _ANSWER)
    screens = {1: out, 2: aside}
    for stream, data in frames:
        screens[stream].write_bytes(data)
    if code is not None:
        out.flush()
    return code


def ask_tool(name: str, arguments: Mapping[str, Any], pinned: str | None) -> Any:
    """What a tool gives that a server has called, as JSON; None: it must be called here."""
    tool = {"name": name, "arguments": dict(arguments), "pinned": pinned}
    code, frames = _asked({"tool": tool}, _TOOL)
    return json.loads(b"".join(data for _, data in frames)) if code == 0 else None


def server_answers() -> bool:
    """Whether a server is there that would call tools for this process."""
    return ask_tool("", {}, None) is not None


def _asked(what: dict[str, Any], seconds: float) -> tuple[int | None, Frames]:
    """The exit code and the output that a server has; no code where none answers."""
    if os.environ.get(NO_SERVER, "0") not in {"", "0"}:
        return None, []
    where = locations()
    path = socket_path(where)
    if path is None or not _is_own_socket(path):
        return None, []
    try:
        return _answer(path, _request(where) | what, seconds)
    except (OSError, ValueError, KeyError, TypeError, struct.error):
        return None, []


def is_for_server(arguments: Sequence[str]) -> bool:
    """Whether the line only asks, so that it may be run elsewhere."""
    left = list(arguments)
    while left and left[0] not in _COMMANDS:
        word = left.pop(0)
        if word in {"-p", "--project"} and left:
            left.pop(0)
        elif word not in _FLAGS and not word.startswith("--project="):
            return False
    before_dashes = left[: left.index("--")] if "--" in left else left
    return bool(left) and "--no-server" not in before_dashes


def environment_of_settings() -> dict[str, str]:
    """The variables that decide how a line is understood."""
    return {
        name: value
        for name, value in os.environ.items()
        if name == "HOME" or (name.startswith("DOWSE_") and name not in _OF_THE_PROCESS)
    }


def socket_path(where: Locations) -> Path | None:
    """Where a server listens for lines; None where there are no such names, or it is too long."""
    path = where.data / "serve.sock"
    usable = hasattr(socket, "AF_UNIX") and len(os.fsencode(path)) <= _LONGEST_PATH
    return path if usable else None


def _is_own_socket(path: Path) -> bool:
    """Whether there is a socket that this user has made, and nobody else."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISSOCK(status.st_mode) and status.st_uid == os.getuid()


def is_same_user(link: socket.socket) -> bool:
    """Whether this user's process is at the other end, as far as the system knows."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True  # the socket's permissions must do
    credentials = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    user: int = _CREDENTIALS.unpack(credentials)[1]
    return user == os.getuid()


def _request(where: Locations) -> dict[str, Any]:
    """What every request says: how the process understands lines and calls."""
    return {
        "version": __version__,
        "here": str(Path.cwd().resolve()),
        "locations": [str(where.config), str(where.data), str(where.cache)],
        "environment": environment_of_settings(),
    }


def _described(screen: Screen) -> dict[str, Any]:
    return {"is_terminal": screen.is_terminal, "width": screen.width, "encoding": screen.encoding}


def _answer(path: Path, request: dict[str, Any], seconds: float) -> tuple[int | None, Frames]:
    """The exit code, and the output in its order; raises when the answer is not whole."""
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(_AGREE)
        link.connect(str(path))
        if not is_same_user(link):
            return None, []
        link.sendall(json.dumps(request).encode() + b"\n")
        with link.makefile("rb") as reader:
            if reader.readline() != AGREED:
                return None, []
            link.settimeout(seconds)
            head = json.loads(reader.readline())
            code = head["code"]
            if code is None:
                return None, []
            frames = []
            for _ in range(head["frames"]):
                stream, length = FRAME.unpack(reader.read(FRAME.size))
                data = reader.read(length)
                if len(data) != length or stream not in {1, 2}:
                    raise ValueError("The answer is not whole.")
                frames.append((stream, data))
            return int(code), frames
