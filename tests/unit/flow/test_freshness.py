"""Whether files are still there, in projects of several folders and where nobody may look."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse._index.source.roots import Root
from dowse._search.documents import is_gone


@pytest.fixture
def roots(tmp_path: Path) -> list[Root]:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "note.md").write_text(name, "utf-8")
    return [Root(tmp_path / "first"), Root(tmp_path / "second", "second")]


def test_a_file_of_the_same_name_in_another_folder_does_not_stand_for_a_deleted_one(
    roots: list[Root],
) -> None:
    assert not is_gone(roots, "note.md")
    (roots[0].path / "note.md").unlink()
    assert is_gone(roots, "note.md")
    assert not is_gone(roots, "@second/note.md")
    (roots[1].path / "note.md").unlink()
    assert is_gone(roots, "@second/note.md")


def test_the_files_of_a_folder_that_is_out_of_reach_are_not_gone(roots: list[Root]) -> None:
    roots[1].path.rename(roots[1].path.with_name("elsewhere"))
    assert not is_gone(roots, "@second/note.md")
    assert is_gone(roots, "missing.md")


def test_what_may_not_be_looked_at_is_not_gone(
    roots: list[Root], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, **_: bool) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "stat", refuse)
    assert not is_gone(roots, "note.md")


def test_a_document_of_a_folder_that_the_project_no_longer_has_is_gone(roots: list[Root]) -> None:
    assert is_gone(roots[:1], "@second/note.md")
    assert is_gone(roots[1:], "note.md")
