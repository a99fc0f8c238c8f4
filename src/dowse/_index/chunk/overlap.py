"""How much of a chunk is said again at the start of the next."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from dowse._index.chunk.cut_points import before_joined
from dowse._model import Block
from dowse._text.scripts import is_unspaced
from dowse._text.sentences import sentence_ends

_SPACE = re.compile(r"\s")


def overlap_start(text: str, blocks: Sequence[Block], earliest: int, own_start: int) -> int:
    """Where a chunk whose own text starts at `own_start` begins; not before `earliest`.

    Nothing is repeated in front of a heading, which starts something new, and never a part of a
    fence or a table.
    """
    earliest = max(earliest, _reach_back(blocks, earliest, own_start))
    start = _good_place(text, earliest, own_start)
    while start < own_start and text[start].isspace():
        start += 1
    return start


def _reach_back(blocks: Sequence[Block], earliest: int, own_start: int) -> int:
    """How far back prose runs from `own_start`, and not further than to its heading."""
    number = bisect_left(blocks, own_start, key=lambda block: block.start)
    following = blocks[number : number + 1]
    if following and following[0].kind == "heading" and following[0].start == own_start:
        return own_start
    while number > 0:
        number -= 1
        block = blocks[number]
        if block.kind in ("fence", "table"):
            return min(block.end, own_start)
        if block.kind == "heading" or block.start < earliest:
            return block.start
    return 0


def _good_place(text: str, earliest: int, own_start: int) -> int:
    """The first line or sentence in the first half of the stretch, else its first word."""
    if earliest >= own_start:
        return own_start
    if earliest == 0 or text[earliest - 1] == "\n":
        return earliest
    middle = (earliest + own_start) // 2
    line = text.find("\n", earliest, middle)
    if found := next(sentence_ends(text, earliest, middle if line < 0 else line), 0):
        return found
    if line >= 0:
        return line
    if text[earliest - 1].isspace() or is_unspaced(text[earliest]):
        return before_joined(text, earliest, earliest - 1)
    word = _SPACE.search(text, earliest, own_start)
    return word.end() if word else own_start
