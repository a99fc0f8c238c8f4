"""A query that is a title, an alias or a heading finds that passage first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from dowse._project.engine import Engine
from dowse._search.request import SearchRequest
from vaults import index_notes, open_engine

_FILLER = "The pump hall is described here, pump hall after pump hall, with every pump in it.\n"
_NOTES = {
    "hall.md": "---\ntitle: Hall\naliases: [The big room]\n---\nNothing of the kind.\n",
    "pumps.md": (
        "# Pumps\n\nAll about them.\n\n## Care\n\nOil them.\n\n### By hand\n\nSlowly.\n\n"
        "### Pump hall?\n\nIt is closed.\n\n###### Deep down\n\nWet.\n\n## Storage\n\nDry.\n"
    ),
    "named.md": "---\ntitle: Storage\n---\nA page of its own.\n",
    **{f"filler-{number}.md": f"# Filler {number}\n\n{_FILLER * 3}" for number in range(12)},
    **{f"see-{number}.md": f"# Page {number}\n\n## See also\n\nx{number}" for number in range(120)},
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder = tmp_path_factory.mktemp("exact")
    for name, text in _NOTES.items():
        (folder / name).write_text(text, "utf-8")
    engine = open_engine(folder, tmp_path_factory.mktemp("index"))
    engine.index()
    return engine


def test_a_heading_inside_a_merged_chunk_is_the_first_result(engine: Engine) -> None:
    assert (
        engine.search(SearchRequest("pump hall", changes={"exact.enabled": False}))
        .hits[0]
        .first_line
        != 13
    )
    hit = engine.search(SearchRequest("pump hall")).hits[0]
    assert (hit.document, hit.first_line) == ("pumps.md", 13)
    assert hit.header_path == ("Pumps", "Care", "Pump hall?")
    assert hit.text.startswith("### Pump hall?")
    assert "Oil" not in hit.snippet
    assert "exact" in [step.stage for step in hit.trace.steps]


@pytest.mark.parametrize(
    ("query", "line"), [("care", 5), ("By hand", 9), ("deep-down", 17), ("Pumps", 1)]
)
def test_headings_of_every_level_are_found(engine: Engine, query: str, line: int) -> None:
    hit = engine.search(SearchRequest(query)).hits[0]
    assert (hit.document, hit.first_line) == ("pumps.md", line)


@pytest.mark.parametrize("query", ["hall", "the big room", "“The big room”"])
def test_a_title_or_an_alias_finds_its_document(engine: Engine, query: str) -> None:
    for mode in ("hybrid", "keyword", "semantic"):
        assert (
            engine.search(SearchRequest(query, changes={"search.mode": mode})).hits[0].document
            == "hall.md"
        )


def test_a_title_comes_before_a_heading(engine: Engine) -> None:
    first, second = engine.search(SearchRequest("storage")).hits[:2]
    assert (first.document, second.document) == ("named.md", "pumps.md")
    assert first.score > second.score
    assert second.first_line == 21


def test_conditions_hold_for_what_is_called_like_the_query(engine: Engine) -> None:
    hits = engine.search(SearchRequest("pump hall path:filler")).hits
    assert all(hit.document.startswith("filler") for hit in hits)


def test_a_heading_of_very_many_passages_names_none(engine: Engine) -> None:
    hits = engine.search(SearchRequest("see also")).hits
    assert all(step.stage != "exact" for hit in hits for step in hit.trace.steps)


def test_other_queries_are_ranked_as_without_it(engine: Engine) -> None:
    for query in ("pump hall closed", "hall pump", "big room"):
        off = engine.search(SearchRequest(query, changes={"exact.enabled": False})).hits
        assert [hit.id for hit in engine.search(SearchRequest(query)).hits] == [
            hit.id for hit in off
        ]


def test_reranking_leaves_what_is_called_like_the_query_first(engine: Engine) -> None:
    reranker = _Against("### Pump hall?")
    parts = replace(engine.parts, reranker=lambda _: lambda: reranker)
    reranked = Engine(engine.project, engine.settings, parts)
    changes = {"rerank.enabled": True, "rerank.mix": 0.9}
    first, second = reranked.search(SearchRequest("pump hall", changes=changes)).hits[:2]
    assert reranker.asked
    assert (first.document, first.first_line) == ("pumps.md", 13)
    assert first.score >= second.score


class _Against:
    """A reranker that likes every passage but the one with some text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.asked = 0

    def scores(self, _: str, passages: Sequence[str]) -> list[float]:
        """One score per passage."""
        self.asked += 1
        return [0.0 if self._text in one else 1.0 for one in passages]


def test_no_document_whose_heading_is_the_query_is_dropped_as_a_near_copy(tmp_path: Path) -> None:
    steps = "".join(f"{number}. Stop the service, wait, then start it.\n" for number in range(12))
    notes = {
        "restart-a.md": f"# Host A\n\n## Restart the pump\n\n{steps}",
        "restart-b.md": f"# Host B\n\n## Restart the pump\n\n{steps}",
        "restart-c.md": f"# Host C\n\n## Restart the lamp\n\n{steps}",
    }
    engine = index_notes(tmp_path, notes)
    near = {"semantic_dedup.enabled": True, "near_dedup.similarity": 0.8}
    named = engine.search(SearchRequest("restart the pump", changes=near))
    assert {(hit.document, hit.reason) for hit in named.hits} == {
        ("restart-a.md", "exact heading"),
        ("restart-b.md", "exact heading"),
    }
    assert len(engine.search(SearchRequest("stop service", changes=near)).hits) == 1
