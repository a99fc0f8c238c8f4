"""How good a ranking is, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray


def ndcg(ranked: Sequence[int], grades: Mapping[int, int], depth: int = 10) -> float:
    """The nDCG of a ranking (Järvelin and Kekäläinen, 2002), with linear gains."""
    discounts = 1 / np.log2(np.arange(2, depth + 2))
    gains = [grades.get(one, 0) for one in ranked[:depth]]
    ideal = sorted(grades.values(), reverse=True)[:depth]
    best = float(np.dot(ideal, discounts[: len(ideal)]))
    return float(np.dot(gains, discounts[: len(gains)])) / best if best else 0.0


def interval(
    differences: Sequence[float] | NDArray[np.float64], rounds: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """The 95 % bootstrap interval of a mean over queries."""
    values = np.asarray(differences, np.float64)
    rng = np.random.default_rng(seed)
    means = [rng.choice(values, len(values)).mean() for _ in range(rounds)]
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)
