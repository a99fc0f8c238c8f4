"""A second opinion on the first results, and what it does to the list."""

from __future__ import annotations

from collections.abc import Sequence


def reorder(
    scores: Sequence[float], new_scores: Sequence[float], mix: float
) -> list[tuple[int, float]]:
    """The old place and the score of each result, in the order that the new scores give.

    The new scores belong to the first results, whose score becomes `(1 - mix) * old + mix * new`;
    equals stay in their order. The rest follows, its scores capped so that none is above the last
    of those: scores that never increase down the list still do not.
    """
    mixed = [(1 - mix) * old + mix * new for old, new in zip(scores, new_scores, strict=False)]
    first = sorted(enumerate(mixed), key=lambda placed: -placed[1])
    cap = min(mixed, default=float("inf"))
    rest = [(place, min(scores[place], cap)) for place in range(len(mixed), len(scores))]
    return first + rest
