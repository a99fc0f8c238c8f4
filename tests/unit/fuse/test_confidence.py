"""The fitted confidence, and what documents gather."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse._model import Place
from dowse._search.confidence import (
    FITS,
    LEAST_COSINE,
    USUAL_COSINE,
    Evidence,
    Fit,
    background_cosine,
    confidence,
    domain_by_meaning,
    domain_by_words,
)
from dowse._search.fusion import gathered
from real_model import real_embedder

SETTINGS = settings(deadline=None, derandomize=True, max_examples=100)


OF_OTHERS = (
    "how do I write a Dockerfile with several stages",
    "React component that fetches data in an effect",
    "install the chart with helm in another namespace",
)
FIT = Fit(
    score=6.0, lead=8.0, first=0.5, behind=-4.0, named=1.0, chunks=-1.0, constant=-1.0, domain=0.5
)


def test_the_logistic_function_of_the_evidence() -> None:
    first = Evidence(lead=0.25, first=True, chunks=1000, domain=2.0)
    other = Evidence(behind=0.25, named=True, chunks=1000, domain=2.0)
    one, two = confidence(0.5, first, FIT), confidence(0.25, other, FIT)
    assert one == pytest.approx(1 / (1 + math.exp(-2.5)))  # 3 + 2 + .5 - 3 - 1 + 1
    assert two == pytest.approx(1 / (1 + math.exp(1.5)))  # 1.5 - 1 + 1 - 3 - 1 + 1


def test_beyond_some_distance_nearer_or_farther_says_no_more() -> None:
    sure = [confidence(0.5, Evidence(domain=near), FIT) for near in (-20.0, -2.0, 0.0, 3.0, 20.0)]
    assert sure == sorted(sure)
    assert sure[0] == sure[1] < sure[2] < sure[3] == sure[4]


@SETTINGS
@given(st.lists(st.floats(0, 1.2), min_size=2, max_size=9), st.sampled_from(sorted(FITS)))
def test_it_never_changes_the_order(scores: list[float], ranking: tuple[str, ...]) -> None:
    best, *_ = ordered = sorted(scores, reverse=True)
    lead = best - ordered[1]
    evidence = [Evidence(0.0 if n else lead, not n, best - s) for n, s in enumerate(ordered)]
    sure = [confidence(s, one, FITS[ranking]) for s, one in zip(ordered, evidence, strict=True)]
    assert sure == sorted(sure, reverse=True)
    assert all(0 <= one <= 1 for one in sure)


def test_a_document_has_the_best_of_each_strategy() -> None:
    one = [Place("semantic", 1, 0.8, 0.4), Place("keyword", 9, 1.0, 0.1)]
    two = [Place("semantic", 5, 0.2, 0.1), Place("keyword", 1, 7.0, 0.3)]
    assert gathered(["a", "a", "b"], [one, two, two]) == pytest.approx({"a": 0.7, "b": 0.4})


def _least_cosine(chunks: int, elsewhere: float, familiar: float = 0.0) -> float:
    near = (n / 1000 for n in range(1000))
    return min(one for one in near if domain_by_meaning(one, chunks, elsewhere, familiar).odds >= 0)


def test_more_passages_must_be_nearer() -> None:
    least = [_least_cosine(chunks, USUAL_COSINE) for chunks in (20, 2_000, 200_000)]
    assert least == sorted(least)
    assert least[0] < 0.6 < least[2] < 0.75


def test_a_query_that_is_near_to_other_documentation_must_be_nearer_here() -> None:
    least = [_least_cosine(2_000, elsewhere) for elsewhere in (LEAST_COSINE, USUAL_COSINE, 0.7)]
    assert least[0] < least[1] < least[2]


def test_a_query_whose_words_are_usual_elsewhere_must_be_nearer_here() -> None:
    least = [_least_cosine(2_000, USUAL_COSINE, familiar) for familiar in (1.0, 0.0, -1.0)]
    assert least[0] < least[1] < least[2]
    assert (
        domain_by_words(0.3, 4, 1_000, usual=-1.5).odds
        < 0
        <= domain_by_words(0.3, 4, 1_000, 1.0).odds
    )


def test_a_longer_query_needs_a_smaller_share_of_its_words() -> None:
    assert domain_by_words(0.2, 1, 1_000, 0.0).odds < 0
    assert domain_by_words(0.2, 8, 1_000, 0.0).odds >= 0
    assert domain_by_words(1.0, 1, 1_000_000, 0.0).odds >= 0


def test_questions_about_other_documentation_are_near_it_and_nonsense_is_not() -> None:
    model = real_embedder()
    known = [background_cosine(model.query(one)) for one in OF_OTHERS]
    assert min(known) > USUAL_COSINE > background_cosine(model.query("qwertz asdfgh yxcvbn"))
    assert background_cosine(model.query("violin marmalade")) == LEAST_COSINE
