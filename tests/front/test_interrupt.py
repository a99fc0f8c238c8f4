"""Ctrl-C at any time: what is done is kept, and the next run goes on from there."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from command_line import DOWSE, Dowse, with_ctrl_c

_ANSWERED = 3  # requests, before the endpoint falls silent


class _Endpoint(ThreadingHTTPServer):
    """An embedding endpoint that keeps its callers waiting, until it is told to go on."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[str] = []
        self.silent = threading.Event()
        self.released = threading.Event()


class _Handler(BaseHTTPRequestHandler):
    server: _Endpoint

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        if len(self.server.asked) >= _ANSWERED and not self.server.released.is_set():
            self.server.silent.set()
            self.server.released.wait()
        self.server.asked += texts
        vectors = [
            {"index": place, "embedding": [1.0, len(text), 0.5, 0.0]}
            for place, text in enumerate(texts)
        ]
        body = json.dumps({"data": vectors, "model": "test"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  so is its name
        """Says nothing."""


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Endpoint]:
    with _Endpoint() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name, value in {
            "PROVIDER": "endpoint",
            "ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}/v1",
            "ENDPOINT_MODEL": "test",
            "ENDPOINT_DIMENSIONS": "4",
            "ENDPOINT_BATCH_SIZE": "1",
            "ENDPOINT_PARALLEL": "1",
        }.items():
            monkeypatch.setenv(f"DOWSE_EMBED_{name}", value)
        monkeypatch.setenv("DOWSE_VOCABULARY_SIZE", "0")
        yield server
        server.released.set()
        server.shutdown()


def test_ctrl_c_keeps_what_is_done(vault: Path, endpoint: _Endpoint, dowse: Dowse) -> None:
    child = subprocess.Popen(
        with_ctrl_c(DOWSE, "index", vault), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert endpoint.silent.wait(timeout=60)
    time.sleep(0.5)  # on a busy machine the child may not have read the last answer yet
    child.send_signal(signal.SIGINT)
    endpoint.released.set()
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert out == b""
    told = err.decode().strip().split("\n")
    assert told[0] == "dowse: Stopped. Everything indexed so far is kept."
    assert "again to continue" in told[1]
    assert len(told) == 2

    done, so_far = set(endpoint.asked[:_ANSWERED]), len(endpoint.asked)
    assert dowse("index", vault).code == 0
    assert endpoint.asked[so_far:]
    assert not done & set(endpoint.asked[so_far:])
    counts = dowse("status", "--json").json["counts"]
    assert counts["embedded"] == counts["chunks"]


def test_ctrl_c_is_reported_as_json_too(vault: Path, endpoint: _Endpoint) -> None:
    child = subprocess.Popen(
        with_ctrl_c(DOWSE, "index", vault, "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert endpoint.silent.wait(timeout=60)
    child.send_signal(signal.SIGINT)
    endpoint.released.set()
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 130
    assert json.loads(out)["error"].startswith("Stopped.")


def test_where_ctrl_c_is_ignored_indexing_goes_on(vault: Path, endpoint: _Endpoint) -> None:
    """So the shell has it for what runs in the background: Ctrl-C is meant for another program."""
    child = subprocess.Popen(
        with_ctrl_c(DOWSE, "index", vault, "--json", ignored=True), stdout=subprocess.PIPE
    )
    assert endpoint.silent.wait(timeout=60)
    child.send_signal(signal.SIGINT)
    endpoint.released.set()
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    assert json.loads(out)["added"] == 5
