"""Offset → line number."""

from __future__ import annotations

from functools import cached_property
from itertools import accumulate

_STEP = 1024  # characters between two places whose line is known


class LineNumbers:
    """The lines of one text, counted from 1; the text is only searched when a line is asked for.

    A list of all line ends would take forty times as much memory as a text of empty lines.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _before(self) -> list[int]:
        """How many line feeds there are before every place."""
        text = self._text
        steps = (text.count("\n", place, place + _STEP) for place in range(0, len(text), _STEP))
        return list(accumulate(steps, initial=0))

    def at(self, offset: int) -> int:
        """Return the line of the character at `offset`; a line feed belongs to its line."""
        step = min(max(0, offset) // _STEP, len(self._before) - 1)
        return self._before[step] + self._text.count("\n", step * _STEP, max(0, offset)) + 1
