"""Words that are spelled nearly like another.

Spellings are compared in the optimal string alignment distance: a letter too many, too few, wrong,
or swapped with its neighbour is one slip each.
"""

from __future__ import annotations

from collections.abc import Sequence


def slips_in(word: str) -> int:
    """How many slips are forgiven in a word."""
    return (len(word) >= 4) + (len(word) >= 8)


def nearly(word: str, known: Sequence[str]) -> dict[str, int]:
    """The known words that are spelled nearly as a word is, with their distance to it."""
    # Loaded when a word is misspelled, which most commands never meet.
    from rapidfuzz import process  # noqa: PLC0415
    from rapidfuzz.distance import OSA  # noqa: PLC0415

    found = process.extract(
        word, known, scorer=OSA.distance, score_cutoff=slips_in(word), limit=None
    )
    return {other: int(distance) for other, distance, _ in found if other != word}
