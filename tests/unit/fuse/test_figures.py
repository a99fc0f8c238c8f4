"""Fusion by rank and calibration are arithmetic: these figures can be checked by hand."""

from __future__ import annotations

import pytest

from dowse._model import Place, Ranking
from dowse._search.confidence import sigmoid
from dowse._search.fusion import fuse_by_rank


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


def test_places_say_where_a_chunk_stood_and_what_that_gave() -> None:
    rankings = [Ranking("semantic", [(7, 0.9), (8, 0.4)]), Ranking("graph", [(8, 0.6)])]
    assert fuse_by_rank(rankings, {"graph": 0.5}, 60) == {
        7: [Place("semantic", 1, 0.9, 1 / 61)],
        8: [Place("semantic", 2, 0.4, 1 / 62), Place("graph", 1, 0.6, 0.5 / 61)],
    }


def test_a_ranking_without_weight_still_shows_its_places() -> None:
    fused = fuse_by_rank([Ranking("code", [(1, 2.0)])], {"code": 0.0}, 60)
    assert fused == {1: [Place("code", 1, 2.0, 0.0)]}


def test_nothing_gives_nothing() -> None:
    assert fuse_by_rank([], {}, 60) == {}
    assert fuse_by_rank([Ranking("keyword", [])], {"keyword": 1.0}, 60) == {}


@pytest.mark.parametrize(
    ("raw", "confidence"), [(0.0325, 0.407), (0.0175, 0.068), (0.035, 0.5), (0.050, 0.905)]
)
def test_confidence(raw: float, confidence: float) -> None:
    assert sigmoid(raw, 0.035, 150) == pytest.approx(confidence, abs=5e-4)


def test_extreme_settings_do_not_overflow() -> None:
    assert sigmoid(0.0, 1.0, 1e9) == pytest.approx(0)
    assert sigmoid(1.0, 0.0, 1e9) == pytest.approx(1)
