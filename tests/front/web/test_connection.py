"""What arrives on the wire: slow, broken, too much, or from clients that take nothing."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from dowse._interfaces.http.security import Access, Limits
from dowse._interfaces.http.server import Connection, Server, application, bind
from dowse._interfaces.mcp.server import mcp_sessions
from dowse._project.pool import EnginePool
from dowse._project.workspace import Workspace

_PATIENCE = 30.0
_BRIEF = 0.15  # seconds that clients are given here
_HEALTH = "/api/v1/healthz"
_UPLOAD = b"POST /api/v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999\r\n\r\n"
Say = Callable[..., bytes]


@pytest.fixture
def service(home: Path) -> EnginePool:
    """Warm engines of a user who has no project."""
    return EnginePool(Workspace(), home)


@pytest.fixture
def server(service: EnginePool, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Server, int]]:
    """A server of little patience, and its port."""
    monkeypatch.setattr(Connection, "head_seconds", _BRIEF)
    monkeypatch.setattr(Connection, "taking_seconds", _BRIEF)
    access = Access(limits=Limits(upload_seconds=_BRIEF))
    server = Server(application(service, access, watch=False, mcp=mcp_sessions(service)))
    with bind("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        yield server, listening.getsockname()[1]
        server.should_exit = True
        thread.join(_PATIENCE)
        assert not thread.is_alive()


def _connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE)


def _all(link: socket.socket) -> bytes:
    """Everything that is said until the server closes."""
    said = b""
    while piece := link.recv(1 << 16):
        said += piece
    return said


@pytest.fixture
def say(server: tuple[Server, int]) -> Say:
    """Sends a request as it is written, and gives the answer."""
    port = server[1]

    def say(line: str, *headers: str, host: str | None = f"127.0.0.1:{port}") -> bytes:
        named = [f"Host: {host}"] if host is not None else []
        head = [line, *named, "Connection: close", *headers, "", ""]
        with _connect(port) as link:
            link.sendall("\r\n".join(head).encode("latin-1"))
            return _all(link)

    return say


def _status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def test_a_body_that_does_not_arrive_is_not_waited_for(server: tuple[Server, int]) -> None:
    for address in ("/api/v1/search", "/mcp"):
        with _connect(server[1]) as link:
            head = f"POST {address} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
            head += "Accept: application/json, text/event-stream\r\n"
            link.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n{")
            answer = link.recv(1 << 16)
            assert _status(answer) == 408, address


def test_a_body_in_drops_is_not_waited_for_either(server: tuple[Server, int]) -> None:
    with _connect(server[1]) as link:
        link.sendall(_UPLOAD)
        link.settimeout(_BRIEF / 5)
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            link.sendall(b"a")
            try:
                answer = link.recv(1 << 16)
            except TimeoutError:
                continue
            assert _status(answer) == 408
            return
        pytest.fail("it was waited for")


@pytest.mark.parametrize("said", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "])
def test_a_head_that_does_not_arrive_is_not_waited_for(
    server: tuple[Server, int], said: bytes
) -> None:
    with _connect(server[1]) as link:
        link.sendall(said)
        assert _all(link) == b""


def test_a_connection_is_kept_for_the_next_request(server: tuple[Server, int]) -> None:
    request = f"HEAD {_HEALTH} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with _connect(server[1]) as link:
        for _ in range(3):
            link.sendall(request)
            assert _status(link.recv(1 << 16)) == 200
        link.sendall(request[:20])  # a head that never ends
        assert _all(link) == b""


def test_a_client_that_takes_nothing_is_left(server: tuple[Server, int]) -> None:
    with socket.socket() as link:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        link.connect(("127.0.0.1", server[1]))
        request = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
        link.sendall(request * 400)
        end = time.monotonic() + _PATIENCE
        while not server[0].server_state.connections:
            assert time.monotonic() < end
        while server[0].server_state.connections:
            assert time.monotonic() < end
            time.sleep(0.01)


def test_many_who_say_nothing_do_not_keep_others_out(server: tuple[Server, int]) -> None:
    with ExitStack() as open_links:
        for _ in range(250):
            open_links.enter_context(_connect(server[1]))
        end = time.monotonic() + _PATIENCE
        while True:
            with _connect(server[1]) as link:
                link.sendall(f"GET {_HEALTH} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                status = _status(link.recv(1 << 16))
            if status == 200:
                return
            assert status == 503
            assert time.monotonic() < end


def test_headers_have_a_size_and_a_number(say: Say) -> None:
    assert _status(say(f"GET {_HEALTH} HTTP/1.1", *(f"X{n}: a" for n in range(50)))) == 200
    assert _status(say(f"GET {_HEALTH} HTTP/1.1", *(f"X{n}: a" for n in range(150)))) == 431
    assert _status(say(f"GET {_HEALTH} HTTP/1.1", f"X: {'a' * 30_000}")) == 200
    assert _status(say(f"GET {_HEALTH} HTTP/1.1", f"X: {'a' * 40_000}")) == 431
    assert _status(say(f"GET {_HEALTH}?{'a' * 20_000} HTTP/1.1")) == 414


def test_head_is_answered_without_a_body(say: Say) -> None:
    for address, status in ((_HEALTH, 200), ("/", 200), ("/api/v1/search", 400), ("/no", 404)):
        answer = say(f"HEAD {address} HTTP/1.1")
        assert _status(answer) == status
        assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "DELETE", "TRACE", "PATCH"])
def test_other_methods_are_named(say: Say, method: str) -> None:
    answer = say(f"{method} /api/v1/search HTTP/1.1")
    assert _status(answer) == 405
    assert b"allow: " in answer.lower()
    assert b"access-control" not in answer.lower()


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/%zz", 404),
        ("/%ff", 404),
        ("/%00", 404),
        ("/main.js%00.css", 404),
        ("/%2e%2e/server.py", 404),
        ("/..%5cserver.py", 404),
        ("/../server.py", 404),
        ("//example.org/", 404),
        ("/api/v1/healthz/", 404),
        ("/api/v0", 404),
        ("/api/v1/search?q=%zz", 404),  # there is no project
        ("/api/v1/search?q=%ff", 404),
        ("/api/v1/search?q=%ed%a0%80", 404),
        ("/api/v1/search?q=a%00b", 400),
        ("/\xfc", 400),
        ("*", 404),
    ],
)
def test_broken_addresses_are_no_bugs(say: Say, target: str, status: int) -> None:
    assert _status(say(f"GET {target} HTTP/1.1")) == status


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("LocalHost:1", 200),
        ("127.0.0.1:", 200),
        ("[::1]:7333", 200),
        ("localhost.", 421),
        ("127.0.0.1.", 421),
        ("127.1", 421),
        ("2130706433", 421),
        ("::1", 421),
        ("[::1%25lo]", 421),
        ("[::ffff:127.0.0.1]", 421),
        ("@127.0.0.1", 421),
        ("127.0.0.1?x", 421),
        ("127.0.0.1#x", 421),
        ("127.0.0.1:123456", 421),
        ("127.0.0.1, example.org", 421),
        (None, 400),
    ],
)
def test_the_name_is_read_strictly(say: Say, host: str | None, status: int) -> None:
    assert _status(say(f"GET {_HEALTH} HTTP/1.1", host=host)) == status


@pytest.mark.parametrize("origin", ["null", "", "file://", "http://localhost:1"])
def test_other_origins_are_refused(say: Say, origin: str) -> None:
    assert _status(say(f"GET {_HEALTH} HTTP/1.1", f"Origin: {origin}")) == 403


def test_nonsense_is_refused_in_silence(
    server: tuple[Server, int], say: Say, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    for said in (b"\x16\x03\x01\x02\r\n\r\n", b"GET /\r\n\r\n", b"GET / HTTP/1.1\r\nX\r\n\r\n"):
        with _connect(server[1]) as link:
            link.sendall(said)
            assert _status(_all(link)) == 400
    socket_asked = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
    assert _status(say(f"GET {_HEALTH} HTTP/1.1", *socket_asked)) == 200
    with _connect(server[1]) as link:  # goes away before it has said all
        link.sendall(_UPLOAD)
    assert _status(say(f"GET {_HEALTH} HTTP/1.1")) == 200
    assert caplog.records == []


def test_an_answer_does_not_wait_until_its_beginning_is_confirmed(
    server: tuple[Server, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    received = Connection.data_received

    def look(self: Connection, data: bytes) -> None:
        link = self.transport.get_extra_info("socket")
        seen.append(link.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        received(self, data)

    monkeypatch.setattr(Connection, "data_received", look)
    with _connect(server[1]) as link:
        link.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert _status(_all(link)) == 200
    assert seen
    assert all(seen)
