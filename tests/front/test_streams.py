"""What reaches pipes and terminals, and with which exit code."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.text import Text

from command_line import DOWSE, Dowse, on_terminal, process
from dowse._interfaces.cli import main as commands

ESCAPE = "\x1b"
_LINES = (
    ["search", "restore", "the", "database", "--explain"],
    ["explain", "restore the database", "--doc", "Home"],
    ["answer", "what is run to restore"],
    ["related", "Home"],
    ["ls", "--long"],
    ["status"],
    ["config", "show"],
    ["doctor"],
    ["project", "list"],
    ["models", "list"],
    ["--help"],
    ["search", "--help"],
    ["index", "--help"],
    ["config", "--help"],
)


def _ids(line: list[str]) -> str:
    return " ".join(line)


@pytest.mark.parametrize("line", _LINES, ids=_ids)
@pytest.mark.usefixtures("indexed")
def test_piped_output_has_no_escape_codes(line: list[str]) -> None:
    done = process(*line)
    assert ESCAPE.encode() not in done.stdout + done.stderr


@pytest.mark.parametrize("line", _LINES, ids=_ids)
@pytest.mark.usefixtures("indexed")
def test_nothing_is_wider_than_the_terminal(line: list[str]) -> None:
    _, seen = on_terminal(*line, columns=80)
    plain = Text.from_ansi(seen).plain
    assert max(cell_len(one) for one in plain.split("\n")) <= 80


@pytest.mark.usefixtures("indexed")
def test_a_terminal_gets_colours_unless_they_are_refused() -> None:
    assert ESCAPE in on_terminal("search", "restore")[1]
    for refusal in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"CLICOLOR": "0"}):
        assert ESCAPE not in on_terminal("search", "restore", environment=refusal)[1]


@pytest.mark.parametrize("wish", ["FORCE_COLOR", "CLICOLOR_FORCE"])
@pytest.mark.usefixtures("indexed")
def test_colours_can_be_forced(wish: str) -> None:
    assert ESCAPE.encode() in process("search", "restore", **{wish: "1"}).stdout
    assert (
        ESCAPE.encode() not in process("search", "restore", **{wish: "1", "NO_COLOR": "1"}).stdout
    )


def test_a_document_cannot_steer_the_terminal(vault: Path, dowse: Dowse) -> None:
    evil = "# \x1b]0;owned\x07Title\x1b[2J\n\nrestore \x1b[31mred\x9b2J \u202egnirts\n"
    (vault / "evil.md").write_text(evil, "utf-8")
    assert dowse("index", vault).code == 0
    for line in (
        ["search", "restore owned title"],
        ["search", "restore", "--full", "--explain"],
        ["search", "restore", "--format", "md"],
        ["search", "restore", "--format", "jsonl"],
        ["explain", "restore", "--doc", "evil"],
        ["answer", "restore owned red"],
        ["related", "evil"],
        ["graph"],
        ["get", "evil.md"],
        ["ls", "--long"],
    ):
        _, seen = on_terminal(*line, environment={"NO_COLOR": "1"})
        assert not set(seen) & set("\x1b\x07\x9b\u202e")
    assert dowse("get", "evil.md").out == evil


def test_wide_characters_are_folded_by_what_they_take(vault: Path, dowse: Dowse) -> None:
    (vault / "長い.md").write_text("# " + "雨量計" * 30 + "\n\n" + "点検します。" * 60, "utf-8")
    assert dowse("index", vault).code == 0
    for columns in (40, 80, 121):
        _, seen = on_terminal("search", "点検", columns=columns, environment={"NO_COLOR": "1"})
        assert max(cell_len(one) for one in seen.split("\n")) <= columns


def test_a_reader_that_goes_away_is_no_error(vault: Path, dowse: Dowse) -> None:
    deep = vault.joinpath(*["long-name-" * 20] * 10)  # a pipe holds 64 kB
    deep.mkdir(parents=True)
    for number in range(40):
        (deep / f"{number}.md").write_text("# A\n", "utf-8")
    assert dowse("index", vault).code == 0
    for line in (["ls"], ["ls", "--json"], ["ls", "--long"]):
        child = subprocess.Popen([DOWSE, *line], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.read(10)
        child.stdout.close()
        assert child.stderr.read() == b""
        child.stderr.close()
        assert child.wait(timeout=60) == 141


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
@pytest.mark.usefixtures("indexed")
def test_an_encoding_with_few_characters_is_survived(encoding: str) -> None:
    for line in (
        ["search", "点検"],
        ["get", "winter-ja"],
        ["get", "emoji"],
        ["doctor"],
        ["status"],
    ):
        done = process(*line, PYTHONIOENCODING=encoding)
        assert b"Traceback" not in done.stderr
        assert done.returncode == (1 if line == ["doctor"] else 0)
        done.stdout.decode(encoding)


@pytest.mark.usefixtures("indexed")
def test_json_is_utf_8_whatever_the_terminal_speaks() -> None:
    done = process("get", "winter-ja", "--json", PYTHONIOENCODING="ascii")
    assert "冬の点検" in json.loads(done.stdout.decode("utf-8"))["passages"][0]["text"]


@pytest.mark.usefixtures("indexed")
def test_errors_are_json_too() -> None:
    for line, code in (
        (["get", "nothing", "--json"], 2),
        (["--json", "get", "nothing"], 2),
        (["--json", "nonsense"], 2),
        (["search", "--json"], 2),
        (["ls", "--nonsense", "--json"], 2),
        (["reset", "--json"], 2),
    ):
        done = process(*line)
        assert done.returncode == code
        shape = json.loads(done.stdout)
        assert shape.keys() == {"error", "hint"}
        assert shape["error"]
        assert done.stderr == b""


@pytest.mark.usefixtures("indexed")
def test_an_error_is_two_lines_and_no_traceback() -> None:
    done = process("get", "guides/restor.md")
    assert done.stdout == b""
    first, second, *rest = done.stderr.decode().split("\n")
    assert first.startswith("dowse: There is no document")
    assert second.startswith("Did you mean guides/restore.md")
    assert rest == [""]
    assert b"Traceback" in process("get", "restor", "--verbose").stderr
    assert b"Traceback" in process("get", "restor", DOWSE_DEBUG="1").stderr


def test_an_unknown_command_suggests_the_nearest(dowse: Dowse) -> None:
    result = dowse("serch", "x")
    assert result.code == 2
    assert "Did you mean search" in result.err
    assert "Did you mean rename?" in dowse("project", "renam").err


@pytest.mark.usefixtures("indexed")
def test_a_bug_is_reported_in_one_line(dowse: Dowse, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("something nobody thought of")

    monkeypatch.setattr("dowse._project.engine.Engine.listed", broken)
    result = dowse("ls")
    assert result.code == 70
    assert result.err.startswith("dowse: This is a bug: RuntimeError: something nobody thought of")
    assert "DOWSE_DEBUG=1" in result.err
    assert "Traceback" not in result.err
    assert dowse("ls", "--json").json["error"].startswith("This is a bug")


@pytest.mark.usefixtures("indexed")
def test_a_disk_that_refuses_is_no_bug(home: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("nothing is refused to root")
    (home / "own/config").mkdir()
    (home / "own/config").chmod(0o500)
    done = process("config", "set", "search.top_n", "3")
    assert done.returncode == 2
    assert b"Check its permissions" in done.stderr


def test_help_has_examples_for_every_command(dowse: Dowse) -> None:
    for topic in commands.TOPICS.values():
        for name, summary in topic.items():
            for flag in ("-h", "--help"):
                shown = dowse(name, flag)
                assert shown.code == 0
            assert summary in " ".join(shown.out.split())
            assert "dowse " + name in shown.out


def test_without_arguments_the_help_is_shown(dowse: Dowse) -> None:
    assert dowse().out == dowse("--help").out
    assert dowse().code == 0


_UNSEEN = (
    "".join(
        map(chr, [0x7F, 0x9B, 0x85, 0x61C, 0x200B, 0x200E, 0x200F, 0x2028, 0x202E, 0x2066, 0xFEFF])
    )
    + "\U000e0041\x1b]0;title\x07"
)


def test_json_says_unseen_characters_by_their_number(vault: Path, dowse: Dowse) -> None:
    (vault / "odd.md").write_text(f"# Odd\n\nThe ceilometer {_UNSEEN} looks up.\n", "utf-8")
    assert dowse("index", vault).code == 0
    for line in (
        ["search", "ceilometer", "--json"],
        ["search", "ceilometer", "--format", "jsonl"],
        ["get", "odd.md", "--json"],
    ):
        piped = process(*line, DOWSE_NO_SERVER="1").stdout.decode()
        _, shown = on_terminal(*line)
        for seen in (piped, shown):
            assert not set(seen) & (set(_UNSEEN) - {"t", "i", "l", "e", "0", ";", "]"}), line
            told = json.loads(seen)
            text = told["text"] if "text" in told else str(told)
            assert "\\u202e" in seen
            assert "\u202e" in text or repr("\u202e")[1:-1] in text


@pytest.mark.usefixtures("indexed")
@pytest.mark.parametrize("line", [["get", "odd.md"], ["search", "ceilometer", "--format", "md"]])
def test_nothing_unseen_reaches_a_terminal(vault: Path, dowse: Dowse, line: list[str]) -> None:
    (vault / "odd.md").write_text(f"# Odd\n\nThe ceilometer {_UNSEEN} looks up.\n", "utf-8")
    assert dowse("index", vault).code == 0
    _, shown = on_terminal(*line, environment={"NO_COLOR": "1"})
    unsafe = set(_UNSEEN) - set("title0;]") - {"\u200b"}
    assert "ceilometer" in shown
    assert not set(shown) & unsafe
