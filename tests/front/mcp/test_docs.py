"""docs/mcp.md is true: its tools, its parameters, its clients, and its commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from command_line import Dowse
from dowse._interfaces.cli.commands.install import CLIENTS
from dowse._interfaces.mcp.tools import ALIASES, READ_TOKENS, SEARCH_TOKENS, TOOLS
from mcp_client import ERAS

_PAGE = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text("utf-8")


def _rows() -> dict[str, list[str]]:
    rows = [line.strip("|").split("|") for line in _PAGE.splitlines() if line.startswith("| `")]
    return {row[0].strip(" `"): re.findall(r"`(\w+)`", row[2]) for row in rows}


def test_every_tool_and_parameter_is_documented() -> None:
    assert _rows() == {tool.name: list(tool.input["properties"]) for tool in TOOLS}


def test_names_figures_and_revisions_are_those_of_the_code() -> None:
    for name in (*ALIASES, "search_documents"):
        assert f"`{name}`" in _PAGE
    assert f"A search keeps to {SEARCH_TOKENS}" in _PAGE
    assert f"reading to {READ_TOKENS} when" in _PAGE
    assert all(revision in _PAGE for revision in ERAS.values())


def test_every_command_works(vault: Path, dowse: Dowse) -> None:
    vault.rename(vault.with_name("notes"))
    blocks = "\n".join(re.findall(r"^```bash\n(.*?)^```$", _PAGE, re.DOTALL | re.MULTILINE))
    lines = [*blocks.splitlines(), *re.findall(r"`(dowse mcp install [^`]+)`", _PAGE)]
    for line in lines:
        seen = dowse(*shlex.split(line)[1:])
        assert seen.code in {0, 3}, line  # 3: one of the notes is broken
    for client in CLIENTS:
        is_written = client.form == "json"
        assert f"--client {client.name}{' --write' * is_written}`" in _PAGE
        assert client.path.exists() == is_written, client.name
