"""Fusion and calibration are arithmetic: these figures can be checked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.fuse import calibrate, fuse_by_rank
from dowse.types import Ranking


def _score(ranks: dict[str, int], weights: dict[str, float] | None = None) -> float:
    """The fused score of chunk 0 when it stands at these ranks."""
    rankings = [
        Ranking(strategy, [(-place, 1.0) for place in range(1, rank)] + [(0, 1.0)])
        for strategy, rank in ranks.items()
    ]
    return sum(place.contribution for place in fuse_by_rank(rankings, weights or {}, 60)[0])


@pytest.mark.parametrize(
    ("ranks", "weights", "score"),
    [
        ({"semantic": 3, "keyword": 5, "graph": 2}, {}, 0.0474),
        ({"semantic": 1, "graph": 10}, {}, 0.0307),
        ({"semantic": 3, "keyword": 5}, {}, 0.0313),
        ({"semantic": 1, "keyword": 1}, {}, 0.0328),
        ({"semantic": 3, "keyword": 5}, {"semantic": 1.2, "keyword": 0.8}, 0.0314),
    ],
)
def test_fused_scores(ranks: dict[str, int], weights: dict[str, float], score: float) -> None:
    # Written to four places; term by term rounding can move the last one.
    assert _score(ranks, weights) == pytest.approx(score, abs=1e-4)


@pytest.mark.parametrize(
    ("raw", "confidence"), [(0.0325, 0.407), (0.0175, 0.068), (0.035, 0.5), (0.050, 0.905)]
)
def test_confidence(raw: float, confidence: float) -> None:
    assert calibrate(raw, 0.035, 150) == pytest.approx(confidence, abs=5e-4)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 200), unique=True, max_size=50), st.floats(0.1, 1000))
def test_fusing_one_list_keeps_its_order(keys: list[int], k: float) -> None:
    fused = fuse_by_rank([Ranking("keyword", [(key, 1.0) for key in keys])], {}, k)
    scores = {key: sum(place.contribution for place in places) for key, places in fused.items()}
    assert sorted(scores, key=lambda key: -scores[key]) == keys


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.floats(0, 10), st.floats(0, 10))
def test_confidence_lies_between_0_and_1_and_keeps_the_order(one: float, other: float) -> None:
    low, high = (calibrate(score, 0.035, 150) for score in sorted([one, other]))
    assert 0 <= low <= high <= 1


def test_extreme_settings_do_not_overflow() -> None:
    assert calibrate(0.0, 1.0, 1e9) == pytest.approx(0)
    assert calibrate(1.0, 0.0, 1e9) == pytest.approx(1)
