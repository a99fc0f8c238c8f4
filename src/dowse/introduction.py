"""What a folder says about itself, in the first paragraph of its README or index note."""

from __future__ import annotations

from pathlib import Path

from dowse.read.decode import decode_any
from dowse.read.safe_open import Unreadable, read_regular
from dowse.text.file_names import INDEX_PAGES, without_ending
from dowse.text.markup import plain
from dowse.text.pieces import pieces

_MOST_BYTES = 100_000  # of the file: its first paragraph is near its start
_LONGEST = 200  # characters
_SHORTEST = 20  # of a paragraph that says something: badges and dates do not
_MARKDOWN = (".md", ".markdown", ".mdx")
_ORDER = ("readme", "index", "_index", "home")


def first_words(folder: Path) -> str:
    """The first paragraph of a folder's README, index or home note; empty when there is none."""
    for path in _candidates(folder):
        try:
            text, _ = decode_any(read_regular(path, _MOST_BYTES))
        except (Unreadable, OSError):
            continue
        if said := _first_paragraph(text):
            return said
    return ""


def _candidates(folder: Path) -> list[Path]:
    try:
        names = [one.name for one in folder.iterdir() if one.name.lower().endswith(_MARKDOWN)]
    except OSError:  # it is a file, or not there
        return []
    known = {one: without_ending(one).lower() for one in names}
    found = [one for one in names if known[one] in INDEX_PAGES | {"home"}]
    return [folder / one for one in sorted(found, key=lambda one: (_ORDER.index(known[one]), one))]


def _first_paragraph(text: str) -> str:
    for piece in pieces(text):
        said = " ".join(plain(piece.markup).split()) if piece.kind == "prose" else ""
        if len(said) >= _SHORTEST:
            return said if len(said) <= _LONGEST else f"{said[:_LONGEST].rstrip()} …"
    return ""
