"""The measures are those of `ir-measures`, and of a calculation by hand."""

from __future__ import annotations

import math
import random

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import AP, RR, R, ScoredDoc, Success, nDCG

from dowse._project.evaluation import (
    NAMES,
    JudgedQuery,
    Measures,
    Run,
    mean,
    measure,
    measure_queries,
)

_THEIRS = {
    "ndcg_5": nDCG @ 5,
    "ndcg_10": nDCG @ 10,
    "mrr": RR,
    "recall_10": R @ 10,
    "recall_100": R @ 100,
    "hit_1": Success @ 1,
    "hit_5": Success @ 5,
    "map": AP,
}


def _theirs(found: list[str], relevant: dict[str, int]) -> dict[str, float]:
    qrels = [ir_measures.Qrel("q", document, grade) for document, grade in relevant.items()]
    run = [ScoredDoc("q", document, -float(rank)) for rank, document in enumerate(found)]
    run = run or [ScoredDoc("q", "something else", 0.0)]
    values = ir_measures.calc_aggregate(list(_THEIRS.values()), qrels, run)
    return {name: values[theirs] for name, theirs in _THEIRS.items()}


_DOCUMENTS = [f"d{number}" for number in range(130)]


@settings(deadline=None, max_examples=100, derandomize=True)
@given(
    found=st.lists(st.sampled_from(_DOCUMENTS), unique=True, max_size=120),
    relevant=st.dictionaries(
        st.sampled_from([*_DOCUMENTS, "never found"]), st.integers(0, 4), min_size=1, max_size=15
    ),
    sure=st.integers(1, 3),
)
def test_measures_are_those_of_ir_measures(
    found: list[str], relevant: dict[str, int], sure: int
) -> None:
    relevant = relevant | {"d0": sure}
    ours = measure(found, relevant)
    for name, value in _theirs(found, relevant).items():
        assert getattr(ours, name) == pytest.approx(value, abs=1e-9), name


def test_averages_over_many_queries_are_those_of_ir_measures() -> None:
    rng = random.Random(3)
    queries = [
        JudgedQuery(f"q{n}", "x", "", {d: rng.randint(1, 2) for d in rng.sample(_DOCUMENTS, 4)})
        for n in range(30)
    ]
    found = {
        query.id: tuple(
            (document, 1 / rank)
            for rank, document in enumerate(rng.sample(_DOCUMENTS, 100), start=1)
        )
        for query in queries
    }
    ours = mean(measure_queries(Run("r", found), queries).values())
    theirs = ir_measures.calc_aggregate(
        list(_THEIRS.values()),
        [ir_measures.Qrel(q.id, d, g) for q in queries for d, g in q.relevant.items()],
        [ScoredDoc(q, one, score) for q, ranking in found.items() for one, score in ranking],
    )
    assert ours is not None
    for name, measure_ in _THEIRS.items():
        assert getattr(ours, name) == pytest.approx(theirs[measure_], abs=1e-9), name


def test_a_query_that_a_run_leaves_out_counts_as_it_does_for_ir_measures() -> None:
    """Documents judged 0 are none to find; what only a run knows does not count."""
    judged = {"q1": {"a": 2, "b": 0}, "q2": {"c": 1}, "q3": {"d": 1}}
    found = {"q1": ["b", "a"], "q3": ["x", "d"], "q9": ["a"]}
    queries = [JudgedQuery(query, "x", "", relevant) for query, relevant in judged.items()]
    run = {query: tuple((d, -n) for n, d in enumerate(ds)) for query, ds in found.items()}
    ours = mean(measure_queries(Run("r", run), queries).values())
    theirs = ir_measures.calc_aggregate(
        list(_THEIRS.values()),
        [ir_measures.Qrel(q, d, g) for q, grades in judged.items() for d, g in grades.items()],
        [ScoredDoc(q, one, score) for q, ranking in run.items() for one, score in ranking],
    )
    assert ours is not None
    for name, measure_ in _THEIRS.items():
        assert getattr(ours, name) == pytest.approx(theirs[measure_], abs=1e-9), name


def test_by_hand() -> None:
    got = measure(["x", "a", "y", "b"], {"a": 2, "b": 1, "c": 1})
    best = 2 / math.log2(2) + 1 / math.log2(3) + 1 / math.log2(4)
    assert got.ndcg_10 == pytest.approx((2 / math.log2(3) + 1 / math.log2(5)) / best)
    assert got.ndcg_5 == got.ndcg_10
    assert got.mrr == 0.5
    assert got.recall_10 == got.recall_100 == pytest.approx(2 / 3)
    assert (got.hit_1, got.hit_5) == (0.0, 1.0)
    assert got.map == pytest.approx((1 / 2 + 2 / 4) / 3)


def test_what_cannot_be_answered_or_was_not_asked_counts_as_nothing() -> None:
    nothing = Measures(0, 0, 0, 0, 0, 0, 0, 0)
    assert measure(["a"], {}) == nothing
    assert measure([], {"a": 1}) == nothing
    assert measure_queries(Run("r", {}), [JudgedQuery("q", "x", "", {"a": 1})]) == {"q": nothing}
    assert mean([]) is None


def test_every_measure_has_a_name_for_people() -> None:
    assert set(NAMES) == set(Measures.__struct_fields__) == set(_THEIRS)
