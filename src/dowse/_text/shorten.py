"""Cutting a text where a reader can bear it."""

from __future__ import annotations

import math
import re

from dowse._text.sentences import sentence_ends

_SIGN = "…"
_ENOUGH = 0.5  # share of the room that a cut must fill
# What a cut at the end of a sentence or line may leave of the room: characters, or a share of it.
_LEFT, _SHARE_LEFT = 160, 0.1


def shorten(text: str, size: int, left: int = _LEFT, share: float = _SHARE_LEFT) -> str:
    """The text, or as much of it as `size` characters hold with the sign that it goes on.

    It ends at a sentence or line where that leaves no more of the room than `left` characters, or
    than a share of it; otherwise it ends at a word.
    """
    if len(text) <= size:
        return text
    start = text[: max(0, size - 2)]
    kept = _at_boundary(start, text, max(left, share * len(start)))
    return f"{kept} {_SIGN}" if kept else ""


def _at_boundary(start: str, text: str, left: float) -> str:
    """The beginning cut back to the end of a sentence or line, or else of a word."""
    size = len(start)
    least = math.ceil(max(_ENOUGH * size, size - left))
    line = text.rfind("\n", least, len(start) + 1)
    ends = (end for end in sentence_ends(text, least, len(start) + 1) if end <= len(start))
    if (last := max((line, *ends))) >= least:
        return start[:last].rstrip()
    whole_words = re.match(r".*(?=\s)", start, re.DOTALL)
    if whole_words and len(whole_words[0]) >= _ENOUGH * len(start):
        return whole_words[0].rstrip()
    return start.rstrip()
