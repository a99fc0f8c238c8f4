"""Which results may stay: those unlike each other, and not too many of one document."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dowse._model import Vector
from dowse._search.dedup import over_limit, select_diverse


def at(degrees: float) -> Vector:
    """A vector of unit length that points this way."""
    angle = math.radians(degrees)
    return np.array([math.cos(angle), math.sin(angle)], np.float32)


def likeness(vectors: list[Vector], places: list[int]) -> float:
    """The mean cosine of the pairs among these places."""
    pairs = [(one, other) for one in places for other in places if one < other]
    return sum(float(vectors[one] @ vectors[other]) for one, other in pairs) / len(pairs)


def test_a_close_second_gives_way_to_something_else() -> None:
    # After the first: 0.7 · 0.9 - 0.3 · 1 = 0.33 against 0.7 · 0.6 - 0 = 0.42.
    assert select_diverse([1.0, 0.9, 0.6], [at(0), at(0), at(90)], 2, 0.7) == [0, 2]


def test_a_good_second_stays_anyway() -> None:
    # 0.33 against 0.7 · 0.4 = 0.28.
    assert select_diverse([1.0, 0.9, 0.4], [at(0), at(0), at(90)], 2, 0.7) == [0, 1]


def test_likeness_is_that_to_the_closest_of_the_selected() -> None:
    # First 0, then 2; of the rest, 1 is like 0 and 3 is like 2, while 4 lies between them.
    vectors = [at(0), at(5), at(90), at(85), at(45)]
    assert select_diverse([1.0, 0.9, 0.9, 0.9, 0.8], vectors, 3, 0.5) == [0, 2, 4]


def test_an_opposite_is_worth_more_than_a_stranger() -> None:
    assert select_diverse([1.0, 0.5, 0.5], [at(0), at(90), at(180)], 2, 0.5) == [0, 2]


def test_what_has_no_vector_is_like_nothing() -> None:
    assert select_diverse([1.0, 0.9, 0.5], [at(0), at(0), None], 2, 0.5) == [0, 2]
    assert select_diverse([1.0, 0.9, 0.5], [None, at(0), None], 2, 0.5) == [0, 1]


def test_places_are_given_in_the_order_in_which_they_are_selected() -> None:
    vectors = [at(0), at(0), at(60), at(90)]
    assert select_diverse([1.0, 0.9, 0.8, 0.7], vectors, 3, 0.5) == [0, 3, 2]


def test_a_balance_of_one_selects_the_first() -> None:
    assert select_diverse([0.9, 0.5, 0.5, 0.5], [at(0)] * 4, 3, 1.0) == [0, 1, 2]


def test_a_balance_of_nothing_selects_by_difference_alone() -> None:
    assert select_diverse([0.9, 0.8, 0.1], [at(0), at(1), at(90)], 2, 0.0) == [0, 2]


def test_a_lower_balance_gives_a_more_diverse_list() -> None:
    vectors = [at(degrees) for degrees in (0, 3, 6, 45, 9, 90, 12, 50)]
    relevance = [1.0, 0.98, 0.96, 0.9, 0.88, 0.85, 0.8, 0.79]
    first = select_diverse(relevance, vectors, 4, 1.0)
    diverse = select_diverse(relevance, vectors, 4, 0.5)
    assert first == [0, 1, 2, 3]
    assert likeness(vectors, diverse) < likeness(vectors, first)


@pytest.mark.parametrize("count", [0, -1])
def test_none_are_asked_for(count: int) -> None:
    assert select_diverse([1.0], [at(0)], count, 0.7) == []


def test_more_are_asked_for_than_there_are() -> None:
    assert select_diverse([1.0, 0.5], [at(0), at(0)], 9, 0.7) == [0, 1]
    assert select_diverse([], [], 5, 0.7) == []


def test_places_beyond_the_limit_of_their_document() -> None:
    assert over_limit(["a", "a", "b", "a", "b", "b", "c"], 2) == [3, 5]
    assert over_limit(["a", "a", "b", "a"], 1) == [1, 3]


def test_without_a_limit_none_is_beyond_it() -> None:
    assert over_limit(["a"] * 9, 0) == []
    assert over_limit([], 2) == []
