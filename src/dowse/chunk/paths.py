"""A stretch of text → the headings that all of it lies under, and its lines."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import takewhile

from dowse.types import Heading

_LINE_FEED = re.compile("\n")


class HeaderPaths:
    """The headings of one document, each with those that it lies under."""

    def __init__(self, headings: Sequence[Heading]) -> None:
        self._texts = [heading.text for heading in headings]
        self._starts = [heading.start for heading in headings]
        self._chains: list[tuple[int, ...]] = []
        opened: list[int] = []
        for number, heading in enumerate(headings):
            while opened and headings[opened[-1]].level >= heading.level:
                opened.pop()
            opened.append(number)
            self._chains.append(tuple(opened))

    def shared(self, start: int, end: int) -> tuple[str, ...]:
        """The path that everything from `start` to `end` lies under."""
        first = bisect_right(self._starts, start) - 1
        if first < 0:
            return ()
        chains = self._chains[first : max(first + 1, bisect_left(self._starts, end))]
        # In the order of tuples, what the first and the last share is shared by all between.
        pairs = zip(min(chains), max(chains), strict=False)
        common = [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
        return tuple(self._texts[number] for number in common if self._texts[number])


class Lines:
    """The lines of one text, counted from 1."""

    def __init__(self, text: str) -> None:
        self._ends = [match.start() for match in _LINE_FEED.finditer(text)]

    def at(self, offset: int) -> int:
        """The line that the character at `offset` stands on; a line feed belongs to its line."""
        return bisect_left(self._ends, offset) + 1
