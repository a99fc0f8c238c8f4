"""A running `dowse serve`, as other processes of the same user ask it: its HTTP API on a socket.

Commands look for a server before they open an index, so this module imports as little as it can:
`http.client` alone takes longer to load than a server takes to answer. Whenever anything is not as
it should be, a process does its work itself, as if there were no server.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import stat
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote_from_bytes, unquote_to_bytes, urlencode

import msgspec

from dowse import __version__
from dowse._util.files import Locations, locations

if TYPE_CHECKING:
    from dowse._interfaces.cli.call import Call

_T = TypeVar("_T")
NO_SERVER = "DOWSE_NO_SERVER"
"""The variable that keeps every process from asking a server."""

SETUP, FOLDER, PROJECT = "dowse-setup", "dowse-folder", "dowse-project"
"""Headers of a request: how its process is set up, where it runs, the only project that it sees."""

_OF_THE_PROCESS = frozenset({NO_SERVER, "DOWSE_TOKEN"})
_LONGEST_PATH = 100  # bytes; systems take little more for the name of a socket
_CREDENTIALS = struct.Struct("3i")  # process, user, group: what Linux knows of the other side
_ALIVE = 1.0  # seconds in which a server that is not stuck says that it is there
_ANSWER = 10.0  # seconds in which it must have answered; a process is done by itself by then
_TOOL = 180.0  # the same for a tool of MCP, which may wait for the first index
_MCP_VERSION = "2026-07-28"  # the revision in which a call needs no session


# ── What both sides must agree on ────────────────────────────────────────────


def setup_of_process() -> str:
    """Sum up what decides how this process understands a request: version, folders, environment."""
    where = locations()
    variables = sorted(
        (name, value)
        for name, value in os.environ.items()
        if name == "HOME" or (name.startswith("DOWSE_") and name not in _OF_THE_PROCESS)
    )
    setup = [__version__, *map(str, (where.config, where.data, where.cache)), variables]
    return hashlib.blake2b(json.dumps(setup).encode(), digest_size=16).hexdigest()


def socket_path(where: Locations) -> Path | None:
    """Return where a server listens; None where no socket has a name, or the name is too long."""
    path = where.data / "serve.sock"
    usable = hasattr(socket, "AF_UNIX") and len(os.fsencode(path)) <= _LONGEST_PATH
    return path if usable else None


def is_same_user(link: socket.socket) -> bool:
    """Check that this user's process is at the other end, as far as the system knows."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True  # the socket's permissions must do
    credentials = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return bool(_CREDENTIALS.unpack(credentials)[1] == os.getuid())


def is_own(scope: Mapping[str, Any]) -> bool:
    """Check that a request came over the socket of this user: it is bound to a path, not a port."""
    server = scope.get("server")
    return server is not None and server[1] is None


def folder_of(headers: Mapping[str, str]) -> Path:
    """Return the folder that a request was sent from."""
    return Path(os.fsdecode(unquote_to_bytes(headers[FOLDER])))


# ── The client ───────────────────────────────────────────────────────────────


class NotAnswered(Exception):
    """The server has not answered, or refuses: the process does its work itself."""


class RunningServer:
    """Asks a server that listens on the socket of this user."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, address: str, parameters: Mapping[str, Sequence[str]], seconds: float) -> bytes:
        """Return the body of an answer; raise `NotAnswered`."""
        try:
            said = urlencode(parameters, doseq=True)
        except UnicodeEncodeError as error:  # bytes of the shell that are no text
            raise NotAnswered from error
        with self._asked(f"GET {address}?{said}", {}, b"", seconds) as (head, reader):
            body = reader.read()
            if len(body) != int(head["content-length"]):
                raise NotAnswered
            return body

    def call_tool(
        self, params: Mapping[str, Any], pinned: str | None, report: Callable[[Any], object]
    ) -> Any:
        """Return what a tool of MCP gives, as the protocol writes it; raise `NotAnswered`.

        `report` gets the parameters of each notification of progress.
        """
        meta = {
            "io.modelcontextprotocol/protocolVersion": _MCP_VERSION,
            "io.modelcontextprotocol/clientInfo": {"name": "dowse", "version": __version__},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {**params, "_meta": {**params.get("_meta", {}), **meta}}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "MCP-Protocol-Version": _MCP_VERSION,
            "Mcp-Method": call["method"],
            "Mcp-Name": params["name"],
            **({PROJECT: pinned} if pinned else {}),
        }
        body = json.dumps(call).encode()
        with self._asked("POST /mcp", headers, body, _TOOL) as (head, reader):
            for message in _messages(head, reader):
                if "result" in message:
                    return message["result"]
                if message.get("method") == "notifications/progress":
                    report(message["params"])
        raise NotAnswered

    @contextmanager
    def _asked(
        self, line: str, headers: Mapping[str, str], body: bytes, seconds: float
    ) -> Iterator[tuple[dict[str, str], IO[bytes]]]:
        """Send a request of HTTP/1.0; give the headers of the answer, and what reads its body."""
        folder = quote_from_bytes(os.fsencode(Path.cwd().resolve()))
        said = {
            "Host": "localhost",
            SETUP: setup_of_process(),
            FOLDER: folder,
            **headers,
            "Content-Length": str(len(body)),
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in said.items())
        try:
            with socket.socket(socket.AF_UNIX) as link:
                link.settimeout(seconds)
                link.connect(str(self._path))
                if not is_same_user(link):
                    raise NotAnswered
                link.sendall(f"{line} HTTP/1.0\r\n{head}\r\n".encode("ascii") + body)
                with link.makefile("rb") as reader:
                    if reader.readline().split()[1:2] != [b"200"]:
                        raise NotAnswered
                    yield dict(_headers(reader)), reader
        except (OSError, ValueError, KeyError) as error:
            raise NotAnswered from error


def _headers(reader: IO[bytes]) -> Iterator[tuple[str, str]]:
    while line := reader.readline().strip():
        name, _, value = line.decode("latin-1").partition(":")
        yield name.lower(), value.strip()


def _messages(head: Mapping[str, str], reader: IO[bytes]) -> Iterator[Any]:
    """Read the messages of an answer: one as JSON, or several as events."""
    if head.get("content-type", "").startswith("application/json"):
        yield json.loads(reader.read())
        return
    for line in reader:
        if line.startswith(b"data:"):
            yield json.loads(line[len(b"data:") :])


def find_server() -> RunningServer | None:
    """Return the server that answers this process and understands it; None: there is none."""
    if os.environ.get(NO_SERVER, "0") not in {"", "0"}:
        return None
    path = socket_path(locations())
    if path is None or not _is_own_socket(path):
        return None
    server = RunningServer(path)
    with suppress(NotAnswered):
        server.get("/health", {}, _ALIVE)
        return server
    return None


def _is_own_socket(path: Path) -> bool:
    """Check that there is a socket that this user has made, and nobody else."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISSOCK(status.st_mode) and status.st_uid == os.getuid()


def ask(call: Call, what: str, kind: type[_T], **more: str) -> _T | None:
    """Return what a running server answers to what the user has typed, and `more`; None: nothing.

    What is shown is cut to a number of tokens later, where it is known how it is shown.
    """
    server = None if call.alone else find_server()
    asked = {name: value for name, value in call.asked.items() if name != "max_tokens"}
    asked |= {name: [value] for name, value in ({"project": call.project} | more).items() if value}
    with suppress(NotAnswered, msgspec.DecodeError):
        if server is not None:
            return msgspec.json.decode(server.get(f"/api/v1/{what}", asked, _ANSWER), type=kind)
    return None
