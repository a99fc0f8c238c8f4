"""Paths in drawn lines that a terminal can open (OSC 8)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from rich.style import Style
from rich.text import Text


def with_links(lines: Iterable[Text], files: Mapping[str, Path]) -> Iterator[Text]:
    """The lines, with each of these documents linked to its file where a line names it."""
    longest_first = sorted(files, key=len, reverse=True)
    for line in lines:
        named = next((name for name in longest_first if _place(line, name) >= 0), None)
        if named is not None:
            start = _place(line, named)
            line.stylize(Style(link=files[named].as_uri()), start, start + len(named))
        yield line


def _place(line: Text, name: str) -> int:
    """Where a line begins with a name, blanks aside."""
    start = len(line.plain) - len(line.plain.lstrip())
    return start if line.plain.startswith(name, start) else -1
