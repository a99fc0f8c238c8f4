"""What says a query in its answer although the source is hidden: a constructed vault per leak."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from dowse._project.engine import Engine
from dowse._project.own_queries import OwnQuery, hidden_copy, joined, own_queries
from dowse._project.workspace import Given, Workspace
from dowse._search.request import SearchRequest
from dowse._util.files import Locations
from dowse.testing import HashEmbedder

_CORPUS = Path(__file__).parents[3] / "benchmarks" / "corpus" / "docs"
_LONG = "The keeper climbs the stairs every evening and writes down what was burnt."
_KEYWORD = {"search.mode": "keyword"}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A user with vectors that need no weights."""
    where = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "cache")
    return Workspace(where, Given(HashEmbedder()))


def _indexed(workspace: Workspace, folder: Path, notes: Mapping[str, str]) -> Engine:
    folder.mkdir()
    for name, text in notes.items():
        (folder / name).write_text(text, "utf-8")
    return _opened(workspace, folder)


def _opened(workspace: Workspace, folder: Path) -> Engine:
    engine = workspace.open(workspace.projects.add([folder], folder.name))
    engine.index()
    return engine


def _drawn(engine: Engine, per_kind: int = 50) -> tuple[OwnQuery, ...]:
    with engine.read() as reading:
        return own_queries(reading, per_kind)


# What else may say a query: the answer is then found by the copy, not by what it is about.
_LEAKS: Mapping[str, tuple[str, str]] = {
    "a list of contents without links": (
        "heading",
        "# Wick\n\n1. Trimming the oily wick\n\n## Trimming the oily wick\n\n{long}\n",
    ),
    "an anchor below another label": (
        "heading",
        "# Wick\n\n[See below](#trimming-the-oily-wick).\n\n## Trimming the oily wick\n\n{long}\n",
    ),
    "an anchor without its apostrophe": (
        "heading",
        "# Wick\n\n[Below](#what-the-keepers-oil-is)\n\n## What the keeper's oil is\n\n{long}\n",
    ),
    "a heading that goes on": (
        "heading",
        "## Trimming the oily wick\n\n{long}\n\n### Trimming the oily wick by night\n\nNo.\n",
    ),
    "an alias that says a heading": (
        "heading",
        "---\naliases: [Trimming the oily wick]\n---\n## Trimming the oily wick\n\n{long}\n",
    ),
    "a heading that is the text of a link": (
        "link",
        "# Wick\n\n## Cutting it short\n\n{long} And so on.\n",
    ),
    "an alias that is the text of a link": (
        "link",
        "---\naliases: [Cutting it short]\n---\n# Wick\n\n{long}\n",
    ),
}


@pytest.mark.parametrize("leak", _LEAKS)
def test_what_the_answer_says_elsewhere_is_no_query(
    tmp_path: Path, workspace: Workspace, leak: str
) -> None:
    kind, text = _LEAKS[leak]
    page = "# Page\n\n[Cutting it short](wick.md)\n"
    notes = {"wick.md": text.format(long=_LONG), "page.md": page}
    with _indexed(workspace, tmp_path / "leaks", notes) as engine:
        assert [query.text for query in _drawn(engine) if query.kind == kind] == []


def test_without_such_a_copy_each_of_them_is_one(tmp_path: Path, workspace: Workspace) -> None:
    text = f"# Wick\n\n## Trimming the oily wick\n\n{_LONG}\n"
    notes = {"wick.md": text, "page.md": "# Page\n\n[Cutting it short](wick.md)\n"}
    with _indexed(workspace, tmp_path / "sound", notes) as engine:
        kinds = [query.kind for query in _drawn(engine)]
    assert kinds == ["heading", "link"]


def test_a_list_of_contents_is_hidden_with_its_headings(
    tmp_path: Path, workspace: Workspace
) -> None:
    heads = ("Trimming all oily edges", "Filling the brass can", "Counting used matches")
    entries = f"- [{heads[0]}](#x)\n- [{heads[1]}](wick.md#filling)\n- [[wick#{heads[2]}]]\n"
    parts = "\n".join(f"## {head}\n\n{_LONG}\n" for head in heads)
    notes = {"wick.md": f"# Wick\n\n{entries}\n{parts}"}
    with _indexed(workspace, tmp_path / "contents", notes) as engine:
        queries = _drawn(engine)
        assert {query.text for query in queries} == set(heads)
        with hidden_copy(workspace, engine, queries) as copy:
            for words in ("trimming oily edges", "filling brass can", "counting used matches"):
                assert engine.search(SearchRequest(words, changes=_KEYWORD)).hits
                assert not copy.engine.search(SearchRequest(words, changes=_KEYWORD)).hits


def test_a_document_that_test_a_document_that_links_to_a_heading_is_no_answer(
    tmp_path: Path, workspace: Workspace
) -> None:
    head = "Trimming the oily wick"
    notes = {
        "wick.md": f"# Wick\n\n## {head}\n\n{_LONG}\n",
        "a.md": "See [this](wick.md#trimming-the-oily-wick).\n",
        "b.md": f"See [[wick#{head}]].\n",
    }
    with _indexed(workspace, tmp_path / "links", notes) as engine:
        linking = {query.text: query.linking for query in _drawn(engine)}
    assert linking == {head: ("a.md", "b.md")}


def test_nothing_that_is_searched_of_an_answer_holds_its_query(workspace: Workspace) -> None:
    """Terms are made of the fields, the header path and the text; vectors of the last two."""
    with _opened(workspace, _CORPUS) as engine:
        queries = _drawn(engine)
        assert {query.kind for query in queries} == {"heading", "link"}
        with hidden_copy(workspace, engine, queries) as copy, copy.engine.read() as reading:
            for query in queries:
                stored = reading.catalogue.document(query.document)
                assert stored is not None
                fields, asked = stored.entry.fields, joined(query.text)
                named = {joined(one) for one in (fields.title, *fields.aliases, *fields.tags)}
                paths = {joined(one) for chunk in stored.chunks for one in chunk.header_path}
                assert asked not in named | paths | {joined(fields.description)}, query
                if query.kind == "heading":
                    assert asked not in joined(stored.text[stored.body :]), query
