"""What the name of a file says about the document in it."""

from __future__ import annotations

import posixpath

TEXT_ENDINGS = (".md", ".markdown", ".mdx", ".txt")
"""Endings of files that are read as they are; between files of one name the first is preferred."""

INDEX_PAGES = frozenset({"index", "_index", "readme"})
"""Names of files, without their ending, that stand for their folder."""


def is_plain(path: str) -> bool:
    """Whether a file is plain text, in which no sign is Markdown."""
    return path.lower().endswith(".txt")


def media_type(path: str) -> str:
    """What a protocol calls the text of a document; converted files become Markdown."""
    return "text/plain" if is_plain(path) else "text/markdown"


def without_ending(path: str) -> str:
    """The path without the ending of a text file; another ending may be a part of the name."""
    stem, ending = posixpath.splitext(path)
    return stem if ending.lower() in TEXT_ENDINGS else path
