"""Names of commands that people who know other tools try."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import Dowse
from dowse._interfaces.cli.main import ALIASES, TOPICS


def test_every_alias_is_another_name_of_a_command() -> None:
    commands = {name for topic in TOPICS.values() for name in topic}
    assert set(ALIASES.values()) <= commands
    assert not set(ALIASES) & commands


@pytest.mark.parametrize("alias", ["query", "find"])
@pytest.mark.usefixtures("indexed")
def test_other_names_of_a_search(dowse: Dowse, alias: str) -> None:
    found = dowse(alias, "restore", "--limit", "1", "--json").json["hits"]
    assert found == dowse("search", "restore", "-n", "1", "--json").json["hits"]


@pytest.mark.parametrize("alias", ["init", "add", "update"])
def test_other_names_of_indexing(vault: Path, dowse: Dowse, alias: str) -> None:
    result = dowse(alias, vault)
    assert result.code == 0
    assert result.out.startswith("vault: 5 added, ")


def test_suggestions_name_the_command_that_an_alias_means(dowse: Dowse) -> None:
    assert "Did you mean search?" in dowse("querry", "x").err
    assert "Did you mean index?" in dowse("updat").err
    assert "Did you mean" not in dowse("delete").err


@pytest.mark.parametrize(
    ("line", "same"),
    [
        (("help",), ("--help",)),
        (("help", "search"), ("search", "--help")),
        (("help", "find"), ("find", "--help")),
        (("help", "project", "add"), ("project", "add", "--help")),
        (("project", "help"), ("project", "--help")),
    ],
)
def test_help_can_be_asked_for_as_a_command(
    dowse: Dowse, line: tuple[str, ...], same: tuple[str, ...]
) -> None:
    assert dowse(*line).out == dowse(*same).out
    assert "Usage: dowse" in dowse(*line).out


def test_a_sentence_is_offered_as_a_search_and_nothing_that_empties(dowse: Dowse) -> None:
    told = dowse("restore", "my", "backup").err
    assert "Did you mean search 'restore my backup' or project restore?" in told
    for word in ("restore", "rset", "resett"):
        assert "reset" not in dowse(word).err.replace(f"'{word}'", "")
