import os
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from dowse._index.source.roots import Root, path_of, readable
from dowse.errors import NotFound, UsageError

NFD = unicodedata.normalize("NFD", "Café/Ärger.md")
NFC = unicodedata.normalize("NFC", NFD)


def test_ids_of_the_first_root_are_plain_paths(plant: Callable[..., Path]) -> None:
    root = Root(plant("a/b.md"))
    assert root.id_of(root.path / "a/b.md") == "a/b.md"
    assert path_of([root], "a/b.md") == root.path / "a/b.md"


def test_ids_of_further_roots_carry_their_name(plant: Callable[..., Path]) -> None:
    folder = plant("one/x.md", "two/x.md")
    roots = [Root(folder / "one"), Root(folder / "two", "work")]
    assert roots[1].id_of(folder / "two/x.md") == "@work/x.md"
    assert path_of(roots, "@work/x.md") == folder / "two/x.md"
    assert path_of(roots, "x.md") == folder / "one/x.md"


def test_an_at_sign_without_such_a_root_is_an_ordinary_folder(folder: Path) -> None:
    assert path_of([Root(folder)], "@types/x.md") == folder / "@types/x.md"


def test_a_single_file_is_a_root(plant: Callable[..., Path]) -> None:
    root = Root(plant("notes.md", "other.md") / "notes.md")
    assert root.id_of(root.path) == "notes.md"
    assert path_of([root], "notes.md") == root.path
    with pytest.raises(NotFound):
        path_of([root], "other.md")
    with pytest.raises(NotFound):
        root.id_of(root.path.parent / "other.md")


@pytest.mark.parametrize(
    "identifier",
    ["", ".", "..", "../x.md", "a/../../x.md", "/etc/passwd", "a//b.md", "./a.md", "a\0.md", "a/"],
)
def test_no_id_leads_out(plant: Callable[..., Path], identifier: str) -> None:
    with pytest.raises(NotFound):
        path_of([Root(plant("a/b.md"))], identifier)


def test_no_link_leads_out(plant: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    folder = plant("a.md")
    (folder / "out.md").symlink_to(tmp_path / "secret.md")
    (folder / "up").symlink_to(tmp_path)
    root = Root(folder)
    for name in ("out.md", "up/secret.md"):
        with pytest.raises(NotFound):
            path_of([root], name)
        with pytest.raises(NotFound):
            root.id_of(folder / name)


def test_paths_outside_have_no_id(folder: Path, tmp_path: Path) -> None:
    for path in (tmp_path / "x.md", folder / "../x.md", tmp_path / "root2/x.md"):
        with pytest.raises(NotFound):
            Root(folder).id_of(path)


def test_a_root_behind_a_link_is_known_by_both_paths(
    plant: Callable[..., Path], tmp_path: Path
) -> None:
    folder = plant("a/b.md")
    (tmp_path / "alias").symlink_to(folder)
    root = Root(tmp_path / "alias")
    assert root.path == folder
    assert root.id_of(tmp_path / "alias/a/b.md") == "a/b.md"
    assert root.id_of(folder / "a/b.md") == "a/b.md"


def test_relative_paths_count_from_the_current_folder(
    plant: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = plant("a/b.md")
    monkeypatch.chdir(folder / "a")
    assert Root(Path("..")).id_of(Path("b.md")) == "a/b.md"


def test_ids_are_composed_and_paths_are_as_on_disk(plant: Callable[..., Path]) -> None:
    root = Root(plant(NFD))
    assert root.id_of(root.path / NFD) == NFC
    assert os.fspath(path_of([root], NFC)).endswith(NFD)


def test_a_removed_document_still_has_a_place(folder: Path) -> None:
    assert path_of([Root(folder)], "was/hére.md") == folder / "was/hére.md"


def test_a_name_that_is_no_text_has_no_id(folder: Path) -> None:
    with pytest.raises(NotFound):
        Root(folder).id_of(Path(os.fsdecode(os.fsencode(folder) + b"/\xff.md")))


@pytest.mark.parametrize("name", ["a/b", "..", " x", "x\n", "a\\b", "e\u0301"])
def test_roots_have_plain_names(folder: Path, name: str) -> None:
    with pytest.raises(UsageError):
        Root(folder, name)


def test_unknown_root_names_are_not_found(folder: Path) -> None:
    with pytest.raises(NotFound):
        path_of([Root(folder, "work")], "x.md")


def test_readable_shows_bytes_that_are_no_text() -> None:
    assert readable(os.fsdecode(b"a\xffb")) == "a\\xffb"
