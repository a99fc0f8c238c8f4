"""The fitted confidence, and what documents gather."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.fuse import FITS, Fit, confidence, fit_of, gathered
from dowse.types import Place

SETTINGS = settings(deadline=None, derandomize=True, max_examples=100)


def test_the_logistic_function_of_the_evidence() -> None:
    fit = Fit(score=6.0, lead=8.0, constant=-5.0, least=0.0)
    assert confidence(0.5, 0.25, fit) == pytest.approx(0.5)  # 3 + 2 - 5
    assert confidence(0.5, 0.0, fit) == pytest.approx(1 / (1 + math.exp(2)))


@SETTINGS
@given(st.lists(st.floats(0, 1.2), min_size=2, max_size=9), st.sampled_from(sorted(FITS)))
def test_it_never_changes_the_order(scores: list[float], name: str) -> None:
    ordered, fit = sorted(scores, reverse=True), FITS[name]
    lead = ordered[0] - ordered[1]
    sure = [confidence(s, 0.0 if n else lead, fit) for n, s in enumerate(ordered)]
    assert sure == sorted(sure, reverse=True)
    assert all(0 <= one <= 1 for one in sure)


@pytest.mark.parametrize(
    ("key", "known"),
    [
        ("all-MiniLM-L6-v2/int8/1a2b3c4d", True),
        ("all-MiniLM-L6-v2/fp32/1a2b3c4d", True),
        ("BAAI/bge-small-en-v1.5/fp32/1a2b3c4d", False),
        ("hash/64", False),
        ("endpoint", False),
    ],
)
def test_a_fit_belongs_to_its_model(key: str, known: bool) -> None:
    assert (fit_of(key) is not None) == known


def test_a_document_has_the_best_of_each_strategy() -> None:
    one = [Place("semantic", 1, 0.8, 0.4), Place("keyword", 9, 1.0, 0.1)]
    two = [Place("semantic", 5, 0.2, 0.1), Place("keyword", 1, 7.0, 0.3)]
    assert gathered(["a", "a", "b"], [one, two, two]) == pytest.approx({"a": 0.7, "b": 0.4})
