"""Shell completion."""

from __future__ import annotations

import subprocess

import pytest

from command_line import Dowse, process


def _completions(*words: str) -> list[str]:
    done = process(
        _DOWSE_COMPLETE="bash_complete",
        COMP_WORDS=" ".join(["dowse", *words]),
        COMP_CWORD=str(len(words)),
    )
    assert done.returncode == 0, done.stderr
    return [line.partition(",")[2] for line in done.stdout.decode().split("\n") if line]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_the_script_names_the_command(dowse: Dowse, shell: str) -> None:
    result = dowse("completion", shell)
    assert result.code == 0
    assert "_DOWSE_COMPLETE" in result.out
    assert dowse("completion", shell, "--json").json["shell"] == shell


def test_the_bash_script_is_one(dowse: Dowse) -> None:
    script = dowse("completion", "bash").out
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=True)


@pytest.mark.usefixtures("home")
def test_powershell_gets_three_lines_for_each_word() -> None:
    done = process(_DOWSE_COMPLETE="powershell_complete", COMP_WORDS="dowse sea", COMP_CWORD="1")
    assert done.stdout.decode().splitlines()[:2] == ["plain", "search"]


def test_an_unknown_shell(dowse: Dowse) -> None:
    assert dowse("completion", "tcsh").code == 2


@pytest.mark.usefixtures("indexed")
def test_commands_options_projects_documents_and_settings_are_completed() -> None:
    assert _completions("sea") == ["search"]
    assert _completions("project", "re") == ["remove", "rename", "restore"]
    assert "--explain" in _completions("search", "--e")
    assert _completions("ls", "-p", "v") == ["vault"]
    assert _completions("get", "gui") == ["guides/restore.md", "guides/winter-ja.md"]
    assert _completions("config", "get", "search.top_") == ["search.top_n", "search.top_k"]


@pytest.mark.usefixtures("indexed")
def test_values_are_those_of_the_documents_and_of_the_settings() -> None:
    assert _completions("search", "--tag", "") == ["backup", "database", "start"]
    assert _completions("search", "--path", "guides/r") == ["guides/restore.md"]
    assert _completions("search", "--path", "j") == ["journal/", "journal/emoji.md"]
    assert _completions("search", "--where", "tags=d") == ["tags=database"]
    assert _completions("open", "Ho") == ["Home.md"]
    assert _completions("config", "set", "search.mode", "k") == ["keyword"]
    assert _completions("config", "set", "read.hidden", "") == ["true", "false"]
    assert _completions("config", "set", "nobody.knows", "") == []


@pytest.mark.usefixtures("indexed")
def test_what_a_search_takes_is_completed() -> None:
    assert _completions("search", "--preset", "seed") == ["seed-a", "seed-b"]
    assert _completions("search", "--mode", "h") == ["hybrid", "hyde"]
    assert _completions("search", "--format", "json") == ["json", "jsonl"]
    assert _completions("answer", "--set", "rerank.t") == ["rerank.top_n="]
    assert _completions("search", "--set", "chunk.") == []
    assert _completions("explain", "x", "--doc", "Ho") == ["Home.md"]
    assert _completions("related", "jour") == ["journal/emoji.md"]


@pytest.mark.usefixtures("home")
def test_completion_without_an_index_is_silent() -> None:
    assert _completions("get", "x") == []
