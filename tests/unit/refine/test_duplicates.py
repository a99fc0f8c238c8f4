"""Three ways to be a duplicate: the same, nearly the same, the same in other words."""

from __future__ import annotations

import math
import random
import sys

import numpy as np
import pytest

from dowse._model import Vector
from dowse._search.dedup import (
    fold_whitespace,
    near_duplicates,
    repeats,
    semantic_duplicates,
)


def at(degrees: float) -> Vector:
    """A vector of unit length that points this way."""
    angle = math.radians(degrees)
    return np.array([math.cos(angle), math.sin(angle)], np.float32)


# ── The same ─────────────────────────────────────────────────────────────────


def test_each_repeat_leads_to_the_first() -> None:
    assert repeats(["a", "b", "a", "c", "b", "a"]) == {2: 0, 4: 1, 5: 0}


def test_nothing_repeats_in_nothing() -> None:
    assert repeats([]) == {}
    assert repeats([1, 2, "1", None]) == {}


def test_white_space_makes_no_text_another() -> None:
    assert fold_whitespace("\n a\t\tb \u00a0 c\u3000d\r\n") == "a b c d"
    assert fold_whitespace(" \n ") == ""
    assert repeats([fold_whitespace(text) for text in ["a  b", "a\nb ", "ab"]]) == {1: 0}


# ── Nearly the same ──────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("one", "other", "jaccard"),
    [
        ("abcd", "abce", 1 / 3),  # abc bcd | abc bce
        ("abcdef", "abcdefg", 4 / 5),
        ("aaaaaaaa", "aaa", 1.0),  # a set holds each trigram once
        ("Hello World", "hELLO wORLD", 1.0),
        ("a b c", "abc", 0.0),  # spaces count
        ("ab", "AB", 1.0),
        ("ab", "abc", 0.0),
        ("ab", "ab ", 0.0),
        ("a", "a\0", 0.0),
        ("", "", 1.0),
        ("", "\0\0\0", 0.0),
        ("漢字です", "漢字でした", 1 / 4),
        ("🎉🎉🎉x", "🎉🎉🎉y", 1 / 3),
        ("\ud800ab", "\ud800AB", 1.0),  # half of a pair, as broken files can hold
        ("\ud800ab", "?ab", 0.0),
    ],
)
def test_the_index_of_two_texts_decides(one: str, other: str, jaccard: float) -> None:
    assert near_duplicates([one, other], jaccard) == {1: 0}
    assert near_duplicates([one, other], math.nextafter(jaccard, 2)) == {}


def test_only_what_stays_makes_duplicates() -> None:
    # The second is close to the first, the third to the second only; so the third stays.
    chain = ["abcdefghij", "bcdefghijk", "cdefghijkl"]
    assert near_duplicates(chain, 7 / 9) == {1: 0}
    assert near_duplicates(chain, 0.6) == {1: 0, 2: 0}


def test_the_best_placed_of_several_is_the_partner() -> None:
    assert near_duplicates(["abcdx", "abcdy", "abcd"], 0.6) == {2: 0}


def test_a_changed_word_is_noticed_a_changed_paragraph_is_not() -> None:
    text = "The gateway forwards every frame to the station, which decodes and stores it. " * 3
    other = "Batteries last for a year; the clock drifts by a second in a month. " * 3
    assert near_duplicates([text, text.replace("stores", "keeps"), text + other], 0.7) == {1: 0}


def test_few_texts_are_no_trouble() -> None:
    assert near_duplicates([], 0.7) == {}
    assert near_duplicates(["alone"], 0.0) == {}


def test_sets_and_arrays_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(7)
    words = ["gateway", "station", "frame", "Straße", "漢字", "🎉", "a", ""]
    for _ in range(50):
        texts = [" ".join(chance.choices(words, k=chance.randint(0, 6))) for _ in range(8)]
        threshold = chance.choice([0.3, 0.5, 0.7, 0.9, 1.0])
        by_arrays = near_duplicates(texts, threshold)
        with monkeypatch.context() as without:
            without.delitem(sys.modules, "numpy")
            assert near_duplicates(texts, threshold) == by_arrays


def test_a_letter_whose_lower_case_is_longer() -> None:
    assert near_duplicates(["İİ", "i\u0307i\u0307"], 1.0) == {1: 0}


# ── The same in other words ──────────────────────────────────────────────────


def test_close_vectors_are_duplicates() -> None:
    assert semantic_duplicates([at(0), at(90), at(20), at(100)], 0.9) == {2: 0, 3: 1}


def test_a_dropped_vector_drops_no_other() -> None:
    # Each is 20 degrees (cosine 0.94) from the next, the third 40 (0.77) from the first.
    assert semantic_duplicates([at(0), at(20), at(40)], 0.9) == {1: 0}


def test_what_has_no_vector_is_never_a_duplicate() -> None:
    assert semantic_duplicates([None, at(0), None, at(0), None], 0.0) == {3: 1}


def test_equal_vectors_reach_one_whatever_their_rounding() -> None:
    vectors = np.random.default_rng(5).normal(size=(20, 384)).astype(np.float32)
    rows = [row / np.linalg.norm(row) for row in vectors]
    assert semantic_duplicates(rows + rows, 1.0) == {20 + place: place for place in range(20)}


def test_a_vector_without_direction_is_like_no_other() -> None:
    nothing = np.zeros(2, np.float32)
    assert semantic_duplicates([nothing, at(0), nothing], 0.5) == {}


def test_few_vectors_are_no_trouble() -> None:
    assert semantic_duplicates([], 0.85) == {}
    assert semantic_duplicates([None], 0.85) == {}
    assert semantic_duplicates([at(0)], 0.85) == {}
