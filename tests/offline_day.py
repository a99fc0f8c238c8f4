"""Runs every kind of command over a folder, as a process that a test can trace or cut off.

The folder is the argument. This process alone adds a document to it.
"""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

from command_line import DOWSE, with_ctrl_c

_QUERY = "restore the database"
_LIBRARY = f"""
import sys
from dowse import Dowse
print(Dowse.open("vault").search({_QUERY!r}).hits[0].title, flush=True)
sys.stdin.read()
"""
_LATE = (
    11.0  # seconds after which a library that waits before it sends has sent; onnxruntime took 9
)


def main(vault: Path) -> None:
    """Index, search and answer, use the library, MCP and HTTP, and watch the folder."""
    _finish("index", str(vault))
    program, _, told = _start(vault, sys.executable, "-c", _LIBRARY)
    assert told.readline()
    begun = time.monotonic()
    _finish("search", _QUERY, "-p", "vault")
    _finish("answer", _QUERY, "-p", "vault")
    _finish("doctor")
    _ask_mcp(vault)
    _ask_server(vault)
    _watch(vault)
    time.sleep(max(0.0, begun + _LATE - time.monotonic()))
    program.communicate(timeout=60)
    assert program.returncode == 0


def _finish(*line: str) -> None:
    subprocess.run([DOWSE, *line], check=line[0] != "doctor", timeout=120)


def _start(vault: Path, *line: str) -> tuple[subprocess.Popen[bytes], IO[bytes], IO[bytes]]:
    pipe = subprocess.PIPE
    process = subprocess.Popen(with_ctrl_c(*line), cwd=vault, stdin=pipe, stdout=pipe)
    assert process.stdin
    assert process.stdout
    return process, process.stdin, process.stdout


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)


def _ask_mcp(vault: Path) -> None:
    process, requests, answers = _start(vault, DOWSE, "mcp")
    about = {"protocolVersion": "2025-06-18", "capabilities": {}}
    about["clientInfo"] = {"name": "test", "version": "1"}
    wanted = {"name": "query_documents", "arguments": {"query": _QUERY}}

    def send(method: str, params: dict[str, Any], number: int | None) -> None:
        numbered = {} if number is None else {"id": number}
        message = {"jsonrpc": "2.0", "method": method, "params": params, **numbered}
        requests.write(json.dumps(message).encode() + b"\n")
        requests.flush()

    send("initialize", about, 1)
    assert b'"result"' in answers.readline()
    send("notifications/initialized", {}, None)
    send("tools/call", wanted, 2)
    while b'"id":2' not in (answer := answers.readline()):
        assert answer, "it ended"
    assert b"restore.md" in answer, answer
    process.communicate(timeout=60)


def _ask_server(vault: Path) -> None:
    process, _, told = _start(vault, DOWSE, "serve", "--port", "0", "--json")
    address = json.loads(told.readline())["address"].rstrip("/")
    connection = http.client.HTTPConnection(address.rpartition("/")[2], timeout=60)
    connection.request("GET", f"/api/v1/search?q={_QUERY.replace(' ', '+')}")
    assert connection.getresponse().status == 200
    connection.close()
    _stop(process)


def _watch(vault: Path) -> None:
    process, _, told = _start(vault, DOWSE, "watch", "--json")
    told.readline()
    (vault / "new.md").write_text("# New\n\nThe heater of the gauge was replaced.\n", "utf-8")
    assert b'"added":1' in told.readline()
    _stop(process)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
