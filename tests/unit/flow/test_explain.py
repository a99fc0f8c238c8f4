"""Why a document is there, and why it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse._model import ChunkOutcome
from dowse._project.engine import Engine
from dowse._search.request import Filters, SearchRequest
from dowse.errors import NotFound
from vaults import index_notes

_TEXT = "The pump runs at night when power is cheap, and stops before the morning shift."
_NOTES = {
    "best.md": "---\ntags: [water]\n---\n# Pump\n\nThe pump of the well. See [[copy]].\n",
    "copy.md": f"# Night\n\n{_TEXT}\n",
    "double.md": f"# Night\n\n{_TEXT}\n",
    "far.md": "# Bread\n\nFlour, water, salt.\n",
} | {f"more-{n}.md": f"# Pump {n}\n\npump number {n} of the hall\n" for n in range(30)}


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return index_notes(tmp_path, _NOTES)


def best(engine: Engine, query: str, document: str, **changes: object) -> ChunkOutcome:
    told = engine.explain(
        SearchRequest(query, changes={"search.mode": "keyword"} | changes), document
    )
    assert told.best is not None
    return told.best


def test_a_result_has_its_rank_and_the_trace_of_the_search_itself(engine: Engine) -> None:
    hits = engine.search(SearchRequest("pump of the well")).hits
    told = engine.explain(SearchRequest("pump of the well"), "best.md")
    assert told.best is not None
    assert (told.best.rank, told.best.score) == (1, hits[0].score)
    assert told.best.trace == hits[0].trace
    places = {place.strategy: place.rank for place in hits[0].trace.places if place.rank}
    assert {one.strategy: one.rank for one in told.best.standing}.items() >= places.items()


def test_the_stage_that_dropped_it_is_named_with_the_reason(engine: Engine) -> None:
    chunks = [best(engine, "night shift", name) for name in ("copy.md", "double.md")]
    kept, dropped = sorted(chunks, key=lambda outcome: outcome.rank is None)
    assert kept.rank == 1
    last = dropped.trace.steps[-1]
    assert (last.stage, dropped.rank) == ("exact_dedup", None)
    assert last.dropped.startswith("same text as ")
    beyond = best(
        engine,
        "night shift",
        "double.md",
        **{"exact_dedup.enabled": False, "near_dedup.enabled": False, "search.top_n": 1},
    )
    assert (beyond.trace.steps[-1].stage, beyond.trace.steps[-1].dropped) == (
        "top_n",
        "place 2 of 2",
    )


def test_what_no_strategy_handed_over_still_has_a_standing(engine: Engine) -> None:
    ten = {"search.mode": "keyword", "search.top_k": 10}
    told = engine.explain(SearchRequest("pump", changes=ten), "copy.md")
    assert told.best is not None
    assert told.best.score is None
    assert told.best.standing[0].rank > told.top_k
    nowhere = best(engine, "pump", "far.md")
    assert nowhere.standing == ()


def test_conditions_that_keep_it_out_are_named(engine: Engine) -> None:
    told = engine.explain(
        SearchRequest("pump tag:water", filters=Filters(path=("more",))), "copy.md"
    )
    assert told.failed == ("--path more", "tag:water")
    assert engine.explain(SearchRequest("pump tag:water"), "best.md").failed == ()


def test_conditions_alone_rank_nothing_by_meaning(engine: Engine) -> None:
    told = engine.explain(SearchRequest("tag:water"), "copy.md")
    assert told.failed == ("tag:water",)
    assert all(outcome.standing == () for outcome in told.chunks)


def test_the_confidence_that_was_too_low_reads_lower_than_the_least(engine: Engine) -> None:
    score = best(engine, "night shift", "copy.md").score
    assert score is not None
    least = {"threshold.min_confidence": score + 0.0002}
    told = best(engine, "night shift", "copy.md", **least).trace.steps[-1].dropped
    shown, below = told.removeprefix("confidence ").split(" is below ")
    assert shown == f"{score:.4f}"
    assert float(shown) < float(below)


def test_a_document_that_does_not_exist_is_an_error(engine: Engine) -> None:
    with pytest.raises(NotFound):
        engine.explain(SearchRequest("pump"), "nowhere.md")
