"""How alike results are in meaning, each to each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dowse.types import Vector

_PLACES = 6  # decimals that vectors of single precision can be trusted for


def cosines(vectors: Sequence[Vector | None]) -> NDArray[np.float64]:
    """The cosine of every pair; 0 where a vector is missing, also with itself."""
    known = [vector for vector in vectors if vector is not None]
    table = np.zeros((len(vectors), len(vectors)))
    if known:
        rows = np.stack(known).astype(np.float64)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows /= np.where(lengths > 0, lengths, 1)
        at = [place for place, vector in enumerate(vectors) if vector is not None]
        # Rounded, so that equal vectors reach 1 and the order of additions decides nothing.
        table[np.ix_(at, at)] = np.round(rows @ rows.T, _PLACES)
    return table
