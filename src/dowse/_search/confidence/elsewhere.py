"""How near a query is to other documentation than the user's own.

A query that was meant for other documents is often nearer to them than to anything here. So 2,000
passages of other documentation ship with dowse, as the vectors of its own model; docs/models.md
says what they are of, and training/elsewhere.py makes them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from dowse._model import Matrix, Vector

LEAST = 0.3
"""A query that is farther from everything counts as being so near: nonsense is near nothing."""

USUAL = 0.35
"""How near queries are on average, for models whose vectors cannot be compared with these."""

_NEAREST = 5


def elsewhere(vector: Vector) -> float:
    """The mean cosine of a query of the model that ships with the nearest of the passages."""
    # Row by row: a product of matrices would wait for threads that it does not need.
    cosines = np.partition(np.vecdot(_passages(), vector), -_NEAREST)
    return max(LEAST, float(cosines[-_NEAREST:].mean()))


@cache
def _passages() -> Matrix:
    vectors: Matrix = np.load(Path(__file__).with_suffix(".npy")).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors
