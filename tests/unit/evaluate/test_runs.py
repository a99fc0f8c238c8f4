"""Runs: how a collection is searched."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from dowse._model import Event, Hit
from dowse._project.engine import Engine
from dowse._project.evaluation import JudgedQuery, Run, search_run
from dowse._search.request import SearchRequest
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


def test_a_query_that_finds_nothing_has_an_empty_ranking(engine: Engine) -> None:
    run = search_run("r", engine, _QUERIES, {})
    assert run.found["q3"] == ()


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
    search_run("r", engine, _QUERIES, {}, events.append)
    assert [(one.done, one.total, one.unit) for one in events] == [
        (done, 3, "queries") for done in range(3)
    ]


def test_two_runs_find_the_same(engine: Engine) -> None:
    one, two = (search_run("r", engine, _QUERIES, {}) for _ in range(2))
    assert one.found == two.found
