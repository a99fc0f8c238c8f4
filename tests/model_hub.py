"""A server on this machine that answers as the model hub does."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class ModelHub(ThreadingHTTPServer):
    """Serves folders as models; `failures` maps model names to a status and an error code."""

    daemon_threads = True

    def __init__(self, models: dict[str, Path]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.models = models
        self.failures: dict[str, tuple[int, str]] = {}
        self.asked: list[str] = []  # paths, with what else is not a file
        self.downloaded: list[str] = []
        self.announced: int | None = None  # what the list says of every size, whatever is sent
        self.cut_short: str | None = None  # a file of which only the first half is sent

    @property
    def url(self) -> str:
        """What HF_ENDPOINT must say."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stays silent: clients that go away are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    server: ModelHub
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        path = unquote(urlsplit(self.path).path).strip("/")
        self.server.asked.append(path)
        is_list = path.startswith("api/models/")
        path = path.removeprefix("api/models/")
        owner, model, *rest = path.split("/")
        name = f"{owner}/{model}"
        if name in self.server.failures or name not in self.server.models:
            status, code = self.server.failures.get(name, (404, "RepoNotFound"))
            self._send(status, b"", {"X-Error-Code": code}, with_body=with_body)
        elif is_list:
            self._send(200, self._listing(name), {}, with_body=with_body)
        else:
            self._file(name, "/".join(rest[2:]), with_body=with_body)

    def _listing(self, name: str) -> bytes:
        folder = self.server.models[name]
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        said = self.server.announced
        siblings = [
            {
                "rfilename": path.relative_to(folder).as_posix(),
                "size": path.stat().st_size if said is None else said,
            }
            for path in paths
        ]
        return json.dumps({"id": name, "sha": COMMIT, "siblings": siblings}).encode()

    def _file(self, name: str, relative: str, *, with_body: bool) -> None:
        path = self.server.models[name] / relative
        if not path.is_file():
            self._send(404, b"", {"X-Error-Code": "EntryNotFound"}, with_body=with_body)
            return
        content = path.read_bytes()
        if with_body:
            self.server.downloaded.append(relative)
        headers = {
            "ETag": f'"{hashlib.sha256(content).hexdigest()}"',
            "X-Repo-Commit": COMMIT,
            "Accept-Ranges": "bytes",
        }
        self._send(200, content, headers, with_body=with_body)

    def _send(
        self, status: int, content: bytes, headers: dict[str, str], *, with_body: bool
    ) -> None:
        self.send_response(status)
        for header, value in headers.items():
            self.send_header(header, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if not with_body:
            return
        if self.server.cut_short is not None and self.path.endswith(self.server.cut_short):
            content = content[: len(content) // 2]
            self.close_connection = True
        self.wfile.write(content)


@contextmanager
def model_hub(models: dict[str, Path]) -> Iterator[ModelHub]:
    """A running hub."""
    server = ModelHub(models)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
