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
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote_from_bytes, unquote_to_bytes, urlencode

from msgspec import Struct

from dowse import __version__
from dowse._util.locations import Locations, locations

if TYPE_CHECKING:
    from dowse._interfaces.cli.call import Call
    from dowse._model import Passage, Response
    from dowse._project.engine import Engine
    from dowse._search.explain import Explanation
    from dowse._search.listing import Related
    from dowse._search.request import SearchRequest

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
    told = [__version__, *map(str, (where.config, where.data, where.cache)), variables]
    return hashlib.blake2b(json.dumps(told).encode(), digest_size=16).hexdigest()


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
    user: int = _CREDENTIALS.unpack(credentials)[1]
    return user == os.getuid()


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
        own = {"Host": "localhost", SETUP: setup_of_process(), FOLDER: folder}
        said = {**own, **headers, "Content-Length": str(len(body))}
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


# ── The engine of a server ───────────────────────────────────────────────────


class ServedProject(Struct):
    """A project of which a server told something: its name, and the files of its documents."""

    name: str
    files: dict[str, Path]

    @property
    def project(self) -> ServedProject:
        """The project itself, as an engine has it."""
        return self

    def path_of(self, document: str) -> Path:
        """Return the file of a document that the server has named."""
        return self.files[document]


class ServedEngine:
    """The engine of a running server, for what commands ask; one of this process where it fails.

    It has the methods of an engine, or of all projects, that these commands call. `asked` is what
    the user has typed, as the API takes it. `open_here` opens an engine of this process.
    """

    writes_answers = False  # a server refuses that: it takes long, and may cost money

    def __init__(
        self,
        server: RunningServer,
        project: str | None,
        asked: Mapping[str, Sequence[str]],
        open_here: Callable[[], Any],
    ) -> None:
        self._server = server
        self._asked = dict(asked) | ({"project": [project]} if project else {})
        self._open_here = open_here
        self._here: Engine | None = None  # the engine of this process, once it is needed
        self._projects: dict[str, ServedProject] = {}
        self._answered = ""  # the project that the last answer is about

    @property
    def project(self) -> Any:
        """The project that was asked."""
        return self._here.project if self._here else self._projects[self._answered]

    def of(self, project: str) -> Any:
        """Return what knows the files of a project; without a name, of the one that was asked."""
        return self._here.of(project) if self._here else self._projects[project or self._answered]

    def hold(self) -> AbstractContextManager[None]:
        """Do nothing: each answer of a server comes from one generation of its index."""
        return nullcontext()

    def path_of(self, document: str) -> Path:
        """Return the file of a document."""
        path: Path = self.of("").path_of(document)
        return path

    def search(self, request: SearchRequest) -> Response:
        """Search."""
        found = self._response("search")
        return self._engine.search(request) if found is None else found

    def answer(self, request: SearchRequest) -> Response:
        """Search, and answer."""
        found = self._response("answer")
        return self._engine.answer(request) if found is None else found

    def explain(self, request: SearchRequest, reference: str, *, here: Path) -> Explanation:
        """Say why a document is, or is not, among the results."""
        told = self._told("explain", {"reference": [reference]})
        if told is None:
            return self._engine.explain(request, reference, here=here)
        from dowse._search.explain import Explanation  # noqa: PLC0415  other commands need none

        return _convert(told | {"chunks": _traced(told["chunks"])}, Explanation)

    def related(self, reference: str, limit: int, *, here: Path) -> Related:
        """Return what belongs to a document."""
        told = self._told("related", {"reference": [reference], "n": [str(limit)]})
        if told is None:
            return self._engine.related(reference, limit, here=here)
        from dowse._search.listing import Related  # noqa: PLC0415  as above

        names = {"links_to": "linked", "linked_from": "linking"}
        for name in ("links_to", "linked_from", "community", "similar"):
            told[names.get(name, name)] = [one | {"id": one["document"]} for one in told[name]]
            for one in told[name]:
                self.of("").files[one["document"]] = Path(one["path"])
        return _convert(told, Related)

    def get(self, reference: str, *, here: Path) -> Passage:
        """Return a document, or a part of it."""
        told = self._told("document", {"reference": [reference]})
        if told is None:
            return self._engine.get(reference, here=here)
        from dowse._model import Passage  # noqa: PLC0415  as above

        return _convert(told, Passage)

    @property
    def _engine(self) -> Engine:
        if self._here is None:
            self._here = self._open_here()
        return self._here

    def _told(self, what: str, more: Mapping[str, Sequence[str]]) -> dict[str, Any] | None:
        """Return what the server answers; None: it does not, and will not be asked again."""
        if self._here is not None:
            return None
        import msgspec  # noqa: PLC0415  most processes find no server

        # What is shown is cut to a number of tokens here, where it is known how it is shown.
        asked = {name: value for name, value in self._asked.items() if name != "max_tokens"}
        try:
            body = self._server.get(f"/api/v1/{what}", asked | dict(more), _ANSWER)
            told: dict[str, Any] = msgspec.json.decode(body)
        except (NotAnswered, msgspec.DecodeError):
            return None
        self._answered = told["project"]
        self._note(told["project"], told)
        return told

    def _note(self, project: str, told: Mapping[str, Any]) -> None:
        known = self._projects.setdefault(project, ServedProject(project, {}))
        if "path" in told:
            known.files[told["document"]] = Path(told["path"])

    def _response(self, what: str) -> Response | None:
        told = self._told(what, {})
        if told is None:
            return None
        from dowse._model import Response  # noqa: PLC0415  as above

        for hit in told["hits"] + told["nearest"]:
            self._note(hit["project"], hit)
            hit["modified"] = datetime.fromisoformat(hit["modified"]).timestamp()
            if hit["project"] == told["project"]:  # a hit names it only where all are searched
                hit["project"] = ""
        told |= {name: _traced(told[name]) for name in ("hits", "nearest")}
        return _convert(told, Response)


@contextmanager
def ask(call: Call, open_here: Callable[[], AbstractContextManager[_T]]) -> Iterator[_T]:
    """Open what a command only asks: the engine of a running server, or one of this process.

    The second is opened only if no server answers.
    """
    server = None if call.alone else find_server()
    with ExitStack() as opened:
        if server is None:
            yield opened.enter_context(open_here())
        else:
            # It is no engine, but has all that is asked of one.
            served: Any = ServedEngine(
                server, call.project, call.asked, lambda: opened.enter_context(open_here())
            )
            yield served


def _traced(told: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one | {"trace": {name: one[name] for name in ("places", "steps")}} for one in told]


def _convert(told: dict[str, Any], kind: type[_T]) -> _T:
    import msgspec  # noqa: PLC0415  as above

    return msgspec.convert(told, kind)
