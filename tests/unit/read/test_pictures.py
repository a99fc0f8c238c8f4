"""Which pictures can be shown: those inside the root, as documents name them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse._index.options import ReadOptions
from dowse._index.source.load import MOST_BYTES, read_picture
from dowse._index.source.roots import Root
from dowse.errors import NotFound

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
SVG = b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>'


@pytest.fixture
def vault(folder: Path) -> Path:
    """A document in a folder, and pictures in other places."""
    files = {
        "guides/a.md": b"# A",
        "guides/near.png": PNG,
        "img/up.png": PNG,
        "static/img/site.svg": SVG,
        "attachments/2024/Far away.png": PNG,
        "guides/fake.png": b"secret text",
        ".obsidian/hidden.png": PNG,
        "build/ignored.png": PNG,
        "guides/keys.txt": PNG,
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / ".gitignore").write_text("build/\n")
    (folder / ".git").mkdir()
    (folder.parent / "outside.png").write_bytes(PNG)
    (folder / "guides" / "link.png").symlink_to(folder.parent / "outside.png")
    (folder / "guides" / "inner.png").symlink_to(folder / "img" / "up.png")
    return folder


def _type(vault: Path, name: str) -> str:
    return read_picture([Root(vault)], ReadOptions(), "guides/a.md", name).type


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("near.png", "image/png"),
        ("./near.png", "image/png"),
        ("../img/up.png", "image/png"),
        ("/img/up.png", "image/png"),
        ("img\\up.png", "image/png"),
        ("/img/site.svg", "image/svg+xml"),
        ("far away.png", "image/png"),
        ("2024/Far away.png", "image/png"),
    ],
)
def test_pictures_are_found_as_documents_name_them(vault: Path, name: str, kind: str) -> None:
    assert _type(vault, name) == kind


@pytest.mark.parametrize(
    "name",
    [
        "../../outside.png",
        "/../outside.png",
        "../guides/../../outside.png",
        "link.png",
        "inner.png",
        "fake.png",
        "hidden.png",
        "../.obsidian/hidden.png",
        "ignored.png",
        "../build/ignored.png",
        "nowhere.png",
        "..",
        "/",
        "",
        "near.png\0",
    ],
)
def test_nothing_outside_hidden_ignored_or_false_is_read(vault: Path, name: str) -> None:
    with pytest.raises(NotFound):
        _type(vault, name)


def test_an_absolute_path_of_the_system_is_looked_for_in_the_root(vault: Path) -> None:
    with pytest.raises(NotFound):
        _type(vault, str(vault.parent / "outside.png"))


def test_a_picture_that_is_too_large_is_refused(vault: Path) -> None:
    with (vault / "guides" / "huge.png").open("wb") as file:
        file.write(PNG)
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(NotFound, match="bytes"):
        _type(vault, "huge.png")


def test_a_single_file_as_a_project_has_no_pictures(vault: Path) -> None:
    with pytest.raises(NotFound):
        read_picture([Root(vault / "guides" / "a.md")], ReadOptions(), "a.md", "near.png")
