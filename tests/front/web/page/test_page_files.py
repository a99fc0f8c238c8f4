"""What can be told of the page without a browser."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dowse._interfaces.http.server import PAGE

_FILES = sorted(PAGE.iterdir())


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def _tags() -> list[tuple[str, dict[str, str | None]]]:
    reader = _Reader()
    reader.feed((PAGE / "index.html").read_text("utf-8"))
    return reader.tags


def test_the_page_has_no_inline_script_or_style() -> None:
    for tag, attributes in _tags():
        assert tag != "style"
        assert "style" not in attributes
        assert not [name for name in attributes if name.startswith("on")]
        assert tag != "script" or attributes.get("src")


def test_everything_the_page_names_is_there() -> None:
    for _, attributes in _tags():
        for name in ("src", "href"):
            if attributes.get(name):
                assert (PAGE / str(attributes[name])).is_file()
    for file in PAGE.glob("*.js"):
        for module in re.findall(r'from "\./([\w.]+)"', file.read_text("utf-8")):
            assert (PAGE / module).is_file(), f"{file.name} imports {module}"


def test_each_id_is_given_once() -> None:
    ids = [attributes["id"] for _, attributes in _tags() if "id" in attributes]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("file", _FILES, ids=lambda file: file.name)
def test_no_file_reaches_outside_or_makes_markup_of_text(file: Path) -> None:
    text = file.read_text("utf-8")
    addresses = set(re.findall(r"https?://[^\s\"'`)]+", text))
    assert addresses <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text)
    assert not re.search(r"new Function|setAttribute\(\"style\"", text)
