"""Fusion by score, checked against figures computed by hand."""

from __future__ import annotations

import math

import pytest

from dowse._model import Place, Ranking
from dowse._search.fusion import Normalisation, fuse_by_score

SEMANTIC = Ranking("semantic", [(1, 0.8), (2, 0.6), (3, 0.4)])
KEYWORD = Ranking("keyword", [(2, 12.0), (4, 3.0)])


def _sums(fused: dict[int, list[Place]]) -> dict[int, float]:
    return {key: sum(place.contribution for place in places) for key, places in fused.items()}


def test_a_weighted_mean_of_scores_between_the_extremes() -> None:
    fused = fuse_by_score([SEMANTIC, KEYWORD], {"semantic": 0.6, "keyword": 0.4}, "minmax")
    # 1: 0.6 · 1; 2: 0.6 · 0.5 + 0.4 · 1; 3: 0.6 · 0; 4: 0.4 · 0
    assert _sums(fused) == pytest.approx({1: 0.6, 2: 0.7, 3: 0.0, 4: 0.0})


def test_scores_by_their_deviation_from_the_mean() -> None:
    fused = fuse_by_score([SEMANTIC], {}, "zscore")
    # Mean 0.6, deviation 0.2 · √(2/3), so the first lies √1.5 deviations above the mean.
    first = 1 / (1 + math.exp(-math.sqrt(1.5)))
    assert _sums(fused) == pytest.approx({1: first, 2: 0.5, 3: 1 - first})


def test_places_have_the_same_shape_as_those_by_rank() -> None:
    fused = fuse_by_score([SEMANTIC, KEYWORD], {}, "minmax")
    semantic, keyword = fused[2]
    assert (semantic.strategy, semantic.rank, semantic.score) == ("semantic", 2, 0.6)
    assert semantic.contribution == pytest.approx(0.25)
    assert keyword == Place("keyword", 1, 12.0, 0.5)


def test_weights_count_relative_to_each_other() -> None:
    small = fuse_by_score([SEMANTIC, KEYWORD], {"semantic": 0.5, "keyword": 0.25}, "minmax")
    large = fuse_by_score([SEMANTIC, KEYWORD], {"semantic": 4.0, "keyword": 2.0}, "minmax")
    assert small == large


def test_a_strategy_without_a_weight_counts_once() -> None:
    known = fuse_by_score([SEMANTIC, KEYWORD], {"semantic": 1.0, "keyword": 1.0}, "minmax")
    assert fuse_by_score([SEMANTIC, KEYWORD], {}, "minmax") == known


def test_what_found_nothing_takes_no_part() -> None:
    empty = Ranking("graph", [])
    weights = {"semantic": 1.0, "graph": 3.0}
    fused = fuse_by_score([SEMANTIC, empty], weights, "minmax")
    assert fused == fuse_by_score([SEMANTIC], weights, "minmax")
    assert _sums(fused)[1] == 1.0


def test_a_ranking_without_weight_still_shows_its_places() -> None:
    fused = fuse_by_score([SEMANTIC, KEYWORD], {"keyword": 0.0}, "minmax")
    assert fused[4] == [Place("keyword", 2, 3.0, 0.0)]
    assert _sums(fused)[1] == 1.0


def test_no_weight_at_all_gives_nothing_to_anybody() -> None:
    fused = fuse_by_score([SEMANTIC, KEYWORD], {"semantic": 0.0, "keyword": 0.0}, "minmax")
    assert set(_sums(fused).values()) == {0.0}
    assert set(fused) == {1, 2, 3, 4}


@pytest.mark.parametrize(("normalise", "level"), [("minmax", 1.0), ("zscore", 0.5)])
@pytest.mark.parametrize("scores", [[0.1], [0.1] * 3, [-2.5] * 7, [0.0, 0.0]])
def test_equal_scores(normalise: Normalisation, level: float, scores: list[float]) -> None:
    fused = fuse_by_score([Ranking("code", list(enumerate(scores)))], {}, normalise)
    assert set(_sums(fused).values()) == {level}


@pytest.mark.parametrize("normalise", ["minmax", "zscore"])
def test_negative_scores_are_as_good_as_others(normalise: Normalisation) -> None:
    below = Ranking("semantic", [(1, -0.1), (2, -0.3), (3, -0.5)])
    assert _sums(fuse_by_score([below], {}, normalise)) == pytest.approx(
        _sums(fuse_by_score([SEMANTIC], {}, normalise))
    )


def test_the_best_of_many_stay_apart() -> None:
    # Both lie more than three deviations above the mean.
    scores = [(1, 10.0), (2, 9.0), *((key, 1.0) for key in range(3, 100))]
    sums = _sums(fuse_by_score([Ranking("keyword", scores)], {}, "zscore"))
    assert 1 > sums[1] > sums[2] > sums[3]


@pytest.mark.parametrize("normalise", ["minmax", "zscore"])
def test_scores_that_hardly_differ_are_no_trouble(normalise: Normalisation) -> None:
    scores = [(1, 5e-324), *((key, 0.0) for key in range(2, 10))]
    sums = _sums(fuse_by_score([Ranking("keyword", scores)], {}, normalise))
    assert 0 <= sums[2] <= sums[1] <= 1


@pytest.mark.parametrize("normalise", ["minmax", "zscore"])
def test_nothing_gives_nothing(normalise: Normalisation) -> None:
    assert fuse_by_score([], {}, normalise) == {}
    assert fuse_by_score([Ranking("keyword", [])], {}, normalise) == {}
