"""Addresses that make a browser open a file in another program."""

from __future__ import annotations

import shutil
from pathlib import Path, PureWindowsPath

import pytest

from dowse._config.editors import editor_address, obsidian_address, open_command

PATH = Path("/notes/a b/ü.md")


@pytest.mark.parametrize(
    ("editor", "address"),
    [
        ("code", "vscode://file/notes/a%20b/%C3%BC.md:{line}"),
        ("/usr/bin/cursor --wait", "cursor://file/notes/a%20b/%C3%BC.md:{line}"),
        ("pycharm", "pycharm://open?file=%2Fnotes%2Fa%20b%2F%C3%BC.md&line={line}"),
        ("obsidian", "obsidian://open?path=%2Fnotes%2Fa%20b%2F%C3%BC.md"),
        ("my://at/{line}?of={path}", "my://at/{line}?of=%2Fnotes%2Fa%20b%2F%C3%BC.md"),
        ("vim", ""),
        ("myeditor {path}", ""),
    ],
)
def test_an_editor_has_an_address_or_none(editor: str, address: str) -> None:
    assert editor_address(PATH, editor, {}) == address


@pytest.mark.parametrize(
    ("editor", "address"),
    [
        ("code", "vscode://file/C:/notes/a%20b.md:{line}"),
        ("pycharm", "pycharm://open?file=C%3A%5Cnotes%5Ca%20b.md&line={line}"),
    ],
)
def test_a_path_with_a_drive_letter_has_an_address(editor: str, address: str) -> None:
    assert editor_address(PureWindowsPath(r"C:\notes\a b.md"), editor, {}) == address


def test_windows_finds_an_editor_by_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    command = open_command(PATH, 7, r'"C:\Program Files\ed.exe" +{line} {path}', {})
    assert command == [r"C:\Program Files\ed.exe", "+7", str(PATH)]


def test_without_a_setting_the_environment_and_then_what_is_installed_decide(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert editor_address(PATH, "", {"EDITOR": "zed", "VISUAL": ""}).startswith("zed://file/")
    monkeypatch.setattr(shutil, "which", lambda name: name if name == "codium" else None)
    assert editor_address(PATH, "", {}).startswith("vscodium://file/")
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert editor_address(PATH, "", {}) == ""


def test_only_files_of_a_vault_open_in_obsidian(tmp_path: Path) -> None:
    note = tmp_path / "vault" / "deep" / "note.md"
    assert obsidian_address(note) == ""
    (tmp_path / "vault" / ".obsidian").mkdir(parents=True)
    assert obsidian_address(note).startswith("obsidian://open?path=%2F")
