"""What an evaluation reports."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dowse._project.evaluation import NAMES, Collection, JudgedQuery, Run, compare_runs, report


def _queries() -> tuple[JudgedQuery, ...]:
    return (
        JudgedQuery("1", "a", "factual", {"a": 2}),
        JudgedQuery("2", "b", "factual", {"b": 1}),
        JudgedQuery("3", "c", "exploratory", {"c": 1}),
        JudgedQuery("4", "d", "unanswerable", {}),
        JudgedQuery("5", "e", "unanswerable", {}),
    )


_COLLECTION = Collection("set", None, _queries())


def _ranked(*documents: str) -> tuple[tuple[str, float], ...]:
    return tuple((one, 1 / place) for place, one in enumerate(documents, start=1))


_RUN = Run(
    "r",
    {"1": _ranked("a"), "2": _ranked("x", "b"), "3": (), "4": _ranked("a"), "5": ()},
    {str(n): n / 100 for n in range(1, 6)},
)


def test_measures_are_averages_over_what_can_be_answered() -> None:
    got = report(_COLLECTION, _RUN)
    assert got.queries == 3
    assert got.measures is not None
    assert got.measures.mrr == pytest.approx((1 + 0.5 + 0) / 3)
    assert [(one.type, one.queries) for one in got.types] == [("factual", 2), ("exploratory", 1)]
    assert [one.measures.mrr for one in got.types] == [0.75, 0.0]
    assert got.empty == 1


def test_latency_is_that_of_all_queries() -> None:
    latency = report(_COLLECTION, _RUN).latency
    assert latency is not None
    assert latency.p50 == pytest.approx(0.03)
    assert latency.p95 == pytest.approx(0.048)


def test_unanswerable_queries_are_reported_apart() -> None:
    assert report(_COLLECTION, _RUN).rejected == 0.5


def test_results_that_are_marked_as_no_match_count_as_rejected() -> None:
    got = report(_COLLECTION, replace(_RUN, marked=frozenset({"2", "4"})))
    assert got.rejected == 1
    assert (got.marked, got.empty) == (1, 1)


def test_a_collection_without_answers_has_no_measures() -> None:
    nothing = Collection("set", None, _COLLECTION.unanswerable)
    got = report(nothing, _RUN)
    assert (got.measures, got.types, got.queries, got.empty) == (None, (), 0, 0)
    assert compare_runs(nothing, _RUN, _RUN) == {}
    assert report(Collection("set", None, _queries()[:3]), _RUN).rejected is None


def test_two_runs_are_compared_by_every_measure() -> None:
    better = Run("better", {**_RUN.found, "3": _ranked("c")})
    got = compare_runs(_COLLECTION, _RUN, better)
    assert list(got) == list(NAMES)
    assert (got["mrr"].wins, got["mrr"].ties, got["mrr"].losses) == (1, 2, 0)
    assert got["mrr"].difference == pytest.approx(1 / 3)
