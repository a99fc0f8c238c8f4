"""Weights by variance, checked against figures computed by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dowse._model import Ranking
from dowse._search.fusion import dynamic_weights

WEIGHTS = {"semantic": 1.0, "keyword": 1.0, "code": 1.0, "graph": 0.5}


def _ranking(strategy: str, scores: Sequence[float]) -> Ranking:
    return Ranking(strategy, list(enumerate(scores)))


def _weights(
    *rankings: Ranking,
    weights: dict[str, float] | None = None,
    min_factor: float = 0.5,
    variance_threshold: float = 0.1,
) -> dict[str, float]:
    return dynamic_weights(
        rankings,
        WEIGHTS if weights is None else weights,
        min_factor=min_factor,
        variance_threshold=variance_threshold,
    )


# As parts of the largest: 1 and 0, variance 0.25; 1 and 0.6, variance 0.04.
DECIDED = _ranking("keyword", [8.0, 0.0])
UNSURE = _ranking("semantic", [0.5, 0.3])


def test_weight_moves_to_the_decided() -> None:
    # Factors 1 and 0.4, so 1 + 0.4 is scaled back to 2.
    found = _weights(DECIDED, UNSURE, min_factor=0.1)
    assert found == pytest.approx(WEIGHTS | {"keyword": 2 / 1.4, "semantic": 0.8 / 1.4})


def test_no_factor_is_below_the_least() -> None:
    # 0.4 is raised to 0.5.
    found = _weights(DECIDED, UNSURE)
    assert found == pytest.approx(WEIGHTS | {"keyword": 2 / 1.5, "semantic": 1 / 1.5})


def test_weights_that_differ_keep_their_proportion_as_well() -> None:
    graph = _ranking("graph", [1.0, 0.6])
    # 1 · 1 and 0.5 · 0.4, scaled to 1.5.
    found = _weights(DECIDED, graph, min_factor=0.0)
    assert found == pytest.approx(WEIGHTS | {"keyword": 1.25, "graph": 0.25})


def test_the_same_variance_changes_nothing() -> None:
    other = _ranking("code", [4.0, 2.4])
    assert _weights(UNSURE, other, min_factor=0.1) == pytest.approx(WEIGHTS)


def test_one_strategy_keeps_its_weight() -> None:
    assert _weights(UNSURE) == pytest.approx(WEIGHTS)


@pytest.mark.parametrize("scores", [[0.7], [0.7, 0.7], [0.0, 0.0], [-0.2, -0.9], [-0.5]])
def test_what_says_nothing_apart_gets_the_least(scores: list[float]) -> None:
    found = _weights(DECIDED, _ranking("semantic", scores))
    assert found == pytest.approx(WEIGHTS | {"keyword": 2 / 1.5, "semantic": 1 / 1.5})


def test_a_negative_score_counts_as_none() -> None:
    none, below = _ranking("semantic", [0.5, 0.4, 0.0]), _ranking("semantic", [0.5, 0.4, -0.5])
    expected = _weights(DECIDED, none, variance_threshold=0.25)
    assert expected["semantic"] < 1  # so a larger variance would show
    assert _weights(DECIDED, below, variance_threshold=0.25) == expected


def test_what_found_nothing_neither_gives_nor_takes() -> None:
    empty = _ranking("code", [])
    assert _weights(DECIDED, UNSURE, empty) == _weights(DECIDED, UNSURE)
    assert _weights(empty) == WEIGHTS
    assert _weights() == WEIGHTS


def test_when_no_weight_would_be_left_all_stay() -> None:
    one, other = _ranking("keyword", [3.0]), _ranking("semantic", [0.5])
    assert _weights(one, other, min_factor=0.0) == WEIGHTS
    assert _weights(DECIDED, weights={"keyword": 0.0}) == {"keyword": 0.0}


def test_a_threshold_of_nothing_lets_everything_pass() -> None:
    one = _ranking("semantic", [0.5])
    assert _weights(DECIDED, one, variance_threshold=0.0) == pytest.approx(WEIGHTS)


def test_a_strategy_without_a_weight_counts_once() -> None:
    assert _weights(DECIDED, weights={}) == {"keyword": 1.0}


def test_the_weights_handed_in_stay_as_they_are() -> None:
    mine = dict(WEIGHTS)
    _weights(DECIDED, UNSURE, weights=mine)
    assert mine == WEIGHTS
