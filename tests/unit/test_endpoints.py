"""Endpoints that never end: every answer has a deadline as a whole, and a size."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import takewhile

import httpx2
import pytest

from dowse._util.endpoints import Endpoint, EndpointClient, Web, requested_pause
from dowse.errors import EndpointFailed

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_DRIPS = 60  # bytes, 50 ms apart: without a deadline the answer would be complete after 3 s

Behaviour = Callable[[socket.socket], None]


def _read_request(connection: socket.socket) -> None:
    """Reads all of a request: a connection that is closed with something unread is reset."""
    with connection.makefile("rb") as sent:
        head = list(takewhile(lambda line: line != b"\r\n", sent))
        lengths = [line for line in head if line.lower().startswith(b"content-length:")]
        sent.read(int(lengths[0].partition(b":")[2]))


@contextmanager
def _server(behave: Behaviour) -> Iterator[str]:
    """A server that treats every connection as told, once it has read what was sent."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                threading.Thread(target=handle, args=(connection,), daemon=True).start()

        def handle(connection: socket.socket) -> None:
            with connection:
                try:
                    _read_request(connection)
                    behave(connection)
                except OSError:
                    return  # the client has gone

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


def _drip_body(connection: socket.socket) -> None:
    connection.sendall(_HEAD + b"Content-Length: %d\r\n\r\n" % _DRIPS)
    _drip(connection, b'"' + b"x" * (_DRIPS - 2) + b'"')


def _drip_head(connection: socket.socket) -> None:
    _drip(connection, _HEAD[:_DRIPS])
    connection.sendall(_HEAD[_DRIPS:] + b'Content-Length: 2\r\n\r\n""')


def _drip(connection: socket.socket, content: bytes) -> None:
    for byte in content:
        connection.sendall(bytes([byte]))
        time.sleep(0.05)


def _endless(connection: socket.socket) -> None:
    connection.sendall(_HEAD + b"Connection: close\r\n\r\n")
    for _ in range(10_000):  # 640 MB, if it is let
        connection.sendall(b" " * 65_536)


def _packed(connection: socket.socket) -> None:
    content = gzip.compress(b" " * (50 << 20))
    head = b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(content)
    connection.sendall(_HEAD + head + content)


def _politely_packed(connection: socket.socket) -> None:
    content = gzip.compress(b'{"a": 1}')
    head = b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(content)
    connection.sendall(_HEAD + head + content)


def _client(url: str, **more: float) -> EndpointClient:
    endpoint = Endpoint(f"{url}/v1", "/embeddings", "m", "embed", timeout=more.get("timeout", 0.4))
    return EndpointClient(endpoint, wait=lambda _: None)


@pytest.mark.parametrize("behave", [_drip_body, _drip_head])
def test_one_byte_after_the_other_does_not_prolong_a_deadline(behave: Behaviour) -> None:
    with (
        _server(behave) as url,
        pytest.raises(EndpointFailed, match=r"did not answer within 0\.4 seconds"),
    ):
        _client(url).reply({}, most=1 << 20, waiting=True)


@pytest.mark.parametrize("behave", [_endless, _packed])
def test_an_answer_without_end_is_given_up_at_its_size(behave: Behaviour) -> None:
    with _server(behave) as url, pytest.raises(EndpointFailed, match="larger than 1,048,576 bytes"):
        _client(url, timeout=30.0).reply({}, most=1 << 20, waiting=False)


def test_a_compressed_answer_is_read() -> None:
    with _server(_politely_packed) as url:
        reply = _client(url, timeout=30.0).reply({}, most=1 << 20, waiting=True)
    assert reply.json() == {"a": 1}


def test_deep_json_is_no_bug() -> None:
    def deep(connection: socket.socket) -> None:
        content = b"[" * 200_000
        connection.sendall(_HEAD + b"Content-Length: %d\r\n\r\n" % len(content) + content)

    with _server(deep) as url:
        reply = Web().post(url, {}, {}, seconds=30.0, most=1 << 20)
    with pytest.raises(ValueError, match="nested too deeply"):
        reply.json()


def test_connections_are_kept_between_exchanges() -> None:
    seen: list[int] = []

    def twice(connection: socket.socket) -> None:
        seen.append(connection.fileno())
        connection.sendall(_HEAD + b"Content-Length: 2\r\n\r\n{}")
        connection.recv(65_536)
        connection.sendall(_HEAD + b"Content-Length: 2\r\n\r\n{}")

    with _server(twice) as url:
        web = Web()
        for _ in range(2):
            assert web.post(url, {}, {}, seconds=30.0, most=1 << 20).json() == {}
    assert len(seen) == 1


def test_an_exchange_can_be_made_where_a_loop_is_running() -> None:
    import asyncio  # noqa: PLC0415

    async def ask() -> int:
        with _server(_politely_packed) as url:
            return Web().post(url, {}, {}, seconds=30.0, most=1 << 20).status

    assert asyncio.run(ask()) == 200


def test_nobody_listening_is_an_error_of_the_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(httpx2.ConnectError):
        Web().post(f"http://127.0.0.1:{port}", {}, {}, seconds=30.0, most=1 << 20)


@pytest.mark.parametrize("proxy", ["http://a:b:c", "ftp://there"])
def test_a_proxy_of_no_use_is_an_error_of_the_endpoint(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    client = EndpointClient(Endpoint("http://localhost:9", "/x", "model", "embed"))
    with pytest.raises(EndpointFailed, match="proxy") as failure:
        client.reply({}, most=100, waiting=True)
    assert "HTTP_PROXY" in failure.value.hint


@pytest.mark.parametrize(
    ("wanted", "seconds"),
    [("7", 7.0), ("1e400", None), ("-1", None), ("nan", None), ("9" * 5000, None), ("soon", None)],
)
def test_a_requested_pause_is_a_finite_number_of_seconds(
    wanted: str, seconds: float | None
) -> None:
    assert requested_pause(wanted) == seconds


@pytest.mark.parametrize(
    "date", ["Fri, 31 Dec 99999 23:59:59 GMT", "Sat, 01 Jan 0001 00:00:00 +2359"]
)
def test_an_impossible_date_is_no_pause(date: str) -> None:
    assert requested_pause(date) is None
