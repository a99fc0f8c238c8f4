"""Maximal marginal relevance (Carbonell and Goldstein, 1998)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dowse.refine.cosines import cosines, directions
from dowse.types import Vector


def select_diverse(
    relevance: Sequence[float], vectors: Sequence[Vector | None], count: int, balance: float
) -> list[int]:
    """The places of `count` results that are relevant and unlike each other, ascending.

    One after the other is selected for `balance` times its relevance minus the rest times its
    highest cosine to what is selected; that is 0 for the first and for what has no vector. Equals
    are selected in their order, so a balance of 1 selects the first `count`.
    """
    if count >= len(relevance):
        return list(range(len(relevance)))
    rows = directions(vectors)
    gain = balance * np.asarray(relevance, np.float64)
    likeness = np.zeros(len(relevance))
    selected: list[int] = []
    while len(selected) < count:
        worth = gain - (1 - balance) * likeness
        worth[selected] = -np.inf
        best = int(np.argmax(worth))
        closeness = cosines(rows, rows[best])
        likeness = np.maximum(likeness, closeness) if selected else closeness
        selected.append(best)
    return sorted(selected)
