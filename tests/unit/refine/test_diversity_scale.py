"""The scale on which MMR balances relevance and difference."""

from __future__ import annotations

import numpy as np
import pytest

from dowse._model import Vector
from dowse._search.dedup import as_cosines, select_diverse


def _unit(*degrees: float) -> list[Vector | None]:
    turns = np.radians(degrees)
    return [np.array([np.cos(one), np.sin(one)], np.float32) for one in turns]


def _chosen(scores: list[float], vectors: list[Vector | None], balance: float) -> list[int]:
    return select_diverse(as_cosines(scores, vectors), vectors, 2, balance)


def test_scores_get_the_range_of_the_cosines() -> None:
    scaled = as_cosines([0.3, 0.2, 0.1], _unit(0, 30, 60))
    assert scaled == pytest.approx([0.866025, (0.866025 + 0.5) / 2, 0.5])


def test_without_vectors_scores_keep_their_order() -> None:
    assert as_cosines([0.3, 0.1], [None, None]) == [1.0, 0.0]
    assert as_cosines([0.3, 0.3], [None, None]) == [0.3, 0.3]
    assert as_cosines([], []) == []


def test_small_confidences_are_balanced_like_large_ones() -> None:
    scores, vectors = [0.9, 0.85, 0.1, 0.05], _unit(0, 40, 80, 85)
    small = [score / 30 for score in scores]
    for balance in (0.3, 0.5, 0.7, 0.9):
        assert _chosen(small, vectors, balance) == _chosen(scores, vectors, balance)


def test_a_relevant_result_is_not_given_up_for_one_that_only_differs() -> None:
    assert _chosen([0.09, 0.08, 0.01], _unit(0, 30, 90), 0.7) == [0, 1]


def test_a_repeated_result_gives_way_to_a_relevant_one() -> None:
    assert _chosen([0.09, 0.08, 0.075, 0.01], _unit(0, 0, 60, 90), 0.7) == [0, 2]
