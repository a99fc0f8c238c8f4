"""docs/migrating.md, and the suggestions for names of other tools, are the rows of one table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from mcp import Client, MCPError
from mcp.server.lowlevel.server import Server

from command_line import Dowse
from dowse._config.former import FORMER, Former, suggested
from dowse._config.schema import known_settings
from dowse._interfaces.cli.main import ALIASES, cli
from dowse._interfaces.mcp.tools import TOOLS
from mcp_client import Ask, text_of, with_client
from reference import root_context

_PAGE = (Path(__file__).parents[3] / "docs" / "migrating.md").read_text("utf-8")


def _written(row: Former) -> str:
    command = "dowse " if row.kind == "command" else ""
    here = f"`{command}{row.here}`" if row.here else "–"
    return f"| `{row.name}` | {here} | {row.note} |"


def test_every_row_is_in_the_page() -> None:
    lines = _PAGE.splitlines()
    assert [one for one in FORMER if _written(one) not in lines] == []
    assert len([one for one in FORMER if one.tool.startswith("mcp-")]) >= 45


def test_what_a_row_points_at_exists() -> None:
    tools = {tool.name: set(tool.input["properties"]) for tool in TOOLS}
    context = root_context()
    for row in FORMER:
        if row.kind == "setting":
            assert row.here in known_settings(), row
        if row.kind == "tool" and row.here:
            assert row.here in tools, row
        if row.kind == "parameter":
            assert any(row.here in parameters for parameters in tools.values()), row
        if row.kind == "command":
            for one in row.here.replace(",", "").replace(" or", "").split()[:1]:
                assert isinstance(cli.get_command(context, one), click.Command), row


@pytest.mark.parametrize(
    ("name", "here"),
    [
        ("adaptive_weights_enabled", "classify.enabled"),
        ("top_k", "search.top_n"),
        ("search.rrf_k_constant", "fuse.rrf_k"),
        ("mmr_lambda", "diversity.balance"),
        ("semantic_weight", "fuse.semantic"),
        ("keyword_weight", "fuse.keyword"),
        ("dedup_enabled", "semantic_dedup.enabled"),
        ("code_search_weight", "fuse.code"),
        ("chunk_overlap", "chunk.fixed_overlap"),
    ],
)
def test_a_setting_of_another_tool_is_answered_with_its_name_here(
    dowse: Dowse, name: str, here: str
) -> None:
    assert f"Did you mean {here}?" in dowse("config", "get", name).err
    assert f"Did you mean {here}?" in dowse("search", "x", "--set", f"{name}=1").err


def test_a_command_of_another_tool_is_answered_with_its_name_here(dowse: Dowse) -> None:
    names = set(ALIASES) | set(cli.list_commands(root_context()))
    for row in FORMER:
        if row.kind == "command" and row.name not in names:
            assert f"Did you mean {row.here}?" in dowse(row.name, "x").err, row
    assert "Did you mean index --rebuild?" in dowse("rebuild-index").err


@pytest.mark.parametrize(
    ("option", "here"),
    [
        ("--min-score", "--min-confidence"),
        ("--collection", "--project"),
        ("--search_type", "--mode"),
    ],
)
def test_an_option_of_another_tool_is_answered_with_its_name_here(
    dowse: Dowse, option: str, here: str
) -> None:
    told = dowse("search", "x", option, "1").err
    assert f"There is no option '{option}'. Did you mean {here}?" in told


def test_tools_and_parameters_of_other_servers_are_answered_too(
    ask: Ask, server: Server[Any]
) -> None:
    failed = text_of(ask("query_documents", query="x", minScore=0.3))
    assert "Did you mean min_confidence?" in failed
    assert "Known: query, project, top_n," in failed

    async def work(client: Client) -> None:
        with pytest.raises(MCPError, match="Did you mean related_documents"):
            await client.call_tool("build_context", {})
        with pytest.raises(MCPError, match="dowse only reads"):
            await client.call_tool("write_note", {})

    with_client(server, work)


def test_other_names_are_left_to_likeness() -> None:
    assert suggested("setting", "fuse.rrf_q") == ""
    assert suggested("setting", "SEARCH.MMR_LAMBDA") == "Did you mean diversity.balance?"
