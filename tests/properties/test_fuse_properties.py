"""What holds for fusion whatever the rankings and the weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse._model import ChunkKey, Place, Ranking, Scores
from dowse._search.confidence import sigmoid
from dowse._search.fusion import (
    community_multipliers,
    dynamic_weights,
    fuse_by_rank,
    fuse_by_score,
    recency_multiplier,
)
from effort import examples

SETTINGS = examples(50, 150)

Fuse = Callable[[list[Ranking], dict[str, float]], dict[ChunkKey, list[Place]]]
FUSIONS: list[Fuse] = [
    partial(fuse_by_rank, k=60),
    partial(fuse_by_rank, k=0.5),
    partial(fuse_by_score, normalise="minmax"),
    partial(fuse_by_score, normalise="zscore"),
]
every_fusion = pytest.mark.parametrize("fuse", FUSIONS, ids=["rrf", "rrf-0.5", "minmax", "zscore"])
by_score = pytest.mark.parametrize("fuse", FUSIONS[2:], ids=["minmax", "zscore"])

NAMES = ["semantic", "keyword", "code", "graph"]
weights_of = st.fixed_dictionaries({}, optional={name: st.floats(0, 100) for name in NAMES})


def _best_first(keys: list[int], scores: list[float]) -> Scores:
    return list(zip(keys, sorted(scores, reverse=True), strict=False))


found = st.builds(
    _best_first,
    st.lists(st.integers(1, 40), unique=True, max_size=30),
    st.lists(st.one_of(st.floats(-1, 40), st.sampled_from([0.0, 0.5, 1.0])), max_size=30),
)
ranking_lists = st.lists(
    st.builds(Ranking, st.sampled_from(NAMES), found),
    max_size=4,
    unique_by=lambda ranking: ranking.strategy,
)


def _scores(fused: dict[ChunkKey, list[Place]]) -> dict[ChunkKey, float]:
    return {key: math.fsum(place.contribution for place in ps) for key, ps in fused.items()}


# ── Fusion ───────────────────────────────────────────────────────────────────


@every_fusion
@SETTINGS
@given(scores=found, weight=st.floats(0.01, 100))
def test_fusing_one_list_keeps_its_order(fuse: Fuse, scores: Scores, weight: float) -> None:
    fused = _scores(fuse([Ranking("keyword", scores)], {"keyword": weight}))
    assert sorted(fused, key=lambda key: -fused[key]) == [key for key, _ in scores]


@every_fusion
@SETTINGS
@given(rankings=ranking_lists, weights=weights_of)
def test_every_place_is_kept_as_it_was(
    fuse: Fuse, rankings: list[Ranking], weights: dict[str, float]
) -> None:
    fused = fuse(rankings, weights)
    given_places = {
        (key, ranking.strategy, rank, score)
        for ranking in rankings
        for rank, (key, score) in enumerate(ranking.scores, start=1)
    }
    kept = [(key, one.strategy, one.rank, one.score) for key, ps in fused.items() for one in ps]
    assert len(kept) == len(given_places)
    assert set(kept) == given_places


@by_score
@SETTINGS
@given(rankings=ranking_lists, weights=weights_of)
def test_a_mean_of_scores_is_between_0_and_1(
    fuse: Fuse, rankings: list[Ranking], weights: dict[str, float]
) -> None:
    assert all(0 <= score <= 1 + 1e-12 for score in _scores(fuse(rankings, weights)).values())


@every_fusion
@SETTINGS
@given(rankings=ranking_lists, weights=weights_of, data=st.data())
def test_the_order_of_the_rankings_does_not_matter(
    fuse: Fuse, rankings: list[Ranking], weights: dict[str, float], data: st.DataObject
) -> None:
    others = data.draw(st.permutations(rankings))
    assert _scores(fuse(list(others), weights)) == _scores(fuse(rankings, weights))


@every_fusion
@SETTINGS
@given(rankings=ranking_lists, weights=weights_of)
def test_a_better_place_never_gives_less(
    fuse: Fuse, rankings: list[Ranking], weights: dict[str, float]
) -> None:
    fused = fuse(rankings, weights)
    for ranking in rankings:
        given_to = {
            place.rank: place.contribution
            for places in fused.values()
            for place in places
            if place.strategy == ranking.strategy and place.rank is not None
        }
        in_order = [given_to[rank] for rank in sorted(given_to)]
        assert in_order == sorted(in_order, reverse=True)
        assert all(contribution >= 0 for contribution in in_order)


@by_score
@SETTINGS
@given(
    scores=found.filter(bool),
    factor=st.sampled_from([0.25, 2.0, 64.0]),
    weight=st.floats(0.01, 100),
)
def test_the_scale_of_a_strategy_does_not_matter(
    fuse: Fuse, scores: Scores, factor: float, weight: float
) -> None:
    scaled = [(key, score * factor) for key, score in scores]
    plain = _scores(fuse([Ranking("code", scores)], {"code": weight}))
    assert _scores(fuse([Ranking("code", scaled)], {"code": weight})) == pytest.approx(plain)


# ── Weights ──────────────────────────────────────────────────────────────────


@SETTINGS
@given(ranking_lists, weights_of, st.floats(0, 1), st.floats(0, 0.3))
def test_weights_keep_their_sum(
    rankings: list[Ranking], weights: dict[str, float], least: float, threshold: float
) -> None:
    new = dynamic_weights(rankings, weights, min_factor=least, variance_threshold=threshold)
    names = [ranking.strategy for ranking in rankings if ranking.scores]
    old_sum = math.fsum(weights.get(name, 1.0) for name in names)
    assert math.fsum(new[name] for name in names) == pytest.approx(old_sum)
    assert all(weight >= 0 for weight in new.values())
    assert {name: new[name] for name in weights if name not in names} == {
        name: weight for name, weight in weights.items() if name not in names
    }


@SETTINGS
@given(ranking_lists, weights_of, st.data())
def test_weights_do_not_depend_on_the_order_of_the_rankings(
    rankings: list[Ranking], weights: dict[str, float], data: st.DataObject
) -> None:
    weigh = partial(dynamic_weights, weights=weights, min_factor=0.5, variance_threshold=0.1)
    assert weigh(list(data.draw(st.permutations(rankings)))) == weigh(rankings)


@SETTINGS
@given(ranking_lists, weights_of)
def test_no_factor_below_one_changes_nothing(
    rankings: list[Ranking], weights: dict[str, float]
) -> None:
    new = dynamic_weights(rankings, weights, min_factor=1.0, variance_threshold=0.1)
    assert {name: new[name] for name in weights} == pytest.approx(weights)


# ── Multipliers and calibration ──────────────────────────────────────────────


@SETTINGS
@given(st.floats(-100, 100), st.floats(-100, 100), st.floats(0, 1))
def test_newer_is_never_worse(one: float, other: float, bias: float) -> None:
    newer, older = (recency_multiplier(age, bias) for age in sorted([one, other]))
    assert 1 + 0.4 * bias >= newer >= older >= 1


@SETTINGS
@given(
    st.lists(st.sampled_from("abcdefgh"), max_size=12),
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 3)),
    st.sets(st.sampled_from("abcdefgh")),
)
def test_the_raised_share_a_community_with_a_seed(
    documents: list[str], communities: dict[str, int], seeds: set[str]
) -> None:
    raised = community_multipliers(documents, communities, seeds, 1.1)
    for document in documents:
        shares = document in communities and any(
            communities.get(seed) == communities[document] for seed in seeds
        )
        assert raised.get(document) == (1.1 if shares else None)


@examples(70, 200)
@given(st.floats(0, 10), st.floats(0, 10))
def test_confidence_is_between_0_and_1_and_keeps_the_order(one: float, other: float) -> None:
    low, high = (sigmoid(score, 0.035, 150) for score in sorted([one, other]))
    assert 0 <= low <= high <= 1
