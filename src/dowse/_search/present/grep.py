"""A result as one line for editors and pipes: `path:line:column:text`, as grep prints it."""

from __future__ import annotations

import re

from dowse._model import Hit

_MARKED = re.compile(r"(?<!\\)\*\*(.+?)(?<!\\)\*\*")


def grep_line(hit: Hit, path: str) -> str:
    """The line of a result where the match is."""
    words = {word.casefold() for word in _MARKED.findall(hit.snippet)}
    lines = hit.text.split("\n")
    text = lines[min(max(0, hit.line - hit.first_line), len(lines) - 1)]
    return f"{path}:{hit.line}:{_column(text, words)}:{text.rstrip()}"


def _column(line: str, words: set[str]) -> int:
    """Where the first of the words begins, from 1."""
    folded = line.casefold()
    return 1 + min((folded.find(word) for word in words if word in folded), default=0)
