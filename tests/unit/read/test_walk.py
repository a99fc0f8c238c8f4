"""Which files are sources: endings, rules, options, roots."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dowse._index.options import ReadOptions
from dowse._index.source.roots import Root
from dowse._index.source.walk import Walk, walk
from dowse._model import SourceFile

Plant = Callable[..., Path]
Ids = Callable[..., list[str]]
Look = Callable[..., Walk]


def test_sources_come_in_the_order_of_their_ids(plant: Plant, ids: Ids) -> None:
    plant("b.md", "a/z.md", "a.md", "a-b/x.md", "B.md", "a/b/c/d.markdown")
    assert ids() == ["B.md", "a-b/x.md", "a.md", "a/b/c/d.markdown", "a/z.md", "b.md"]


def test_a_source_is_its_directory_entry(plant: Plant, found: Look) -> None:
    path = plant(**{"a/x.md": "12345"}) / "a/x.md"
    status = path.stat()
    assert found().sources == (SourceFile("a/x.md", str(path), 5, status.st_mtime_ns),)


def test_endings_in_any_case_and_nothing_else(plant: Plant, ids: Ids) -> None:
    plant("a.MD", "b.Txt", "c.mdx", "d.HTML", "e.csv", "x.png", "y.py", "md", "z.md.bak")
    assert ids() == ["a.MD", "b.Txt", "c.mdx", "d.HTML", "e.csv"]


def test_formats_can_be_turned_off(plant: Plant, ids: Ids) -> None:
    plant("a.md", "b.csv", "c.htm")
    assert ids(convert=()) == ["a.md"]
    assert ids(convert=("html",)) == ["a.md", "c.htm"]


def test_without_the_converter_its_files_are_left_out_with_the_command(
    plant: Plant, found: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dowse._index.source.walk.is_installed", lambda: False)
    plant("a.md", "b.pdf")
    result = found()
    assert [source.id for source in result.sources] == ["a.md"]
    assert [item.id for item in result.left_out] == ["b.pdf"]
    assert "pip install 'dowse-search[formats]'" in result.left_out[0].reason


def test_hidden_and_junk_folders_are_skipped(plant: Plant, ids: Ids) -> None:
    plant("a.md", ".h.md", ".github/b.md", "node_modules/p/README.md", ".obsidian/c.md")
    plant(".trash/d.md", "env/pyvenv.cfg", "env/lib/e.md", "venv/f.md")
    assert ids() == ["a.md", "venv/f.md"]
    assert ids(hidden=True) == [".github/b.md", ".h.md", "a.md", "venv/f.md"]


def test_a_root_may_itself_be_hidden_or_junk(plant: Plant) -> None:
    folder = plant(".notes/node_modules/a.md") / ".notes/node_modules"
    assert [source.id for source in walk([Root(folder)], ReadOptions()).sources] == ["a.md"]


def test_include_patterns_narrow(plant: Plant, ids: Ids) -> None:
    plant("a.md", "notes/b.md", "notes/deep/c.txt", "notes/private/d.md", "notes/x.png")
    assert ids(include=("*.txt",)) == ["notes/deep/c.txt"]
    assert ids(include=("notes",)) == ["notes/b.md", "notes/deep/c.txt", "notes/private/d.md"]
    assert ids(include=("notes/", "!private/")) == ["notes/b.md", "notes/deep/c.txt"]
    assert ids(include=("/*.md", "**/deep/*")) == ["a.md", "notes/deep/c.txt"]


def test_exclude_patterns_are_stronger_than_ignore_files(plant: Plant, ids: Ids) -> None:
    plant("a.md", "b.md", "c/d.md", "c/e.md")
    plant(**{".gitignore": "a.md", ".dowseignore": "!b.md"})
    assert ids(exclude=("b.md", "/c/e*")) == ["c/d.md"]
    assert ids(exclude=("!a.md",)) == ["a.md", "b.md", "c/d.md", "c/e.md"]


def test_ignore_files_hold_below_their_folder(plant: Plant, ids: Ids) -> None:
    plant("x/a.md", "x/b.md", "x/y/a.md", "a.md", "z/a.md")
    plant(**{"x/.gitignore": "/a.md", "z/.dowseignore": "*"})
    assert ids() == ["a.md", "x/b.md", "x/y/a.md"]
    assert ids(gitignore=False) == ["a.md", "x/a.md", "x/b.md", "x/y/a.md"]


def test_deeper_rules_win_but_not_inside_an_ignored_folder(plant: Plant, ids: Ids) -> None:
    plant("keep/a.md", "gone/a.md")
    plant(**{".gitignore": "*.md\ngone/", "keep/.gitignore": "!a.md", "gone/.gitignore": "!a.md"})
    assert ids() == ["keep/a.md"]


def test_dowseignore_is_stronger_than_gitignore(plant: Plant, ids: Ids) -> None:
    plant("drafts/a.md", "b.md", "sub/c.md")
    plant(**{".gitignore": "drafts/", ".dowseignore": "!drafts/\nb.md", "sub/.gitignore": "!b.md"})
    assert ids() == ["drafts/a.md", "sub/c.md"]


def test_dowseignore_holds_without_gitignore(plant: Plant, ids: Ids) -> None:
    plant("a.md", "b.md", **{".dowseignore": "b.md"})
    assert ids(gitignore=False) == ["a.md"]


def test_the_exclude_file_of_git_is_the_weakest(plant: Plant, ids: Ids) -> None:
    plant("a.md", "b.md", "c.md")
    plant(**{".git/info/exclude": "a.md\nb.md", ".gitignore": "!b.md"})
    assert ids() == ["b.md", "c.md"]


def test_a_gitignore_that_is_a_link_is_not_read_just_as_git_does(
    plant: Plant, ids: Ids, tmp_path: Path
) -> None:
    (tmp_path / "rules").write_text("*.md")
    plant("a.md")
    (tmp_path / "root/.gitignore").symlink_to(tmp_path / "rules")
    assert ids() == ["a.md"]


def test_rules_that_cannot_be_read_close_their_folder(
    plant: Plant, found: Look, tmp_path: Path
) -> None:
    plant("a.md", "private/b.md")
    (tmp_path / "root/private/.dowseignore").symlink_to(tmp_path / "rules")
    result = found()
    assert [source.id for source in result.sources] == ["a.md"]
    assert [item.id for item in result.left_out] == ["private"]
    assert ".dowseignore" in result.left_out[0].reason


def test_files_above_the_limit_are_reported(plant: Plant, found: Look) -> None:
    plant(**{"a.md": "x" * 11, "b.md": "x" * 10, "c.csv": "x" * 21, "d.csv": "x" * 20})
    result = found(max_bytes=10, max_convert_bytes=20)
    assert [source.id for source in result.sources] == ["b.md", "d.csv"]
    assert [item.id for item in result.left_out] == ["a.md", "c.csv"]
    assert "11 bytes" in result.left_out[0].reason


def test_further_roots_have_ids_of_their_own(plant: Plant) -> None:
    folder = plant("one/a.md", "two/a.md", "two/.dowseignore")
    (folder / "two/.dowseignore").write_text("b.md")
    roots = [Root(folder / "one"), Root(folder / "two", "two")]
    result = walk(roots, ReadOptions())
    assert [source.id for source in result.sources] == ["@two/a.md", "a.md"]


def test_a_folder_that_reads_like_another_root_is_left_out(plant: Plant) -> None:
    folder = plant("one/@two/a.md", "one/x/@two/a.md", "two/a.md")
    roots = [Root(folder / "one"), Root(folder / "two", "two")]
    result = walk(roots, ReadOptions())
    assert [(source.id, source.path) for source in result.sources] == [
        ("@two/a.md", folder / "two/a.md"),
        ("x/@two/a.md", folder / "one/x/@two/a.md"),
    ]
    assert [item.id for item in result.left_out] == ["@two"]


def test_a_missing_root_is_left_out_and_the_others_are_walked(plant: Plant) -> None:
    folder = plant("one/a.md")
    result = walk([Root(folder / "one"), Root(folder / "gone", "g")], ReadOptions())
    assert [source.id for source in result.sources] == ["a.md"]
    assert [item.id for item in result.left_out] == [str(folder / "gone")]


def test_a_single_file_is_taken_whatever_the_rules_say(plant: Plant) -> None:
    folder = plant(".hidden.md", "x.png", **{".dowseignore": "*"})
    result = walk([Root(folder / ".hidden.md"), Root(folder / "x.png", "p")], ReadOptions())
    assert [source.id for source in result.sources] == [".hidden.md"]
    assert [item.id for item in result.left_out] == [str(folder / "x.png")]


def test_within_finds_the_same_as_a_walk_over_everything(plant: Plant, ids: Ids) -> None:
    folder = plant("a.md", "x/a.md", "x/b.md", "x/y/c.md", "x/y/d.txt", ".h/e.md", "w/f.md")
    plant(**{".gitignore": "b.md", "x/.gitignore": "*.txt"})
    assert ids(folder / "x") == ["x/a.md", "x/y/c.md"]
    assert ids(folder / "x/y/c.md", folder / "a.md") == ["a.md", "x/y/c.md"]
    assert ids(folder / "x", folder / "x/y") == ["x/a.md", "x/y/c.md"]
    assert ids(folder / "x/y", folder / "x") == ["x/a.md", "x/y/c.md"]
    for ignored in ("x/b.md", "x/y/d.txt", ".h/e.md", ".h", "gone.md", "gone/gone.md", "a.md/x"):
        assert ids(folder / ignored) == []
    assert ids(folder) == ids(folder.parent) == ids()


def test_within_a_path_outside_is_left_out(plant: Plant, found: Look, tmp_path: Path) -> None:
    plant("a.md")
    result = found((tmp_path / "elsewhere.md",))
    assert result.sources == ()
    assert "outside" in result.left_out[0].reason


def test_within_concerns_only_the_roots_it_is_in(plant: Plant) -> None:
    folder = plant("one/a.md", "two/b.md", "c.md")
    roots = [Root(folder / "one"), Root(folder / "gone", "g"), Root(folder / "c.md", "c")]
    result = walk(roots, ReadOptions(), [folder / "one/a.md"])
    assert [source.id for source in result.sources] == ["a.md"]
    assert result.left_out == ()
    result = walk(roots, ReadOptions(), [folder / "c.md"])
    assert [source.id for source in result.sources] == ["@c/c.md"]
