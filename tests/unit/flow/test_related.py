"""What belongs to a document, and the whole graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse._project.engine import Engine
from dowse._search.request import SearchRequest
from dowse.errors import NotFound
from vaults import index_notes

_NOTES = {
    "hub.md": "# Hub\n\nMasts and radio. [[one]], [[two]], [[missing]], [[one]] again.\n",
    "one.md": "# One\n\nThe first. [[two]]\n",
    "two.md": "# Two\n\nThe second. [[three]]\n",
    "three.md": "# Three\n\nThe third. [[hub]] [[two]]\n",
    "five.md": "# Five\n\nMasts and radio and wind.\n",
    "alone.md": "# Alone\n\nBread.\n",
}


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return index_notes(tmp_path, _NOTES)


def test_links_both_ways_community_and_meaning(engine: Engine) -> None:
    related = engine.related("hub.md")
    assert [one.id for one in related.linked] == ["one.md", "two.md"]
    assert [one.title for one in related.linking] == ["Three"]
    assert related.dangling == ("missing",)
    assert related.similar[0].id == "five.md"
    assert related.similar[0].score == max(one.score or 0 for one in related.similar)
    assert all(one.id != "hub.md" for one in related.similar)
    community = engine.related("one.md").community
    assert {one.id for one in community} <= {"three.md"}


def test_a_document_without_links_has_only_what_is_similar(engine: Engine) -> None:
    related = engine.related("alone")
    assert (related.linked, related.linking, related.community, related.dangling) == ((),) * 4
    assert len(related.similar) == 5
    assert len(engine.related("alone", 2).similar) == 2


def test_a_document_that_does_not_exist_is_an_error(engine: Engine) -> None:
    with pytest.raises(NotFound):
        engine.related("nowhere")


def test_the_graph_holds_every_document_and_every_link(engine: Engine) -> None:
    graph = engine.graph()
    assert [entry.id for entry in graph.documents] == sorted(_NOTES)
    assert ("hub.md", None) in [(edge.source, edge.target) for edge in graph.edges]
    assert len(graph.edges) == 8
    assert "alone.md" not in graph.communities


def test_hits_carry_the_links_of_their_document(engine: Engine) -> None:
    hit = engine.search(SearchRequest("hub masts radio")).hits[0]
    assert (hit.document, hit.links_out, hit.links_in) == (
        "hub.md",
        ("one.md", "two.md"),
        ("three.md",),
    )
