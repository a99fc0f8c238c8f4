"""Strategies whose scores hardly differ lose weight."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Annotated

from msgspec import Meta, Struct

from dowse._model import Ranking, Scores
from dowse._search.state import SearchState
from dowse._util.bounds import SHARE, check_bounds


class DynamicWeightsOptions(Struct, frozen=True):
    """Whether a strategy whose scores hardly differ loses weight."""

    enabled: Annotated[bool, "Lower the weight of strategies whose scores hardly differ."] = False
    min_factor: Annotated[float, SHARE, "Lowest factor that a weight is multiplied by (0–1)."] = 0.5
    variance_threshold: Annotated[
        float,
        Meta(gt=0, le=1),
        "Variance of scaled scores at or above which a strategy keeps its weight.",
    ] = 0.1

    def __post_init__(self) -> None:
        """Rejects what no weight could be computed with."""
        check_bounds(self, "dynamic_weights")


def adjust_weights(search: SearchState) -> None:
    """Takes weight from strategies whose scores hardly differ."""
    options = search.settings.dynamic_weights
    search.weights |= dynamic_weights(
        search.rankings,
        search.weights,
        min_factor=options.min_factor,
        variance_threshold=options.variance_threshold,
    )


def dynamic_weights(
    rankings: Iterable[Ranking],
    weights: Mapping[str, float],
    *,
    min_factor: float,
    variance_threshold: float,
) -> dict[str, float]:
    """Moves weight from strategies whose scores are close together to the others.

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
    """From `min_factor` for no variance to 1 at or above the threshold."""
    if variance >= variance_threshold:
        return 1.0
    return min(1.0, max(min_factor, variance / variance_threshold))


def _variance(scores: Scores) -> float:
    """The population variance of the scores as parts of the largest.

    A negative score, such as the cosine of an opposite, counts as 0. If none is above 0, the
    variance is 0.
    """
    largest = max(score for _, score in scores)
    if largest <= 0:
        return 0.0
    parts = [max(0.0, score) / largest for _, score in scores]
    mean = math.fsum(parts) / len(parts)
    return math.fsum((part - mean) ** 2 for part in parts) / len(parts)
