"""The words of the documents nearest to a query."""

from __future__ import annotations

import numpy as np
import pytest

from dowse._model import Matrix
from dowse._search.understand import ExpandOptions, nearest_words
from dowse.errors import BadSettings

_QUERY = np.array([1, 0], dtype=np.float32)


def at_cosines(*cosines: float) -> Matrix:
    return np.array([(c, (1 - c * c) ** 0.5) for c in cosines], dtype=np.float32)


def test_the_nearest_come_first_and_equals_by_the_alphabet() -> None:
    words = ["far", "storm", "gust", "breeze", "air"]
    vectors = at_cosines(0.49, 0.75, 0.5, 0.75, 0.9)
    assert nearest_words(_QUERY, words, vectors, (), ExpandOptions()) == ["air", "breeze", "storm"]
    many = ExpandOptions(terms=50)
    assert nearest_words(_QUERY, words, vectors, (), many) == ["air", "breeze", "storm", "gust"]


def test_words_of_the_query_are_not_added_again() -> None:
    words = ["wind", "storm"]
    found = nearest_words(_QUERY, words, at_cosines(1, 0.8), ["WIND", "power"], ExpandOptions())
    assert found == ["storm"]


def test_nothing_is_near_enough_or_there_at_all() -> None:
    assert nearest_words(_QUERY, ["far"], at_cosines(0.2), (), ExpandOptions()) == []
    empty = np.zeros((0, 0), dtype=np.float32)
    assert nearest_words(_QUERY, [], empty, (), ExpandOptions()) == []


def test_off_unless_asked_for_and_bounded() -> None:
    assert ExpandOptions() == ExpandOptions(enabled=False, terms=3, similarity=0.5)
    for terms in (0, 51):
        with pytest.raises(BadSettings, match=r"expand\.terms"):
            ExpandOptions(terms=terms)
    for similarity in (-0.1, 1.1, float("nan")):
        with pytest.raises(BadSettings, match=r"expand\.similarity"):
            ExpandOptions(similarity=similarity)
