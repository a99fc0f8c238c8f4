"""Texts that say the same in other words: the cosine of their vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dowse.refine.cosines import cosines, directions
from dowse.types import Vector


def semantic_duplicates(vectors: Sequence[Vector | None], threshold: float) -> dict[int, int]:
    """The place of each vector that is close to a better placed one that stays, and of that one.

    What has no vector is never a duplicate.
    """
    rows = directions(vectors)
    stays = np.zeros(len(vectors), np.bool_)
    found: dict[int, int] = {}
    for place, vector in enumerate(vectors):
        if vector is None:
            continue
        close = (cosines(rows[:place], rows[place]) >= threshold) & stays[:place]
        if close.any():
            found[place] = int(np.argmax(close))
        else:
            stays[place] = True
    return found
