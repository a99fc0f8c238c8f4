"""A stretch of text → the headings above all of it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import takewhile

from dowse._model import Heading


class HeaderPaths:
    """The headings of one document, each with those above it."""

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
        """The headings above everything from `start` to `end`."""
        first = bisect_right(self._starts, start) - 1
        if first < 0:
            return ()
        chains = self._chains[first : max(first + 1, bisect_left(self._starts, end))]
        # In the order of tuples, what the first and the last share is shared by all between.
        pairs = zip(min(chains), max(chains), strict=False)
        common = [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
        return tuple(self._texts[number] for number in common if self._texts[number])
