"""A result as one line for editors and pipes: `path:line:column:text`, as grep prints it."""

from __future__ import annotations

import re

from dowse.types import Hit

_MARKED = re.compile(r"(?<!\\)\*\*(.+?)(?<!\\)\*\*")


def grep_line(hit: Hit, path: str) -> str:
    """The line of a result that has the most of what was asked for."""
    words = {word.casefold() for word in _MARKED.findall(hit.snippet)}
    lines = hit.text.split("\n")
    place = max(range(len(lines)), key=lambda one: (_held(lines[one], words), -one))
    text = lines[place]
    return f"{path}:{hit.first_line + place}:{_column(text, words)}:{text.rstrip()}"


def _held(line: str, words: set[str]) -> int:
    folded = line.casefold()
    return 2 * sum(word in folded for word in words) + bool(folded.strip())


def _column(line: str, words: set[str]) -> int:
    """Where the first of the words begins, from 1."""
    folded = line.casefold()
    return 1 + min((folded.find(word) for word in words if word in folded), default=0)
