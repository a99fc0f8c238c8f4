"""How much a term weighs because few texts hold it."""

from __future__ import annotations

import math


def rarity(held: int, size: int) -> float:
    """BM25's weight of a term that `held` of `size` chunks hold (Robertson and Zaragoza, 2009).

    A term that nothing holds weighs most.
    """
    return math.log(1 + (max(size, held) - held + 0.5) / (held + 0.5))
