"""How alike results are in meaning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from dowse._model import Vector
from dowse._util.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Directions: TypeAlias = "NDArray[np.float64]"
"""One row of unit length per result; a row of zeros where there is no vector."""

_PLACES = 6  # decimals that vectors of single precision can be trusted for


def directions(vectors: Sequence[Vector | None]) -> Directions:
    """The vectors as rows that can be compared."""
    dimensions = max((len(vector) for vector in vectors if vector is not None), default=0)
    rows = np.zeros((len(vectors), dimensions))
    for row, vector in zip(rows, vectors, strict=True):
        if vector is not None:
            row[:] = vector
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def cosines(rows: Directions, row: NDArray[np.float64]) -> NDArray[np.float64]:
    """The cosine of each of the rows to one; 0 where there is no vector.

    Rounded, so that equal vectors reach 1 exactly. Each pair is multiplied on its own: a product of
    matrices would let its neighbours choose the order of additions, and start threads for it.
    """
    products: NDArray[np.float64] = np.vecdot(rows, row)
    return np.round(products, _PLACES)
