"""Good and broken clients at once: the broken ones take nothing from the good ones."""

from __future__ import annotations

import http.client
import json
import random
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from served import Served, serving, status_of

_GOOD = 48
_PATHS = (
    "/api/v1/search?q=gateway+station",
    "/api/v1/search?q=battery&tag=radio",
    "/api/v1/document?reference=note-1.md&format=html",
    "/api/v1/related?reference=note-2.md",
    "/health",
    "/ready",
)


def _good(server: Served, count: int, failures: list[str]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    try:
        for number in range(count):
            connection.request("GET", _PATHS[number % len(_PATHS)])
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200 or not json.loads(body):
                failures.append(f"{answer.status} {body[:200]!r}")
    except (OSError, ValueError, http.client.HTTPException) as error:
        failures.append(repr(error))
    finally:
        connection.close()


# ── Broken ones; each does its worst once ────────────────────────────────────


def _slow(connection: socket.socket, rng: random.Random) -> None:
    for byte in b"GET /api/v1/search?q=a HTTP/1.1\r\nHo"[: rng.randint(5, 35)]:
        connection.sendall(bytes([byte]))
        time.sleep(0.02)


def _half_open(connection: socket.socket, rng: random.Random) -> None:
    head = b"POST /api/v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 500\r\n\r\n{"
    connection.sendall(head)
    time.sleep(rng.random())


def _aborting(connection: socket.socket, _: random.Random) -> None:
    connection.sendall(b"GET /api/v1/graph HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    # A reset instead of a polite end.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")


def _garbage(connection: socket.socket, rng: random.Random) -> None:
    connection.sendall(rng.randbytes(rng.randint(1, 5_000)))
    connection.settimeout(1)  # it may look like the start of something, and get no answer
    connection.recv(4096)


_BROKEN: tuple[Callable[[socket.socket, random.Random], None], ...] = (
    _slow,
    _half_open,
    _aborting,
    _garbage,
)


def _broken(server: Served, number: int, stop: threading.Event, tried: list[int]) -> None:
    rng = random.Random(number)
    behave = _BROKEN[number % len(_BROKEN)]
    for _ in range(2_000):
        if stop.is_set():
            return
        with (
            suppress(OSError),
            socket.create_connection(("127.0.0.1", server.port), 10) as connection,
        ):
            connection.settimeout(10)
            behave(connection, rng)
        tried[number] += 1
        time.sleep(0.05)  # broken, but no flood: that is for a proxy to stop


@pytest.mark.takes(50)
def test_broken_clients_take_nothing_from_good_ones(
    tmp_path: Path, rounds: Callable[[int, int], int], tally: Callable[[str, object], None]
) -> None:
    each = rounds(3, 50)
    with serving(tmp_path) as server:
        _load(server, 2)
        before = server.megabytes()
        failures, tried = _load(server, each)
        after = server.megabytes()
        assert failures == []
        assert min(tried) > 0
        assert status_of(server.get("/api/v1/search?q=gateway")) == 200
        assert b"Traceback" not in server.log.read_bytes()
    tally("requests of 48 good clients", each * _GOOD)
    tally("connections of 16 broken clients", sum(tried))
    tally("server memory before and after, MB", f"{before:.0f} and {after:.0f}")
    assert after < 1.5 * before + 20


def _load(server: Served, each: int) -> tuple[list[str], list[int]]:
    failures: list[str] = []
    tried, stop = [0] * 16, threading.Event()
    good = [threading.Thread(target=_good, args=(server, each, failures)) for _ in range(_GOOD)]
    broken = [
        threading.Thread(target=_broken, args=(server, number, stop, tried)) for number in range(16)
    ]
    for one in (*broken, *good):
        one.start()
    for one in good:
        one.join()
    stop.set()
    for one in broken:
        one.join()
    return failures, tried
