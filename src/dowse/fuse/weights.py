"""Weights that follow how clearly a strategy tells its results apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from dowse.types import Ranking, Scores


def dynamic_weights(
    rankings: Iterable[Ranking],
    weights: Mapping[str, float],
    *,
    min_factor: float,
    variance_threshold: float,
) -> dict[str, float]:
    """Moves weight from strategies whose scores lie close together to those that are decided.

    The weights of the strategies that found something keep their sum; all others stay as they are.
    """
    factors = {
        ranking.strategy: _factor(_variance(ranking.scores), min_factor, variance_threshold)
        for ranking in rankings
        if ranking.scores
    }
    old = {strategy: weights.get(strategy, 1.0) for strategy in factors}
    new = {strategy: old[strategy] * factor for strategy, factor in factors.items()}
    total = math.fsum(new.values())
    if total <= 0:  # nothing is left that could be scaled up again
        return {**weights, **old}
    scale = math.fsum(old.values()) / total
    return {**weights, **{strategy: weight * scale for strategy, weight in new.items()}}


def _factor(variance: float, min_factor: float, variance_threshold: float) -> float:
    """From `min_factor` for no variance to 1 from the threshold on."""
    if variance >= variance_threshold:
        return 1.0
    return min(1.0, max(min_factor, variance / variance_threshold))


def _variance(scores: Scores) -> float:
    """The population variance of the scores as parts of the largest.

    A negative score, such as the cosine of an opposite, counts as 0; if none is above 0, nothing
    was told apart.
    """
    largest = max(score for _, score in scores)
    if largest <= 0:
        return 0.0
    parts = [max(0.0, score) / largest for _, score in scores]
    mean = math.fsum(parts) / len(parts)
    return math.fsum((part - mean) ** 2 for part in parts) / len(parts)
