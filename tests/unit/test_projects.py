from __future__ import annotations

from pathlib import Path

import pytest

from dowse._project.registry import Projects, closest, find_local_file, update_toml
from dowse._project.workspace import INDEXES
from dowse._util.files import Locations
from dowse.errors import BadSettings, NotFound, UsageError


@pytest.fixture
def projects(tmp_path: Path) -> Projects:
    where = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "cache")
    return Projects(where, INDEXES)


def _folder(tmp_path: Path, name: str) -> Path:
    folder = tmp_path / "docs" / name
    folder.mkdir(parents=True)
    return folder


def test_a_project_is_named_after_its_folder(projects: Projects, tmp_path: Path) -> None:
    project = projects.add([_folder(tmp_path, "My Notes (old)")])
    assert project.name == "My-Notes-old"
    assert projects.all() == [project]
    assert projects.get("My-Notes-old") == project


def test_a_name_that_is_taken_gets_a_number(projects: Projects, tmp_path: Path) -> None:
    names = [projects.add([_folder(tmp_path, f"{n}/Notes")]).name for n in range(3)]
    assert names == ["Notes", "Notes-2", "Notes-3"]
    with pytest.raises(UsageError, match="already"):
        projects.add([_folder(tmp_path, "x")], "notes")


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "../x", "-x", "a  b", "a ", "all", "x" * 65, "a\0b", "_a"]
)
def test_impossible_names_are_refused(projects: Projects, tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        projects.add([tmp_path], name)
    with pytest.raises(NotFound):
        projects.get(name)
    with pytest.raises(NotFound):
        projects.remove(name)


@pytest.mark.parametrize("name", ["a", "日本語", "v1.2", "a_b-c", "Ünï", "a b", "a b.c d"])
def test_names_in_any_script(projects: Projects, tmp_path: Path, name: str) -> None:
    assert projects.add([tmp_path], name).name == name
    assert projects.get(name).roots == (tmp_path,)


@pytest.mark.parametrize("name", ["(((", "...", "   ", "🌧️"])
def test_a_folder_without_a_usable_name(projects: Projects, tmp_path: Path, name: str) -> None:
    assert projects.add([_folder(tmp_path, name)]).name == "notes"


def test_a_root_must_be_there(projects: Projects, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="does not exist"):
        projects.add([tmp_path / "nowhere"])
    assert projects.all() == []


def test_rename_keeps_everything(projects: Projects, tmp_path: Path) -> None:
    old = projects.add([tmp_path], "old")
    update_toml(old.settings_file, "search.top_n", 9)
    new = projects.rename("old", "new")
    assert new.roots == old.roots
    assert "top_n = 9" in new.settings_file.read_text("utf-8")
    assert not projects.knows("old")


def test_rename_to_what_cannot_be(projects: Projects, tmp_path: Path) -> None:
    projects.add([tmp_path], "one")
    projects.add([tmp_path], "two")
    with pytest.raises(UsageError, match="already"):
        projects.rename("one", "TWO")
    with pytest.raises(UsageError, match="cannot be the name"):
        projects.rename("one", "../two")
    with pytest.raises(NotFound):
        projects.rename("three", "four")
    assert projects.rename("one", "ONE").name == "ONE"


def test_remove_leaves_the_documents(projects: Projects, tmp_path: Path) -> None:
    folder = _folder(tmp_path, "notes")
    (folder / "a.md").write_text("# A\n", "utf-8")
    project = projects.add([folder])
    projects.remove("notes")
    assert not project.folder.exists()
    assert (folder / "a.md").exists()
    with pytest.raises(NotFound):
        projects.remove("notes")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[project\n",
        b"[project]\n",
        b"[project]\nroots = []\n",
        b'[project]\nroots = "/a"\n',
        b"[project]\nroots = [1]\n",
        b'[project]\nroots = ["relative"]\n',
        b"\xff\xfe\x00",
    ],
)
def test_a_broken_project_is_reported_and_can_be_removed(
    projects: Projects, tmp_path: Path, text: bytes
) -> None:
    good = projects.add([tmp_path], "good")
    bad = projects.add([tmp_path], "bad")
    bad.settings_file.write_bytes(text)
    assert projects.all() == [good]
    (finding,) = projects.broken()
    assert str(bad.settings_file) in finding.what
    assert "dowse project remove bad" in finding.repair
    with pytest.raises(BadSettings, match=r"project\.toml cannot be read"):
        projects.get("bad")
    with pytest.raises(UsageError, match="already"):
        projects.add([tmp_path], "bad")
    projects.remove("bad")
    assert projects.broken() == []


def test_the_closest_root_wins(projects: Projects, tmp_path: Path) -> None:
    outer = projects.add([_folder(tmp_path, "outer")])
    inner = projects.add([_folder(tmp_path, "outer/inner")])
    assert closest(projects.all(), inner.roots[0] / "deep" / "a.md") == inner
    assert closest(projects.all(), outer.roots[0]) == outer
    assert closest(projects.all(), tmp_path) is None


def test_further_roots_get_names_of_their_own(projects: Projects, tmp_path: Path) -> None:
    folders = [_folder(tmp_path, name) for name in ("a", "b/docs", "c/docs", "d/Docs")]
    project = projects.extend(projects.add(folders[:1]), folders[1:])
    assert [root.name for root in project.named_roots] == ["", "docs", "docs-2", "Docs-3"]
    assert projects.get("a") == project
    assert projects.extend(project, folders) == project


def test_updating_a_file_leaves_the_rest_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "config.toml"
    update_toml(file, "search.top_n", 3)
    file.write_text("# mine\n[search]\ntop_n = 3 # few\nmode = 'keyword'\n", "utf-8")
    update_toml(file, "search.mode", None)
    update_toml(file, "chunk.overlap", 50)
    text = file.read_text("utf-8")
    assert text.startswith("# mine\n[search]\ntop_n = 3 # few\n")
    assert "mode" not in text
    assert "[chunk]\noverlap = 50" in text
    file.write_text("[search", "utf-8")
    with pytest.raises(BadSettings, match="cannot be read"):
        update_toml(file, "search.top_n", 4)
    assert file.read_text("utf-8") == "[search"


def test_a_local_file_is_found_by_walking_up(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    assert find_local_file(deep) is None
    (tmp_path / "a" / "dowse.toml").touch()
    assert find_local_file(deep) == tmp_path / "a" / "dowse.toml"
    (deep / "dowse.toml").mkdir()
    assert find_local_file(deep) == tmp_path / "a" / "dowse.toml"
