"""What raises a score after fusion: a new document, a document close to the best ones."""

from __future__ import annotations

import pytest

from dowse._search.fusion import community_multipliers, recency_multiplier


@pytest.mark.parametrize(
    ("age_days", "multiplier"),
    [(0, 1.2), (7, 1.2), (7.001, 1.1), (30, 1.1), (30.001, 1.0), (5000, 1.0), (-3, 1.2)],
)
def test_recency_with_the_usual_bias(age_days: float, multiplier: float) -> None:
    assert recency_multiplier(age_days, 0.5) == multiplier


@pytest.mark.parametrize(
    ("age_days", "bias", "multiplier"),
    [(1, 1.0, 1.4), (20, 1.0, 1.2), (1, 0.25, 1.1), (20, 0.25, 1.05), (99, 1.0, 1.0)],
)
def test_the_boost_follows_the_bias(age_days: float, bias: float, multiplier: float) -> None:
    assert recency_multiplier(age_days, bias) == pytest.approx(multiplier)


@pytest.mark.parametrize("age_days", [-1, 0, 7, 30, 1e9])
def test_without_a_bias_no_age_counts(age_days: float) -> None:
    assert recency_multiplier(age_days, 0.0) == 1.0


COMMUNITIES = {"a.md": 0, "b.md": 0, "c.md": 1, "d.md": 2}


def test_documents_in_the_community_of_a_seed_are_raised() -> None:
    documents = ["a.md", "b.md", "c.md", "d.md", "alone.md"]
    found = community_multipliers(documents, COMMUNITIES, ["a.md", "d.md"], 1.1)
    assert found == {"a.md": 1.1, "b.md": 1.1, "d.md": 1.1}


def test_a_seed_need_not_be_among_the_documents() -> None:
    assert community_multipliers(["b.md", "c.md"], COMMUNITIES, {"a.md"}, 1.5) == {"b.md": 1.5}


def test_a_seed_without_community_raises_nobody() -> None:
    assert community_multipliers(["alone.md", "a.md"], COMMUNITIES, ["alone.md"], 1.1) == {}


def test_nobody_is_raised_by_nothing() -> None:
    assert community_multipliers([], COMMUNITIES, ["a.md"], 1.1) == {}
    assert community_multipliers(["a.md"], COMMUNITIES, [], 1.1) == {}
    assert community_multipliers(["a.md"], {}, ["a.md"], 1.1) == {}
