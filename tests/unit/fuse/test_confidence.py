"""The fitted confidence, and what documents gather."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.fuse import FITS, Evidence, Fit, confidence, gathered
from dowse.fuse.nearness import is_far_by_meaning, is_far_by_words
from dowse.types import Place

SETTINGS = settings(deadline=None, derandomize=True, max_examples=100)


def test_the_logistic_function_of_the_evidence() -> None:
    fit = Fit(
        score=6.0, lead=8.0, first=0.5, named=1.0, chunks=-1.0, terms=4.0, far=-2.0, constant=-4.0
    )
    weak, lead = Evidence(chunks=1000, terms=2), Evidence(lead=0.25, chunks=1000, terms=2)
    assert confidence(0.5, lead, fit) == pytest.approx(1 / (1 + math.exp(1)))  # 3 + 2 - 3 + 1 - 4
    assert confidence(0.5, weak, fit) == pytest.approx(1 / (1 + math.exp(3)))
    assert confidence(1.0, Evidence(named=True, terms=80), fit) == pytest.approx(
        1 / (1 + math.exp(-7))  # 6 + 1 + 4 - 4: more than eight terms count as eight
    )


@SETTINGS
@given(st.lists(st.floats(0, 1.2), min_size=2, max_size=9), st.sampled_from(sorted(FITS)))
def test_it_never_changes_the_order(scores: list[float], ranking: tuple[str, ...]) -> None:
    ordered, fit = sorted(scores, reverse=True), FITS[ranking]
    lead = ordered[0] - ordered[1]
    sure = [confidence(s, Evidence(0.0 if n else lead, not n), fit) for n, s in enumerate(ordered)]
    assert sure == sorted(sure, reverse=True)
    assert all(0 <= one <= 1 for one in sure)


def test_a_document_has_the_best_of_each_strategy() -> None:
    one = [Place("semantic", 1, 0.8, 0.4), Place("keyword", 9, 1.0, 0.1)]
    two = [Place("semantic", 5, 0.2, 0.1), Place("keyword", 1, 7.0, 0.3)]
    assert gathered(["a", "a", "b"], [one, two, two]) == pytest.approx({"a": 0.7, "b": 0.4})


def test_more_passages_must_be_nearer() -> None:
    near = [n / 100 for n in range(100)]
    least = [
        min(cosine for cosine in near if not is_far_by_meaning(cosine, chunks))
        for chunks in (20, 2_000, 200_000)
    ]
    assert least == sorted(least)
    assert least[0] < 0.3 < least[2] < 0.6


def test_a_longer_query_needs_a_smaller_share_of_its_words() -> None:
    assert is_far_by_words(0.2, 1_000, terms=1)
    assert not is_far_by_words(0.2, 1_000, terms=8)
    assert not is_far_by_words(1.0, 1_000_000, terms=1)
