"""Addresses that make a browser open a file in another program."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dowse._config.editors import editor_address, obsidian_address

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
