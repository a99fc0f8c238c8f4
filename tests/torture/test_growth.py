"""Four times the text takes about four times as long, whatever the text repeats."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from document_patterns import FRAMED, PATTERNS, filled
from document_work import WORK

SIZE = 12_000  # characters
SMALLER = {"ask": 3_000}  # what takes longest
NOTICEABLE = 0.15  # seconds of the longer text; less than that is noise
MOST = 8.0  # 4 is linear, 16 is quadratic

FOUND = [
    (" ", "heading"), (" ", "author"), ("a\n=\n", "alone"), ("-", "heading"), ("\n", "alone"),
    (".", "alone"), ("<!--", "alone"), ("```\n", "alone"), ("?", "alone"),
]  # fmt: skip
"""The patterns that once took time that grew with the square of the text."""


def took(work: Callable[[str], None], text: str) -> float:
    start = time.process_time()
    work(text)
    return time.process_time() - start


def growth(step: str, unit: str, frame: str) -> float:
    """How many times longer four times the text takes; 0 when that is too quick to tell.

    Above some size a text may be read in another way. Such a step is no growth: what grows too
    fast must do so again from the longer text on.
    """
    work, size = WORK[step], SMALLER.get(step, SIZE)
    grown = _growth(work, unit, frame, size)
    return grown if grown < MOST else min(grown, _growth(work, unit, frame, 4 * size))


def _growth(work: Callable[[str], None], unit: str, frame: str, size: int) -> float:
    short, long = (filled(unit, frame, times * size) for times in (1, 4))
    first = took(work, long)
    if first < NOTICEABLE:
        return 0.0
    return min(first, took(work, long)) / min(took(work, short) for _ in range(3))


@pytest.mark.takes(31)
@pytest.mark.parametrize("step", WORK)
def test_four_times_the_text_takes_about_four_times_as_long(
    step: str, rounds: Callable[[int, int], int], tally: Callable[[str, object], None]
) -> None:
    others = [case for case in dict.fromkeys(PATTERNS + FRAMED) if case not in FOUND]
    tried = FOUND + others[:: rounds(60, 1)]
    grown = {case: growth(step, *case) for case in tried}
    worst = max(grown, key=lambda case: grown[case])

    tally(
        f"patterns tried on {step}; the worst growth for four times the text",
        f"{len(tried)}; {grown[worst]:.1f}",
    )
    assert grown[worst] < MOST, worst
