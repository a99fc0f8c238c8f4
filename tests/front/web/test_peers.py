"""A server without a token is for its owner, not for the other users of the machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing

import pytest

from dowse._interfaces.http.security import is_another_user
from front.web.test_serve import _serving

_NOBODY = 65534
_ASK = """
import os, socket, sys
place, path, *user = sys.argv[1:]
if user:  # with everything loaded: another user may not read the library of this one
    os.setuid(int(user[0]))
connection = socket.socket()
host, port = place.split(":")
connection.connect((host, int(port)))
lines = [f"GET {path} HTTP/1.1", f"Host: {place}", "Connection: close", "", ""]
connection.sendall("\\r\\n".join(lines).encode())
while piece := connection.recv(65536):
    os.write(1, piece)
"""


def _ask(address: str, path: str, *user: int) -> str:
    """What the server answers, the status first, to the user of this process or another one."""
    place = address.removeprefix("http://").rstrip("/")
    return subprocess.run(
        [sys.executable, "-c", _ASK, place, path, *map(str, user)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout


@pytest.fixture(params=["127.0.0.1", "::1"])
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[socket.socket, socket.socket]]:
    family = socket.AF_INET6 if ":" in request.param else socket.AF_INET
    with (
        closing(socket.create_server((request.param, 0), family=family)) as listening,
        closing(socket.create_connection(listening.getsockname()[:2])) as client,
    ):
        yield client, listening


def _ends(pair: tuple[socket.socket, socket.socket]) -> tuple[tuple[str, int], tuple[str, int]]:
    client, server = pair
    return client.getsockname()[:2], server.getsockname()[:2]


def test_the_own_user_is_distinguished_from_others(
    pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_another_user(*_ends(pair))
    monkeypatch.setattr("dowse._interfaces.http.security._ROOT", -1)  # the tests may run as root
    monkeypatch.setattr(os, "getuid", lambda: _NOBODY)
    assert is_another_user(*_ends(pair))


def test_what_the_system_does_not_say_is_let_in() -> None:
    assert not is_another_user(("testclient", 50000), ("testserver", 80))
    assert not is_another_user(None, None)
    assert not is_another_user(("127.0.0.1", 1), ("127.0.0.1", 2))


@pytest.mark.usefixtures("indexed")
@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_is_refused_without_a_token() -> None:
    with _serving("-p", "vault", "--no-watch") as (_, told):
        search = "/api/v1/search?q=restore"
        assert " 200 " in _ask(told["address"], search)
        refused = _ask(told["address"], search, _NOBODY)
        assert " 403 " in refused
        assert "another user" in refused
        assert " 200 " in _ask(told["address"], "/health", _NOBODY)


def test_a_system_that_cannot_say_it_lets_everybody_in(
    pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(socket, "AF_NETLINK")
    assert not is_another_user(*_ends(pair))
