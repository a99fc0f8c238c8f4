"""Convex combination of normalised scores (Bruch, Gai and Ingber, 2023), weighted by strategy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from dowse._model import ChunkKey, Place, Ranking

Normalisation = Literal["ceiling", "minmax", "zscore"]
"""How the scores of a ranking are brought to a common scale."""


def fuse_by_score(
    rankings: Iterable[Ranking], weights: Mapping[str, float], normalise: Normalisation
) -> dict[ChunkKey, list[Place]]:
    """Gives each chunk its normalised score in each ranking, times the ranking's share of weight.

    A chunk's fused score is the sum of its contributions: a weighted mean, from 0 to 1 but for
    rounding. The shares are among the rankings that found something; a ranking that knows no score
    of a chunk gives it nothing.
    """
    found = [ranking for ranking in rankings if ranking.scores]
    # An exact sum, so that the order of the rankings cannot move a bit.
    total = math.fsum(weights.get(ranking.strategy, 1.0) for ranking in found)
    places: dict[ChunkKey, list[Place]] = {}
    for ranking in found:
        share = weights.get(ranking.strategy, 1.0) / total if total else 0.0
        known = [*ranking.scores, *ranking.others]
        normalised = _NORMALISE[normalise]([score for _, score in known], ranking.ceiling)
        for place, ((key, score), level) in enumerate(zip(known, normalised, strict=True), start=1):
            rank = place if place <= len(ranking.scores) else None
            places.setdefault(key, []).append(Place(ranking.strategy, rank, score, share * level))
    return places


def _below_ceiling(scores: Sequence[float], ceiling: float) -> list[float]:
    """As parts of the most that there could be, so that a weak match stays weak.

    Where that is not known, as parts of the best.
    """
    most = ceiling if ceiling > 0 else max(scores)
    return [min(1.0, max(0.0, score) / most) if most > 0 else 0.0 for score in scores]


def _between_extremes(scores: Sequence[float], _: float) -> list[float]:
    """From 0 for the lowest to 1 for the highest; 1 for all when they are equal."""
    lowest, highest = min(scores), max(scores)
    if lowest == highest:
        return [1.0] * len(scores)
    return [(score - lowest) / (highest - lowest) for score in scores]


def _above_mean(scores: Sequence[float], _: float) -> list[float]:
    """The logistic function of the deviations above the mean; one half for all that are equal.

    Cutting at some number of deviations instead would make the best of a long ranking equal, just
    where its order matters most.
    """
    mean = math.fsum(scores) / len(scores)
    deviation = math.dist(scores, [mean] * len(scores)) / math.sqrt(len(scores))
    if deviation == 0 or min(scores) == max(scores):  # the mean of equals may be a rounding off
        return [0.5] * len(scores)
    return [0.5 + 0.5 * math.tanh((score - mean) / deviation / 2) for score in scores]


_NORMALISE: Mapping[Normalisation, Callable[[Sequence[float], float], list[float]]] = {
    "ceiling": _below_ceiling,
    "minmax": _between_extremes,
    "zscore": _above_mean,
}
