"""The description of a project: by the user, or its dowse.toml, or its README.

Agents get it before anything else is loaded, so this imports little.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from dowse._text.file_names import INDEX_PAGES, without_ending
from dowse._text.markdown import pieces, plain
from dowse._util.files import UNREADABLE, read_small

LONGEST = 500
"""Characters of a description."""

_PARAGRAPH = 200  # characters of a paragraph that are shown
_ORDER = ("readme", "index", "_index")


def introduction(described: str, folder: Path) -> str:
    """Describe a project as the user does, or as its folder does; it may be empty."""
    return described or _of_table(_project_table(folder / "dowse.toml")) or first_words(folder)


def introduction_of(file: Path) -> str:
    """Describe the project whose project.toml this is."""
    table = _project_table(file)
    match table.get("roots"):
        case [str(first), *_]:
            return introduction(_of_table(table), Path(first))
    return _of_table(table)


def first_words(folder: Path) -> str:
    """Return the first paragraph of a folder's README or index note; empty without one."""
    try:
        names = [
            one.name
            for one in folder.iterdir()
            if one.name.lower().endswith((".md", ".markdown", ".mdx"))
        ]
    except OSError:  # it is a file, or not there
        return ""
    known = {one: without_ending(one).lower() for one in names}
    for name in sorted(
        (one for one in names if known[one] in INDEX_PAGES),
        key=lambda one: (_ORDER.index(known[one]), one),
    ):
        try:
            text = read_small(folder / name).decode("utf-8-sig")
        except UNREADABLE:
            continue
        for piece in pieces(text):
            found = " ".join(plain(piece.markup).split()) if piece.kind == "prose" else ""
            if len(found) >= 20:  # badges and dates are shorter
                return found if len(found) <= _PARAGRAPH else f"{found[:_PARAGRAPH].rstrip()} …"
    return ""


def _project_table(file: Path) -> dict[str, Any]:
    try:
        table = tomllib.loads(read_small(file).decode("utf-8")).get("project", {})
    except UNREADABLE:
        return {}
    return table if isinstance(table, dict) else {}


def _of_table(table: dict[str, Any]) -> str:
    text = table.get("description", "")
    return " ".join(text.split())[:LONGEST] if isinstance(text, str) else ""
