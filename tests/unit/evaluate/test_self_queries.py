"""Queries out of one's own documents, and the copy of the index that does not hold them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse._index.markdown.document import parse
from dowse._project import own_queries as hiding
from dowse._project.engine import Engine
from dowse._project.own_queries import (
    OwnQuery,
    headings_of,
    hidden_copy,
    hide,
    own_collection,
    own_queries,
)
from dowse._project.workspace import Given, Workspace
from dowse._search.request import SearchRequest
from dowse._util.files import Locations
from dowse.errors import Locked
from dowse.testing import HashEmbedder

_LONG = "The keeper climbs the stairs every evening and writes down what the lamp has burnt."

NOTES: Mapping[str, str] = {
    "lamp.md": (
        "---\ntitle: Lamp\ndescription: Everything about the light at the top\n"
        "aliases: [beacon, Lamp, lantern of old]\n---\n# Lamp\n\n"
        "- [Trimming the oily wick](#trimming-the-oily-wick)\n\n"
        f"{_LONG}\n\n## Trimming the oily wick\n\nScissors are used, and a steady hand. {_LONG}\n\n"
        f"## See also\n\n{_LONG} Nothing else.\n\n### Polishing the curved mirror\n\n"
        f"Chalk and a soft cloth. {_LONG}\n"
    ),
    "stairs.md": (
        "# Stairs\n\nUp to [[lamp|where the fire burns]], [the lamp](lamp.md), [here](boat.md).\n\n"
        f"## Counting all the steps\n\nThere are two hundred and one. {_LONG}\n\n"
        "A setext heading\nover two lines\n---\n\n"
        f"Its text is long enough to be worth finding. {_LONG}\n"
    ),
    "boat.md": (
        "---\ndescription: too short\n---\n# Boat\n\nIt brings oil. "
        "See [[lamp|where the fire burns]] and [the long way](stairs.md).\n\n"
        f"## Counting all the steps\n\nTwo of them lead to the jetty. {_LONG}\n\n"
        "## Nothing stands below this\n\nNo.\n"
    ),
    "none.md": f"No heading at all. {_LONG}\n",
    "pier.md": f"# Pier\n\n{_LONG} See [the long way](lamp.md) and [[stairs|Stairs]].\n",
}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A user with notes, and vectors that need no weights."""
    for name, text in NOTES.items():
        path = tmp_path / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    where = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "cache")
    return Workspace(where, Given(HashEmbedder()))


@pytest.fixture
def engine(workspace: Workspace, tmp_path: Path) -> Engine:
    """The notes, indexed."""
    engine = workspace.open(workspace.projects.add([tmp_path / "notes"], "notes"))
    engine.index()
    return engine


def _drawn(engine: Engine, per_kind: int = 50, seed: int = 0) -> tuple[OwnQuery, ...]:
    with engine.read() as reading:
        return own_queries(reading, per_kind, seed)


def _texts(queries: tuple[OwnQuery, ...], kind: str) -> set[tuple[str, str]]:
    return {(query.text, query.document) for query in queries if query.kind == kind}


def test_headings_are_long_deep_unique_and_have_text_below(engine: Engine) -> None:
    assert _texts(_drawn(engine), "heading") == {
        ("Trimming the oily wick", "lamp.md"),
        ("Polishing the curved mirror", "lamp.md"),
        ("A setext heading over two lines", "stairs.md"),
    }


def test_link_texts_lead_to_one_document_and_are_not_its_title(engine: Engine) -> None:
    queries = _drawn(engine)
    assert _texts(queries, "link") == {
        ("where the fire burns", "lamp.md"),
        ("the lamp", "lamp.md"),
    }
    by_text = {query.text: query.linking for query in queries}
    assert by_text["where the fire burns"] == ("boat.md", "stairs.md")


def test_the_same_queries_every_time_and_no_more_than_asked_for(engine: Engine) -> None:
    assert _drawn(engine) == _drawn(engine)
    few = _drawn(engine, per_kind=1)
    assert [query.kind for query in few] == ["heading", "link"]
    assert len({query.id for query in _drawn(engine)}) == len(_drawn(engine))


def test_signs_of_a_query_are_only_words_here(tmp_path: Path, workspace: Workspace) -> None:
    heading = 'Why "quoted" -minus tag:draft `code` works'
    path = tmp_path / "signs" / "a.md"
    path.parent.mkdir()
    path.write_text(f"# A\n\n## {heading}\n\n{_LONG}\n", "utf-8")
    with workspace.open(workspace.projects.add([path.parent], "signs")) as engine:
        engine.index()
        (query,) = _drawn(engine)
        assert query.text == "Why quoted minus tag draft code works"
        assert engine.search(SearchRequest(query.text)).removed == {}


def test_they_are_a_collection_like_any_other(engine: Engine) -> None:
    queries = _drawn(engine)
    collection = own_collection("notes", queries)
    assert [one.type for one in collection.queries] == [one.kind for one in queries]
    assert all(
        one.relevant == {q.document: 1} for one, q in zip(collection.queries, queries, strict=True)
    )


def test_what_is_hidden_is_gone_and_all_else_stays_on_its_line(engine: Engine) -> None:
    queries = _drawn(engine)
    for name, text in NOTES.items():
        hidden = hide(name, text, [query for query in queries if query.document == name])
        assert hidden.text.count("\n") == text.count("\n")
        for query in queries:
            if query.document == name and query.kind == "heading":
                assert query.text not in hidden.text
        # The levels stay, so that the text is cut where it was cut before.
        assert len(hidden.headings) == len(hide(name, text, []).headings)
        kept = [line for line in text.split("\n") if line.startswith(_LONG)]
        assert [line for line in hidden.text.split("\n") if line.startswith(_LONG)] == kept
    lamp = hide("lamp.md", NOTES["lamp.md"], [one for one in queries if one.document == "lamp.md"])
    assert lamp.fields.title == "Lamp"
    assert "(#trimming" not in lamp.text


def test_nothing_hidden_changes_nothing() -> None:
    for name, text in NOTES.items():
        assert hide(name, text, []).text == text


def test_the_copy_cannot_find_the_source_but_finds_the_rest(
    workspace: Workspace, engine: Engine
) -> None:
    queries = _drawn(engine)
    keyword = {"search.mode": "keyword"}
    assert engine.search(SearchRequest("trimming wick", changes=keyword)).hits
    with hidden_copy(workspace, engine, queries) as copy:
        for words in ("trimming wick", "polishing curved"):
            assert not copy.engine.search(SearchRequest(words, changes=keyword)).hits, words
        found = copy.engine.search(SearchRequest("scissors", changes=keyword)).hits[0]
        assert (found.document, found.header_path) == ("lamp.md", ("Lamp",))
        assert (
            found.modified
            == engine.search(SearchRequest("scissors", changes=keyword)).hits[0].modified
        )


def test_documents_that_only_link_are_no_answers(workspace: Workspace, engine: Engine) -> None:
    queries = _drawn(engine)
    link = next(query for query in queries if query.text == "where the fire burns")
    with hidden_copy(workspace, engine, queries) as copy:
        plain = {hit.document for hit in copy.engine.search(SearchRequest(link.text)).hits}
        assert {"stairs.md", "boat.md"} <= plain
        answers = {
            hit.document
            for hit in copy.engine.search(
                SearchRequest(link.text, filters=link.judged.filters)
            ).hits
        }
        assert answers
        assert not answers & {"stairs.md", "boat.md"}


def test_only_what_changed_is_embedded_and_only_once(workspace: Workspace, engine: Engine) -> None:
    queries = _drawn(engine)
    with hidden_copy(workspace, engine, queries) as copy:
        first = copy.embedded
        counts = copy.engine.status().counts
    assert counts.embedded == counts.chunks
    changed = {query.document for query in queries if query.kind == "heading"}
    assert 0 < first <= sum(entry.chunks for entry in engine.documents() if entry.id in changed)
    with hidden_copy(workspace, engine, queries) as copy:
        assert copy.embedded == 0
    with hidden_copy(workspace, engine, ()) as copy:
        assert copy.embedded == 0


def test_one_evaluation_does_not_change_the_copy_of_another(
    workspace: Workspace, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hiding, "_WAIT", 0.1)
    with hidden_copy(workspace, engine, ()) as copy:
        with (
            pytest.raises(Locked, match="Another process is measuring notes"),
            hidden_copy(workspace, engine, _drawn(engine)),
        ):
            pass
        assert copy.engine.search(
            SearchRequest("trimming wick", changes={"search.mode": "keyword"})
        ).hits
    with hidden_copy(workspace, engine, _drawn(engine)) as copy:
        assert not copy.engine.search(
            SearchRequest("trimming wick", changes={"search.mode": "keyword"})
        ).hits


def test_neither_the_documents_nor_the_index_are_touched(
    workspace: Workspace, engine: Engine, tmp_path: Path
) -> None:
    with engine.read() as reading:
        generation = reading.catalogue.generation
    with hidden_copy(workspace, engine, _drawn(engine)):
        pass
    for name, text in NOTES.items():
        assert (tmp_path / "notes" / name).read_text("utf-8") == text
    with engine.read() as reading:
        assert reading.catalogue.generation == generation
    assert engine.status().freshness.changed == 0


def test_a_broken_copy_is_made_again_and_goes_with_the_project(
    workspace: Workspace, engine: Engine
) -> None:
    folder = engine.project.folder / "evaluation"
    with hidden_copy(workspace, engine, ()):
        pass
    for file in (folder / "index").rglob("*"):
        if file.is_file():
            file.write_bytes(b"broken")
    with hidden_copy(workspace, engine, ()) as copy:
        assert copy.engine.search(SearchRequest("scissors")).hits
    engine.close()
    workspace.projects.remove("notes")
    assert not folder.exists()


def test_an_empty_project_gives_no_queries(workspace: Workspace, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "notes")
    (tmp_path / "notes").mkdir()
    with workspace.open(workspace.projects.add([tmp_path / "notes"], "empty")) as engine:
        engine.index()
        assert _drawn(engine) == ()
        with hidden_copy(workspace, engine, ()) as copy:
            assert copy.engine.search(SearchRequest("anything")).hits == ()


_PIECES = st.sampled_from(
    [
        "## Plain heading of words",
        "### Closed heading of words ###",
        "   ## Indented heading of words",
        "## With `code` and **bold** words",
        "Setext heading of words\n---",
        "Setext heading\nof two lines\n---",
        "> ## Quoted heading of words",
        "- ## Listed heading of words",
        "```\n## no heading at all\n```",
        "A paragraph that is long enough to stand below a heading and to be found.",
        "##\ttabbed heading of words",
        "## 見出しは日本語で書かれています 🌧️",
        "* * *",
        "---\n",
        "",
    ]
)


@settings(deadline=None, max_examples=150, derandomize=True)
@given(st.lists(_PIECES, max_size=12), st.sampled_from(["", "---\ntitle: T\n---\n", "# Title\n"]))
def test_whatever_is_drawn_can_be_hidden(pieces: list[str], head: str) -> None:
    text = head + "\n".join(pieces)
    drawn = list(headings_of(parse("a.md", text)))
    before, after = parse("a.md", text), hide("a.md", text, drawn)
    assert after.text.count("\n") == text.count("\n")
    assert [one.level for one in after.headings] == [one.level for one in before.headings]
    hidden = {query.start for query in drawn}
    for old, new in zip(before.headings, after.headings, strict=True):
        assert new.text == ("" if old.start in hidden else old.text)
