"""A server on this machine that speaks the `/embeddings` protocol, and misbehaves when told to."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

DIMENSIONS = 24


@dataclass(frozen=True)
class Answer:
    """What the server says instead of vectors."""

    status: int = 200
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    hang_up: bool = False  # close the connection without a word


class EmbeddingServer(ThreadingHTTPServer):
    """Answers as an endpoint does; `answers` come first, one per request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: list[Answer] = []
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.dimensions = DIMENSIONS
        self.reverse = False  # hand the vectors over in the wrong order
        self.turn = threading.Lock()

    @property
    def url(self) -> str:
        """The address to put into the settings."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def vector(self, text: str) -> list[float]:
        """A vector, not of unit length, that depends on the text alone."""
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        return [float(x) for x in np.random.default_rng(seed).normal(0, 3, self.dimensions)]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stays silent: clients that go away are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    server: EmbeddingServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # header and body would wait for each other

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.turn:
            self.server.requests.append(request)
            self.server.keys.append(self.headers.get("Authorization"))
            answer = self.server.answers.pop(0) if self.server.answers else None
        if answer is None:
            answer = Answer(body=json.dumps(self._embeddings(request["input"])))
        if answer.hang_up:
            self.close_connection = True
            return
        content = answer.body.encode()
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _embeddings(self, texts: list[str]) -> dict[str, Any]:
        data = [
            {"object": "embedding", "index": place, "embedding": self.server.vector(text)}
            for place, text in enumerate(texts)
        ]
        return {"object": "list", "data": data[::-1] if self.server.reverse else data}

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the base class's name)
        """Stays silent."""


@contextmanager
def embedding_server() -> Iterator[EmbeddingServer]:
    """A running server."""
    server = EmbeddingServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
