"""Runs: how a collection is searched, and the files that runs are kept in."""

from __future__ import annotations

import os
import time
from itertools import pairwise
from pathlib import Path

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse._model import Event, Hit
from dowse._project.engine import Engine
from dowse._project.evaluation import JudgedQuery, Run, as_trec, search_run
from dowse._search.request import SearchRequest
from dowse.errors import Locked, UsageError
from vaults import index_notes

_LONG = "\n\n".join(
    f"## Part {number}\n\nThe barometer is read in part {number}. " + f"word{number} " * 60
    for number in range(6)
)
_NOTES = {
    "long.md": f"# Barometer\n\n{_LONG}\n",
    "gauge.md": "# Rain gauge\n\nThe rain gauge is calibrated with a bottle.\n",
    "mast.md": "# Mast\n\nThe mast carries a barometer and an antenna.\n",
}
_QUERIES = [
    JudgedQuery("q1", "barometer", "", {"long.md": 1}),
    JudgedQuery("q2", "rain gauge bottle", "", {"gauge.md": 1}),
    JudgedQuery("q3", "-", "unanswerable", {}),
]


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return index_notes(tmp_path, _NOTES)


def _documents(run: Run, query: str) -> list[str]:
    return [document for document, _ in run.found[query]]


def test_a_document_counts_once_by_its_best_chunk(engine: Engine) -> None:
    run = search_run("r", engine, _QUERIES, {})
    assert sorted(_documents(run, "q1")) == sorted(_NOTES)
    first = {hit.document: hit.score for hit in reversed(_deep(engine, "barometer"))}
    assert dict(run.found["q1"]) == first
    scores = [score for _, score in run.found["q1"]]
    assert scores == sorted(scores, reverse=True)
    assert _documents(run, "q2")[0] == "gauge.md"


def _deep(engine: Engine, query: str) -> list[Hit]:
    changes = {"search.top_n": 300, "search.top_k": 300, "recency.bias": 0.0}
    return list(engine.search(SearchRequest(query, changes=changes)).hits)


def test_depth_limits_documents(engine: Engine) -> None:
    assert len(search_run("r", engine, _QUERIES, {}, depth=2).found["q1"]) == 2


def test_an_index_that_changes_meanwhile_is_not_measured(engine: Engine) -> None:
    root = Path(engine.project.roots[0])

    def change(event: Event) -> None:
        (root / "new.md").write_text(f"# New\n\nWritten at {event.done}.\n", "utf-8")
        engine.index()

    with pytest.raises(Locked, match="has changed the index"):
        search_run("r", engine, _QUERIES, {}, announce=change)


def test_a_query_that_finds_nothing_has_an_empty_ranking_and_no_confidence(engine: Engine) -> None:
    run = search_run("r", engine, _QUERIES, {})
    assert run.found["q3"] == ()
    assert run.confidence["q3"] == 0


def test_what_the_threshold_rejects_still_has_a_confidence(engine: Engine) -> None:
    free = search_run("r", engine, _QUERIES, {"threshold.min_confidence": 0.0})
    strict = search_run("r", engine, _QUERIES, {"threshold.min_confidence": 1.0})
    assert strict.found["q2"] == ()
    assert strict.confidence["q2"] == free.confidence["q2"] > 0


def test_every_query_is_timed(engine: Engine) -> None:
    run = search_run("r", engine, _QUERIES, {})
    assert set(run.seconds) == {"q1", "q2", "q3"}
    assert all(seconds > 0 for seconds in run.seconds.values())


def test_exactly_the_results_are_judged_whose_number_is_given(engine: Engine) -> None:
    run = search_run("r", engine, _QUERIES, {"search.top_n": 1})
    assert len(run.found["q1"]) == 1


def test_recency_counts_only_where_it_is_asked_for(tmp_path: Path) -> None:
    text = "# Mast\n\nThe mast carries a barometer"
    engine = index_notes(tmp_path, {"a.md": f"{text}, old.\n", "b.md": f"{text}, new.\n"})
    now = time.time()
    os.utime(tmp_path / "vault" / "b.md", (now, now))
    engine.index()
    off = {"near_dedup.enabled": False}
    plain = search_run("r", engine, [JudgedQuery("q", "mast barometer", "", {})], off)
    on = {**off, "recency.bias": 1.0}
    recent = search_run("r", engine, [JudgedQuery("q", "mast barometer", "", {})], on)
    assert _documents(plain, "q") == ["a.md", "b.md"]
    assert _documents(recent, "q") == ["b.md", "a.md"]


def test_what_holds_for_most_queries_is_reported_once(engine: Engine) -> None:
    run = search_run("r", engine, _QUERIES[:2], {"rerank.enabled": True})
    assert len(run.notices) == 1
    assert "Not reranked" in run.notices[0]


def test_progress_is_announced(engine: Engine) -> None:
    events: list[Event] = []
    search_run("r", engine, _QUERIES, {}, announce=events.append)
    assert [(one.done, one.total, one.unit) for one in events] == [
        (done, 3, "queries") for done in range(3)
    ]


def test_two_runs_find_the_same(engine: Engine) -> None:
    one, two = (search_run("r", engine, _QUERIES, {}) for _ in range(2))
    assert (one.found, one.confidence) == (two.found, two.confidence)


# ── Files ────────────────────────────────────────────────────────────────────


def test_a_file_is_as_trec_eval_reads_it() -> None:
    run = Run("my run", {"q1": (("a.md", 0.5), ("b c.md", 0.25))})
    written = as_trec(run)
    assert written == "q1 Q0 a.md 1 0.5 my-run\nq1 Q0 b c.md 2 0.25 my-run\n"


_RANKINGS = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.5000000001, 1.0, 1.0]), max_size=30).map(
        lambda scores: sorted(scores, reverse=True)
    ),
)


@settings(deadline=None, max_examples=50, derandomize=True)
@given(rankings=_RANKINGS)
def test_equal_scores_keep_their_order_in_other_tools(
    rankings: dict[str, list[float]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("runs") / "a.run"
    found = {
        query: tuple((f"d{place}", score) for place, score in enumerate(scores))
        for query, scores in rankings.items()
    }
    file.write_text(as_trec(Run("r", found)), "utf-8")
    theirs = list(ir_measures.read_trec_run(str(file)))  # type: ignore[no-untyped-call]
    for query in rankings:
        ranked = sorted(
            (one for one in theirs if one.query_id == query), key=lambda one: -one.score
        )
        assert [one.doc_id for one in ranked] == [document for document, _ in found[query]]
        assert all(before.score > after.score for before, after in pairwise(ranked))


def test_an_id_that_no_file_could_hold_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot be written into a run file"):
        as_trec(Run("r", {"a b": (("a", 1.0),)}))
