"""A real `dowse serve`, or `dowse mcp`, as a process of its own for campaigns; on loopback only."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from command_line import DOWSE
from vaults import note

_NOTES = 30
_AT_ONCE = 8  # requests


@dataclass(frozen=True)
class Served:
    """A running server."""

    port: int
    process: subprocess.Popen[bytes]
    log: Path  # what it wrote to stderr

    def megabytes(self) -> float:
        """The memory that it holds."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        held = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(held.split()[1]) / 1024

    def send(self, request: bytes, *, seconds: float = 60.0) -> bytes:
        """What it answers to these bytes; empty when it only hangs up, or waits for more."""
        with socket.create_connection(("127.0.0.1", self.port), 60.0) as connection:
            connection.settimeout(seconds)
            answer = b""
            # It may hang up on what it does not like.
            with suppress(ConnectionResetError, BrokenPipeError, TimeoutError):
                connection.sendall(request)
                while part := connection.recv(65_536):
                    answer += part
            return answer

    def statuses(self, requests: Sequence[bytes], *, seconds: float) -> list[int]:
        """The status of the answer to each request; several are on their way at a time.

        Half a request has no answer, and nobody should wait for one after the other.
        """
        with ThreadPoolExecutor(_AT_ONCE) as senders:
            answers = senders.map(lambda one: self.send(one, seconds=seconds), requests)
            return [status_of(answer) for answer in answers]

    def get(self, path: str) -> bytes:
        """The answer to a good request."""
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        return self.send(head.encode())


def status_of(answer: bytes) -> int:
    """The status of an answer; 0 when there is none."""
    parts = answer.split(b" ", 2)
    is_http = len(parts) > 1 and parts[0].startswith(b"HTTP/1.") and parts[1].isdigit()
    return int(parts[1]) if is_http else 0


def environment(folder: Path) -> dict[str, str]:
    """A user of their own, who wants no vectors."""
    own = {name: str(folder / "own" / name) for name in ("config", "data", "cache")}
    chosen = {f"DOWSE_{name.upper()}_DIR": path for name, path in own.items()}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DOWSE_")}
    return kept | chosen | {"DOWSE_EMBED_PROVIDER": "none", "HOME": str(folder)}


def indexed_notes(folder: Path) -> Path:
    """A folder of notes that has been indexed."""
    notes, rng = folder / "notes", random.Random(10)
    notes.mkdir()
    for number in range(_NOTES):
        (notes / f"note-{number}.md").write_text(note(number, _NOTES, rng), "utf-8")
    command = [DOWSE, "index", str(notes), "-p", "notes", "--quiet"]
    subprocess.run(command, env=environment(folder), check=True, timeout=120)
    return notes


@contextmanager
def serving(folder: Path) -> Iterator[Served]:
    """A server over notes, which it does not watch."""
    notes, log = indexed_notes(folder), folder / "log.txt"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [DOWSE, "serve", "--port", "0", "--json", "--no-watch"],
            env=environment(folder),
            cwd=notes,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        try:
            assert process.stdout is not None
            told = json.loads(process.stdout.readline())
            port = int(told["address"].rstrip("/").rpartition(":")[2])
            served = Served(port, process, log)
            assert status_of(served.get("/api/v1/search?q=gateway")) == 200
            yield served
        finally:
            process.terminate()
            process.communicate(timeout=30)
