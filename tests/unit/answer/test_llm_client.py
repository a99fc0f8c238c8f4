"""A language model behind an endpoint, and every way in which it can fail to write."""

from __future__ import annotations

import email.utils
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from dowse._search.answer import AnswerOptions
from dowse._search.writer import EndpointWriter
from dowse.errors import EndpointFailed

_KEY = "sk-very-secret-0815"


@dataclass(frozen=True)
class _Reply:
    status: int = 200
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    hang_up: bool = False  # close the connection without a word


def _says(content: Any, **more: Any) -> _Reply:
    message = {"role": "assistant", "content": content, **more}
    return _Reply(body=json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}))


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies: list[_Reply] = []  # one per request; the last is repeated
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.keys: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        self.server.requests.append(
            json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        )
        self.server.paths.append(self.path)
        self.server.keys.append(self.headers.get("Authorization"))
        replies = self.server.replies
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        if reply.hang_up:
            return
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body.encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the base class's name)
        """Stays silent."""


@pytest.fixture
def server() -> Iterator[_Server]:
    running = _Server()
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield running
    finally:
        running.shutdown()
        thread.join()
        running.server_close()


@pytest.fixture
def waited() -> list[float]:
    """The pauses that were made, which take no time here."""
    return []


def _writer(url: str, waited: list[float], **options: Any) -> EndpointWriter:
    settings = AnswerOptions(endpoint_url=url, endpoint_model="maker/model-3", **options)
    return EndpointWriter(settings, waited.append)


def _failure(writer: EndpointWriter) -> EndpointFailed:
    with pytest.raises(EndpointFailed) as failure:
        writer.write("rules", "passages")
    return failure.value


# ── What is asked and read ───────────────────────────────────────────────────


def test_the_model_gets_its_instructions_and_the_material(
    server: _Server, waited: list[float]
) -> None:
    server.replies = [_says("It rains [1].")]
    writer = _writer(server.url + "/", waited)
    assert writer.write("rules", "passages \ud800") == "It rains [1]."
    assert writer.name == "maker/model-3"
    assert server.paths == ["/v1/chat/completions"]
    assert server.keys == [None]
    assert server.requests[0]["model"] == "maker/model-3"
    assert server.requests[0]["messages"] == [
        {"role": "system", "content": "rules"},
        {"role": "user", "content": "passages ?"},
    ]
    assert waited == []


@pytest.mark.parametrize(
    ("content", "written"),
    [
        ("  An answer.\n", "An answer."),
        ("<think>Let me see. [2]</think>\nAn answer.", "An answer."),
        ([{"type": "text", "text": "An "}, {"type": "text", "text": "answer."}], "An answer."),
    ],
)
def test_answers_come_in_several_shapes(
    server: _Server, waited: list[float], content: Any, written: str
) -> None:
    server.replies = [_says(content)]
    assert _writer(server.url, waited).write("rules", "passages") == written


def test_the_key_comes_from_the_environment(
    server: _Server, waited: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_WRITER_KEY", _KEY)
    server.replies = [_says("Yes.")]
    _writer(server.url, waited, api_key_env="TEST_WRITER_KEY").write("rules", "passages")
    assert server.keys == [f"Bearer {_KEY}"]


def test_a_model_that_wants_its_own_temperature_gets_it(
    server: _Server, waited: list[float]
) -> None:
    server.replies = [_Reply(400, '{"error": "temperature is not supported"}'), _says("Yes.")]
    assert _writer(server.url, waited).write("rules", "passages") == "Yes."
    assert "temperature" in server.requests[0]
    assert "temperature" not in server.requests[1]


# ── Trying again ─────────────────────────────────────────────────────────────


def test_a_busy_endpoint_is_asked_again_when_it_says(server: _Server, waited: list[float]) -> None:
    server.replies = [_Reply(429, headers={"Retry-After": "7"}), _says("Yes.")]
    assert _writer(server.url, waited).write("rules", "passages") == "Yes."
    assert waited == [7.0]


def test_a_date_to_wait_for_is_understood(server: _Server, waited: list[float]) -> None:
    date = email.utils.formatdate(time.time() + 10, usegmt=True)
    server.replies = [_Reply(503, headers={"Retry-After": date}), _says("Yes.")]
    assert _writer(server.url, waited).write("rules", "passages") == "Yes."
    assert 0 < waited[0] <= 10


@pytest.mark.parametrize("asked", ["", "soon", "nan", "-4", "1e400"])
def test_a_senseless_pause_becomes_a_short_one(
    server: _Server, waited: list[float], asked: str
) -> None:
    server.replies = [_Reply(429, headers={"Retry-After": asked}), _says("Yes.")]
    assert _writer(server.url, waited).write("rules", "passages") == "Yes."
    assert waited == [0.5]


def test_nobody_waits_for_an_hour(server: _Server, waited: list[float]) -> None:
    server.replies = [_Reply(429, headers={"Retry-After": "3600"})]
    assert "3600 seconds" in str(_failure(_writer(server.url, waited)))
    assert waited == []
    assert len(server.requests) == 1


def test_a_lost_connection_is_tried_once_more(server: _Server, waited: list[float]) -> None:
    server.replies = [_Reply(hang_up=True), _says("Yes.")]
    assert _writer(server.url, waited).write("rules", "passages") == "Yes."
    assert waited == [0.5]


def test_what_stays_broken_is_reported(server: _Server, waited: list[float]) -> None:
    server.replies = [_Reply(500, "out of memory")]
    error = _failure(_writer(server.url, waited))
    assert "answered 500: out of memory" in error.message
    assert "answer.endpoint_url" in error.hint
    assert len(server.requests) == 3


def test_nobody_there_is_reported(waited: list[float]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    error = _failure(_writer(f"http://127.0.0.1:{port}/v1", waited))
    assert "cannot be reached" in error.message
    assert waited == []  # the documents' own words answer at once


def test_an_endpoint_that_never_answers_is_given_up(waited: list[float]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        error = _failure(_writer(url, waited, timeout=0.1))
    assert "did not answer within 0.1 seconds" in error.message
    assert "answer.timeout" in error.hint
    assert waited == []


# ── Answers that are none ────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (_Reply(body="<html>no</html>"), "no text: <html>no</html>"),
        (_Reply(body=""), "no text: nothing"),
        (_Reply(body='{"choices": []}'), "no text"),
        (_Reply(body='{"choices": [{"message": null}]}'), "no text"),
        (_Reply(body='{"choices": "x"}'), "no text"),
        (_Reply(body="[]"), "no text"),
        (_Reply(body="[" * 100_000), "no text"),
        (_says([1]), "no text"),
        (_says(None), "wrote nothing (stop)"),
        (_says("  "), "wrote nothing (stop)"),
        (_says("<think>for ever"), "wrote nothing (stop)"),
        (_says(None, refusal="I cannot help with that."), "declined to answer: I cannot help"),
        (_Reply(404, "{}"), "no model 'maker/model-3' (404)"),
        (_Reply(302, headers={"Location": "http://127.0.0.1:9/"}), "answered 302"),
    ],
)
def test_an_answer_without_an_answer_is_reported(
    server: _Server, waited: list[float], reply: _Reply, told: str
) -> None:
    server.replies = [reply]
    error = _failure(_writer(server.url, waited))
    assert told in error.message
    assert error.hint


# ── Keys and passwords stay hidden ───────────────────────────────────────────


def test_a_missing_key_is_named_by_its_variable(
    server: _Server, waited: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TEST_WRITER_KEY", raising=False)
    error = _failure(_writer(server.url, waited, api_key_env="TEST_WRITER_KEY"))
    assert "TEST_WRITER_KEY is not set" in error.message
    assert server.requests == []


def test_a_refused_key_says_where_to_look(server: _Server, waited: list[float]) -> None:
    server.replies = [_Reply(401)]
    assert "answer.api_key_env" in _failure(_writer(server.url, waited)).hint


@pytest.mark.parametrize("status", [200, 400, 401, 500])
def test_an_error_never_shows_the_key(
    server: _Server, waited: list[float], monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("TEST_WRITER_KEY", _KEY)
    server.replies = [_Reply(status, "x" * 190 + f" bad key {_KEY}, {_KEY}")]
    error = _failure(_writer(server.url, waited, api_key_env="TEST_WRITER_KEY"))
    assert "sk-very" not in f"{error}{error.__cause__}"


def test_an_error_never_shows_a_password(waited: list[float]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    error = _failure(_writer(f"http://me:hush@127.0.0.1:{port}/v1", waited))
    assert "hush" not in str(error)


@pytest.mark.parametrize("key", ["schlüssel", "a\nb"])
def test_what_cannot_be_a_key_is_not_sent(
    server: _Server, waited: list[float], monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("TEST_WRITER_KEY", key)
    error = _failure(_writer(server.url, waited, api_key_env="TEST_WRITER_KEY"))
    assert "cannot be one" in error.message
    assert key not in error.message
    assert server.requests == []


@pytest.mark.parametrize("url", ["http://", "http://[x/v1", "http://exa mple/v1"])
def test_an_address_that_is_none_is_reported(waited: list[float], url: str) -> None:
    assert "The endpoint" in _failure(_writer(url, waited)).message
