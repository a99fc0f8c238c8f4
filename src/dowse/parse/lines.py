"""Offset → line number."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cached_property

_LINE_FEED = re.compile("\n")


class LineNumbers:
    """The lines of one text, counted from 1; the text is only searched when a line is asked for."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _ends(self) -> list[int]:
        return [match.start() for match in _LINE_FEED.finditer(self._text)]

    def at(self, offset: int) -> int:
        """The line that the character at `offset` stands on; a line feed belongs to its line."""
        return bisect_left(self._ends, offset) + 1
