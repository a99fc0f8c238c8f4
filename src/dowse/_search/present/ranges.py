"""Passages of one document that follow each other, as one range."""

from __future__ import annotations

from collections.abc import Sequence

from dowse._model import StoredChunk

Range = tuple[StoredChunk, ...]
"""Passages that follow each other without a gap, in the order of the text."""

_LONGEST = 3000  # characters that are shown together: two passages of the largest size


def range_around(
    best: StoredChunk, others: Sequence[StoredChunk], longest: int = _LONGEST
) -> Range:
    """The passage with those of the others, best first, that touch it and fit."""
    around: Range = (best,)
    waiting = list(others)
    while near := next((one for one in waiting if _extends(around, one, longest)), None):
        waiting.remove(near)
        around = tuple(sorted((*around, near), key=_start))
    return around


def ranges(passages: Sequence[StoredChunk]) -> list[Range]:
    """The passages, those that follow each other together; the range of the first comes first."""
    runs: list[list[StoredChunk]] = []
    for one in sorted(passages, key=_start):
        if runs and _touches(runs[-1][-1], one):
            runs[-1].append(one)
        else:
            runs.append([one])
    order = {one.key: place for place, one in enumerate(passages)}
    return sorted(map(tuple, runs), key=lambda run: min(order[one.key] for one in run))


def text_of(run: Range) -> str:
    """The text of a range; what a passage repeats of the one before it is there once."""
    text, end = run[0].text, run[0].chunk.end
    for one in run[1:]:
        text += one.text[end - one.chunk.start :]
        end = one.chunk.end
    return text


def _start(one: StoredChunk) -> int:
    return one.chunk.start


def _touches(one: StoredChunk, following: StoredChunk) -> bool:
    return one.chunk.start < following.chunk.start <= one.chunk.end < following.chunk.end


def _extends(around: Range, one: StoredChunk, longest: int) -> bool:
    first, last = around[0], around[-1]
    if _touches(one, first):
        return last.chunk.end - one.chunk.start <= longest
    return _touches(last, one) and one.chunk.end - first.chunk.start <= longest
