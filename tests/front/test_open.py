"""`dowse open`: from a hit to the file."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from command_line import Dowse, on_terminal


@pytest.fixture(autouse=True)
def _editor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "vim")


def _command(dowse: Dowse, *line: object) -> str:
    result = dowse("open", "--print", *line)
    assert result.code == 0, result.err
    return result.out.strip()


def test_a_number_is_a_place_in_the_last_list(notes: Path, dowse: Dowse, home: Path) -> None:
    hits = dowse("search", "restore database", "--json").json["hits"]
    dowse("search", "restore database")
    os.chdir(home)
    for number in (1, 2):
        hit = hits[number - 1]
        place = f"vim +{hit['line']} {notes / hit['document']}"
        assert _command(dowse, number) == place


@pytest.mark.usefixtures("notes")
def test_a_number_counts_what_was_passed_over(dowse: Dowse) -> None:
    second = dowse("search", "restore database", "--json").json["hits"][1]
    shown = dowse("search", "restore database", "-n", 1, "--offset", 1)
    assert shown.out.startswith(" 2  ")
    assert _command(dowse, 2).endswith(second["document"])
    assert "from 2 to 2" in dowse("open", "1").err


@pytest.mark.usefixtures("notes")
def test_a_search_for_programs_keeps_the_list(dowse: Dowse) -> None:
    dowse("search", "bottle")
    dowse("search", "restore", "--json")
    assert _command(dowse, 1).endswith("journal/day.txt")


@pytest.mark.parametrize(
    ("reference", "place"),
    [
        ("lonely", "+1 NOTES/lonely.md"),
        ("guides/restore.md:12-14", "+12 NOTES/guides/restore.md"),
        ("[[restore#Steps]]", "+12 NOTES/guides/restore.md"),
    ],
)
def test_a_reference_is_what_get_takes(
    notes: Path, dowse: Dowse, reference: str, place: str
) -> None:
    assert _command(dowse, reference) == f"vim {place}".replace("NOTES", str(notes))


@pytest.mark.parametrize(
    ("editor", "command"),
    [
        ("code", "code --goto PATH:1"),
        ("cursor --reuse-window", "cursor --reuse-window --goto PATH:1"),
        ("/usr/bin/nvim", "/usr/bin/nvim +1 PATH"),
        ("subl", "subl PATH:1"),
        ("idea", "idea --line 1 PATH"),
        ("unknown-editor", "unknown-editor PATH"),
        ("my --at {line} -- {path}", "my --at 1 -- PATH"),
    ],
)
def test_every_editor_is_told_the_line_in_its_own_way(
    notes: Path, dowse: Dowse, editor: str, command: str
) -> None:
    wanted = command.replace("PATH", str(notes / "lonely.md"))
    assert _command(dowse, "lonely", "--with", editor) == wanted
    assert dowse("config", "set", "open.editor", editor).code == 0
    assert _command(dowse, "lonely") == wanted


@pytest.mark.parametrize(
    "editor",
    [
        "sh -c 'cat {path}'",
        "sh -c {path}",
        "/bin/bash -lc 'cat \"{path}\"'",
        "env sh -c cat:{path}",
        "myeditor --eval '(open \"{path}\")'",
    ],
)
def test_the_name_of_a_file_is_never_run(
    notes: Path, dowse: Dowse, editor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(notes)
    name = "$(touch ran).md"
    (notes / name).write_text("# Touch\n", "utf-8")
    assert dowse("index").code == 0
    refused = dowse("open", name, "--with", editor)
    assert refused.code == 2
    assert "an argument of its own" in " ".join(refused.err.split())
    safe = dowse("open", name, "--with", "sh -c 'cat \"$1\"' sh {path}")
    assert safe.code == 0
    assert not (notes / "ran").exists()


def test_obsidian_is_opened_by_an_address(
    notes: Path, dowse: Dowse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    address = str(notes / "lonely.md").replace("/", "%2F")
    printed = _command(dowse, "lonely", "--with", "obsidian")
    assert printed == f"xdg-open 'obsidian://open?path={address}'"


def test_the_editor_is_run_and_its_failure_is_told(
    notes: Path, dowse: Dowse, tmp_path: Path
) -> None:
    note = tmp_path / "ran"
    editor = tmp_path / "editor.sh"
    editor.write_text(f'#!/bin/sh\necho "$1" > {note}\n')
    editor.chmod(0o755)
    opened = dowse("open", "lonely", "--with", str(editor), "--json").json
    assert note.read_text().strip() == str(notes / "lonely.md") == opened["path"]
    editor.write_text("#!/bin/sh\nexit 3\n")
    failed = dowse("open", "lonely", "--with", str(editor))
    assert failed.code == 1
    assert "ended with the code 3" in failed.err
    missing = dowse("open", "lonely", "--with", "no-such-editor")
    assert missing.code == 2
    assert "dowse config set open.editor" in missing.err


def test_printing_needs_no_editor_and_opening_says_how_to_set_one(
    notes: Path, dowse: Dowse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert _command(dowse, "lonely") == f"xdg-open {notes / 'lonely.md'}"
    refused = dowse("open", "lonely")
    assert refused.code == 2
    assert "xdg-open cannot be started" in refused.err
    assert "dowse config set open.editor" in refused.err


def test_what_cannot_be_opened_is_refused(notes: Path, dowse: Dowse) -> None:
    assert "Search first" in dowse("open", "1").err
    dowse("search", "bottle", "-n", "1")
    assert "The last list has no result 9.\nIt has 1 result, from 1 to 1." in dowse("open", "9").err
    (notes / "journal/day.txt").unlink()
    assert "is not there any more" in dowse("open", "1").err


def test_a_folder_cannot_choose_the_editor(notes: Path, dowse: Dowse) -> None:
    (notes / "dowse.toml").write_text('[open]\neditor = "rm"\n')
    printed = dowse("open", "--print", "lonely")
    assert printed.out.startswith("vim ")
    assert "not done without your consent" in printed.err


def test_paths_are_links_on_a_terminal_and_never_cut(vault: Path, dowse: Dowse) -> None:
    name = "a-long-folder/" * 8 + "rope.md"
    (vault / name).parent.mkdir(parents=True)
    (vault / name).write_text("# Rope\n\nThe rope is long.\n", "utf-8")
    assert dowse("index", vault).code == 0
    _, seen = on_terminal("search", "rope", columns=60)
    assert f";{(vault / name).as_uri()}\x1b\\" in seen
    _, plain = on_terminal("search", "rope", columns=60, environment={"NO_COLOR": "1"})
    assert f"{name}:1" in plain.replace("\r\n", "\n")
    assert "\x1b" not in plain
