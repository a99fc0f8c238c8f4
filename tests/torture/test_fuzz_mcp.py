"""Frames of MCP that are nearly right, over stdio and over HTTP: the server goes on answering."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import pytest

from command_line import DOWSE
from mutations import corpus, mutated
from served import environment, indexed_notes, serving, status_of

_HELLO = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "fuzzer", "version": "1"},
    },
}
_IMPATIENCE = 0.1  # seconds for a frame that may have no answer
_PATIENCE = 60.0  # seconds; a server that is stuck would never answer


class _Stdio:
    """A `dowse mcp` whose answers are read in the background."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._answers: Queue[bytes] = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._answers.put(line)

    def send(self, frame: bytes) -> None:
        assert self.process.stdin is not None
        # A line is a frame, whatever is in it.
        self.process.stdin.write(frame.replace(b"\n", b" ").replace(b"\r", b" ") + b"\n")
        self.process.stdin.flush()

    def ask(self, frame: dict[str, Any]) -> dict[str, Any]:
        """The answer to a good frame, past those to others."""
        self.send(json.dumps(frame).encode())
        while True:
            try:
                answer = json.loads(self._answers.get(timeout=_PATIENCE))
            except Empty:
                raise AssertionError("the server does not answer any more") from None
            if isinstance(answer, dict) and answer.get("id") == frame["id"]:
                return answer


@contextmanager
def _stdio(folder: Path) -> Iterator[_Stdio]:
    notes = indexed_notes(folder)
    with (folder / "log.txt").open("wb") as errors:
        process = subprocess.Popen(
            [DOWSE, "mcp"],
            env=environment(folder),
            cwd=notes,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        server = _Stdio(process)
        try:
            assert "result" in server.ask(_HELLO)
            server.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
            yield server
        finally:
            process.kill()
            process.communicate(timeout=30)


def _query(number: int) -> dict[str, Any]:
    arguments = {"query": "gateway"}
    params = {"name": "query_documents", "arguments": arguments}
    return {"jsonrpc": "2.0", "id": f"good-{number}", "method": "tools/call", "params": params}


@pytest.mark.takes(12)
def test_mutated_frames_over_stdio_leave_the_server_answering(
    tmp_path: Path, rounds: Callable[[int, int], int], tally: Callable[[str, object], None]
) -> None:
    count = rounds(80, 4_000)
    with _stdio(tmp_path) as server:
        for number, frame in enumerate(mutated(corpus("mcp"), count, seed=14)):
            server.send(frame)
            if number % 20 == 19:  # good ones in between
                assert server.ask(_query(number))["result"]["structuredContent"]["hits"]
        assert server.ask(_query(count))["result"]["structuredContent"]["hits"]
        assert server.process.poll() is None
    assert b"Traceback" not in (tmp_path / "log.txt").read_bytes()
    tally("MCP frames fuzzed over stdio", count)


@pytest.mark.takes(8)
def test_mutated_frames_over_http_leave_the_server_answering(
    tmp_path: Path, rounds: Callable[[int, int], int], tally: Callable[[str, object], None]
) -> None:
    count = rounds(80, 2_000)
    with serving(tmp_path) as server:
        session = _session(server.send(_post(json.dumps(_HELLO).encode(), "")))
        frames = list(mutated(corpus("mcp"), count, seed=15))
        # A frame that is not understood may leave an answer open: nobody waits for it.
        posts = [_post(frame, session) for frame in frames]
        statuses = server.statuses(posts, seconds=_IMPATIENCE)
        assert [frame[:300] for frame, at in zip(frames, statuses, strict=True) if at == 500] == []
        session = _session(server.send(_post(json.dumps(_HELLO).encode(), "")))
        answer = server.send(_post(json.dumps(_query(count)).encode(), session))
        assert b"structuredContent" in answer
        assert b"Traceback" not in server.log.read_bytes()
    tally("MCP frames fuzzed over HTTP", count)


def _session(answer: bytes) -> str:
    assert status_of(answer) == 200, answer[:500]
    head = answer.partition(b"\r\n\r\n")[0].decode().lower()
    return next(
        line.partition(": ")[2] for line in head.splitlines() if line.startswith("mcp-session-id")
    )


def _post(frame: bytes, session: str) -> bytes:
    named = f"Mcp-Session-Id: {session}\r\n" if session else ""
    head = (
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        f"{named}Content-Length: {len(frame)}\r\n\r\n"
    )
    return head.encode() + frame
