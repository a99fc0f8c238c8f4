"""What the name of a file says: how it is read, and what stands for its folder."""

from __future__ import annotations

import posixpath

from dowse import DISTRIBUTION

TEXT_ENDINGS = (".md", ".markdown", ".mdx", ".txt")
"""Endings of files that are read as they are; between files of one name the first is preferred."""

INDEX_PAGES = frozenset({"index", "_index", "readme"})
"""Names of files, without their ending, that stand for their folder."""


def is_plain(path: str) -> bool:
    """Return whether a file is plain text, in which no sign is Markdown."""
    return path.lower().endswith(".txt")


def media_type(path: str) -> str:
    """Return what a protocol calls the text of a document; converted files become Markdown."""
    return "text/plain" if is_plain(path) else "text/markdown"


def without_ending(path: str) -> str:
    """Remove the ending of a text file from a path; another one may be a part of the name."""
    stem, ending = posixpath.splitext(path)
    return stem if ending.lower() in TEXT_ENDINGS else path


# ── How a file is read, by its ending ───────────────────────────────────────────

TEXT = "text"
"""The kind of a file that is read as it is."""

CANVAS = "canvas"
"""The kind of a canvas of Obsidian, of which dowse makes Markdown itself."""

ALWAYS = frozenset({TEXT, CANVAS})
"""The kinds of files that need no converter."""

CONVERTED = ("pdf", "docx", "pptx", "xlsx", "xls", "csv", "html")
"""The kinds of files that become Markdown through a converter."""

_KINDS = {
    **dict.fromkeys(TEXT_ENDINGS, TEXT),
    ".htm": "html",
    ".canvas": CANVAS,
    **{f".{kind}": kind for kind in CONVERTED},
}

ENDINGS = tuple(sorted(_KINDS))
"""Every ending that can be a source, in lower case."""

INSTALL = (
    f"Files of this kind need a converter: pip install '{DISTRIBUTION}[formats]', "
    "or take the format out of the setting convert."
)
"""Why a file is left out when the libraries that convert it are not there."""


NOT_READ = {
    ".base": "dowse does not read bases of Obsidian: they say how notes are shown, and have no"
    " text of their own. The notes themselves are indexed."
}
"""By ending: why files that people expect to be read are not."""

READY = b"ready\n"
"""What the converting process says once it has loaded its libraries."""


def kind_of(name: str) -> str | None:
    """Say how a file of this name is read: as text, as one of `CONVERTED`, or not at all (None)."""
    dot = name.rfind(".")
    if dot <= 0 or name.startswith("~$"):  # "~$x.docx" is the lock of an open x.docx
        return None
    return _KINDS.get(name[dot:].lower())


def why_not_read(name: str) -> str:
    """Say why a file of this name is no source, where people expect that it is one."""
    return NOT_READ.get(name[name.rfind(".") :].lower(), "")
