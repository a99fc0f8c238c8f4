"""Clients that are not in Python: the TypeScript SDK, and the Inspector.

`make node-clients` fetches them. Without them these tests are left out.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from command_line import DOWSE
from dowse._interfaces.mcp.tools import TOOLS
from gates import find_tool

_NODE = Path(__file__).with_name("node")
_PROGRAM = find_tool("node")
_PATIENCE = 60  # seconds

pytestmark = pytest.mark.skipif(
    not _PROGRAM or not (_NODE / "node_modules").is_dir(),
    reason="the clients are not here: make node-clients",
)


def _run(folder: Path, *line: str | Path) -> Any:
    done = subprocess.run(
        [str(_PROGRAM), *map(str, line)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PATH": f"{os.environ['PATH']}:{Path(str(_PROGRAM)).parent}"},
        timeout=_PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_typescript_sdk_finds_everything(indexed: Path) -> None:
    told = _run(indexed, _NODE / "client.mjs", DOWSE, "mcp")
    assert [one["name"] for one in told["tools"]["tools"]] == [one.name for one in TOOLS]
    hit = told["found"]["structuredContent"]["hits"][0]
    assert hit["document"] == "guides/restore.md"
    folders = told["browsed"]["structuredContent"]["folders"]
    assert {"name": "guides/", "documents": 2} in folders
    assert told["read"]["structuredContent"]["passages"][0]["text"].startswith("## Steps")
    assert len(told["recent"]["structuredContent"]["documents"]) == 1
    assert told["wrong"]["isError"]
    assert "pg_restore" in told["resource"]["contents"][0]["text"]
    assert told["prompt"]["messages"][0]["content"]["text"].startswith("How?")


def test_the_inspector_lists_and_calls_tools(indexed: Path) -> None:
    inspector = (_NODE / "node_modules" / ".bin" / "mcp-inspector").resolve()
    # It passes on only the variables that it is told.
    own = [f"{name}={value}" for name, value in os.environ.items() if name.startswith("DOWSE_")]
    server = ("--cli", *(word for one in own for word in ("-e", one)), DOWSE, "mcp", "--method")
    listed = _run(indexed, inspector, *server, "tools/list")
    assert [one["name"] for one in listed["tools"]] == [one.name for one in TOOLS]
    query = ("--tool-arg", "query=restore the database", "--tool-arg", "n=2")
    found = _run(
        indexed, inspector, *server, "tools/call", "--tool-name", "query_documents", *query
    )
    assert found["structuredContent"]["hits"][0]["document"] == "guides/restore.md"
