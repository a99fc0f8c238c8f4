"""The list has one result per document, which says where else the document matches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dowse._model import Hit
from dowse._project.engine import Engine
from dowse._search.request import SearchRequest
from vaults import index_notes

_FILLER = "Nothing of the kind is said about " + "sheep and grass and hills and stones " * 14
_PARTS = {
    name: f"## {name}\n\n{text} {_FILLER} {name}.\n\n"
    for name, text in {
        "First": "The turbine has a brake.",
        "Second": "The turbine has a brake of steel.",
        "Third": "Nobody goes there.",
        "Fourth": "The turbine has a brake too.",
        "Fifth": "Empty.",
    }.items()
}
_NOTES = {
    "long.md": "# Manual\n\n" + "".join(_PARTS.values()),
    "short.md": "# Brakes\n\nA brake of a turbine is checked once a year.\n",
    "other.md": "# Walk\n\nBread and cheese, and no turbine.\n",
}
_PASSAGES: dict[str, Any] = {"documents.passages": True}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return index_notes(tmp_path_factory.mktemp("documents"), _NOTES)


def _hit(engine: Engine, document: str, changes: dict[str, Any]) -> Hit:
    found = engine.search(
        SearchRequest("turbine brake", changes={"search.mode": "keyword", **changes})
    )
    return next(hit for hit in found.hits if hit.document == document)


def test_a_document_is_one_result_that_names_its_other_passages(engine: Engine) -> None:
    found = engine.search(SearchRequest("turbine brake", changes={"search.mode": "keyword"}))
    documents = [hit.document for hit in found.hits]
    assert sorted(documents) == sorted(_NOTES)
    raw = engine.search(
        SearchRequest("turbine brake", changes={"search.mode": "keyword", **_PASSAGES})
    )
    assert [hit.document for hit in raw.hits].count("long.md") == 3
    assert all(not hit.more for hit in raw.hits)
    assert found.counts["semantic_dedup"] == 5
    assert found.counts["documents"] == found.counts["top_n"] == 3


def test_neighbouring_passages_are_one_range(engine: Engine) -> None:
    hit = _hit(engine, "long.md", {})
    text = engine.get("long.md").text
    assert "First" in hit.text
    assert "Second" in hit.text
    assert "Third" not in hit.text
    assert hit.text.strip() in text
    lines = text.split("\n")[hit.first_line - 1 : hit.last_line]
    assert "\n".join(lines).strip() == hit.text.strip()
    [other] = hit.more
    assert other.header_path == ("Manual", "Fourth")
    assert "brake too" in engine.get(f"long.md:{other.first_line}-{other.last_line}").text


def test_what_matches_far_worse_is_not_named(engine: Engine) -> None:
    found = engine.search(SearchRequest("turbine brake steel", changes={"search.mode": "keyword"}))
    best = next(hit for hit in found.hits if hit.document == "long.md")
    raw = engine.search(
        SearchRequest("turbine brake steel", changes={"search.mode": "keyword", **_PASSAGES})
    )
    scores = [hit.score for hit in raw.hits if hit.document == "long.md"]
    assert min(scores) < 0.5 * max(scores)
    assert all(one.score >= 0.5 * best.score for one in best.more)


def test_sections_take_the_place_of_passages(engine: Engine) -> None:
    hit = _hit(engine, "long.md", {"parents.enabled": True})
    assert all(one.first_line > hit.last_line or one.last_line < hit.first_line for one in hit.more)


def test_a_limit_of_passages_lists_passages(engine: Engine) -> None:
    changes = {"search.mode": "keyword", "diversity.max_chunks_per_doc": 2}
    found = engine.search(SearchRequest("turbine brake", changes=changes))
    assert [hit.document for hit in found.hits].count("long.md") == 2
    assert "documents" not in found.seconds


def test_different_results_are_different_documents(engine: Engine) -> None:
    changes = {"diversity.mmr": True, "search.top_n": 3}
    documents = [
        hit.document for hit in engine.search(SearchRequest("turbine brake", changes=changes)).hits
    ]
    assert sorted(documents) == sorted(_NOTES)


def test_an_explanation_says_what_became_of_the_other_passages(engine: Engine) -> None:
    told = engine.explain(
        SearchRequest("turbine brake", changes={"search.mode": "keyword"}), "long.md"
    )
    assert told.why.startswith("It is result ")
    reasons = [
        step.dropped
        for chunk in told.chunks
        for step in chunk.trace.steps
        if step.stage == "documents"
    ]
    assert len(reasons) == 2
    assert all("listed under the best passage of its document, lines" in one for one in reasons)


def test_more_candidates_are_taken_until_there_are_enough_documents(tmp_path: Path) -> None:
    crowd = "# Log\n\n" + "".join(
        f"## Day {number}\n\nThe turbine, the turbine. {_FILLER} {number}\n\n"
        for number in range(60)
    )
    others = {
        f"note-{number}.md": f"# Note {number}\n\nA turbine, among other things. {_FILLER}\n"
        for number in range(5)
    }
    engine = index_notes(tmp_path, {"log.md": crowd, **others})
    changes: dict[str, Any] = {"search.mode": "keyword", "near_dedup.enabled": False}
    found = engine.search(SearchRequest("turbine", changes=changes))
    assert len({hit.document for hit in found.hits}) == 5
    assert (
        len(engine.search(SearchRequest("turbine", changes=changes | {"search.top_k": 10})).hits)
        == 1
    )
    assert engine.explain(SearchRequest("turbine", changes=changes), "log.md").top_k > 10


def test_too_few_documents_do_not_repeat_notices(engine: Engine) -> None:
    found = engine.search(SearchRequest("turbine brake zzzz", changes={"search.top_n": 50}))
    assert len(found.notices) == len(set(found.notices))


def test_what_was_nearest_is_listed_by_document(engine: Engine) -> None:
    changes = {"threshold.min_confidence": 0.999, "search.mode": "keyword"}
    found = engine.search(SearchRequest("turbine brake", changes=changes))
    assert not found.hits
    documents = [hit.document for hit in found.nearest]
    assert len(documents) == len(set(documents)) > 1
