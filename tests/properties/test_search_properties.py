"""What holds for every search, whatever the settings and the query, over a real index."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse._model import Hit
from dowse._project.engine import Engine
from dowse._search.pipeline import SEARCH_FLOW
from dowse._search.request import Filters, SearchRequest
from effort import examples
from vaults import open_engine, write_vault

SETTINGS = examples(30, 60)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with tempfile.TemporaryDirectory() as folder:
        write_vault(Path(folder, "vault"), 40)
        with open_engine(Path(folder, "vault"), Path(folder, "index")) as engine:
            engine.index()
            yield engine


@pytest.fixture(scope="module")
def large() -> Iterator[Engine]:
    """More documents than a strategy hands over at first."""
    with tempfile.TemporaryDirectory() as folder:
        write_vault(Path(folder, "vault"), 150)
        with open_engine(Path(folder, "vault"), Path(folder, "index")) as engine:
            engine.index()
            yield engine


words = st.sampled_from(
    ["gateway", "radio", "battery", "the", "zzzz", "note", "C++", "note_3", "東京", "batery"]
)
queries = st.one_of(
    st.lists(words, max_size=5).map(" ".join),
    st.sampled_from(
        [
            "",
            "?!",
            '"wind rain"',
            "gateway -radio",
            "tag:wind gateway",
            "gat*",
            "how does the radio work?",
            "path:part-1",
        ]
    ),
    st.text(max_size=30),
)
shares = st.floats(0, 1).map(lambda share: round(share, 3))
recipes = st.fixed_dictionaries(
    {},
    optional={
        "search.mode": st.sampled_from(["hybrid", "keyword", "semantic", "code", "hyde"]),
        "search.top_n": st.integers(1, 40),
        "search.top_k": st.integers(0, 60),
        "classify.enabled": st.booleans(),
        "expand.enabled": st.booleans(),
        "expand.similarity": shares,
        "code.enabled": st.booleans(),
        "graph.enabled": st.booleans(),
        "graph.depth": st.integers(1, 3),
        "community.enabled": st.booleans(),
        "dynamic_weights.enabled": st.booleans(),
        "fuse.method": st.sampled_from(["convex", "rrf"]),
        "fuse.normalise": st.sampled_from(["ceiling", "minmax", "zscore"]),
        "fuse.rrf_k": st.floats(0.5, 100),
        "fuse.semantic": st.floats(0, 3),
        "fuse.keyword": st.floats(0, 3),
        "fuse.graph": st.floats(0, 3),
        "gather.share": shares,
        "recency.bias": shares,
        "calibrate.enabled": st.booleans(),
        "calibrate.method": st.sampled_from(["fitted", "sigmoid"]),
        "readable.enabled": st.booleans(),
        "threshold.min_confidence": st.sampled_from([0.0, 0.2, 0.3]),
        "exact_dedup.enabled": st.booleans(),
        "near_dedup.enabled": st.booleans(),
        "semantic_dedup.enabled": st.booleans(),
        "diversity.mmr": st.booleans(),
        "diversity.balance": shares,
        "diversity.max_chunks_per_doc": st.integers(0, 3),
        "parents.enabled": st.booleans(),
        "documents.passages": st.booleans(),
    },
)


@SETTINGS
@given(query=queries, changes=recipes)
def test_what_is_always_true(engine: Engine, query: str, changes: dict[str, Any]) -> None:
    response = engine.search(SearchRequest(query, changes=changes))
    top_n = changes.get("search.top_n", 5)
    top_k = max(10, changes.get("search.top_k") or 50 * 1024)
    scores = [hit.score for hit in response.hits]
    assert len(scores) <= top_n
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert len({(hit.document, hit.id) for hit in response.hits}) == len(scores)
    if not changes.get("documents.passages") and not changes.get("diversity.max_chunks_per_doc"):
        assert len({hit.document for hit in response.hits}) == len(scores)
    for hit in response.hits:
        assert hit.first_line <= hit.line <= hit.last_line
        assert all(one.last_line >= one.first_line for one in hit.more)
    if changes.get("parents.enabled"):
        assert len({(hit.document, hit.section) for hit in response.hits}) == len(scores)
    for hit in (*response.hits, *response.nearest):
        assert all(place.rank is None or 1 <= place.rank <= top_k for place in hit.trace.places)
        assert len({place.strategy for place in hit.trace.places}) == len(hit.trace.places)
    assert all(not hit.trace.steps[-1].dropped for hit in response.hits)
    assert list(response.counts) == [stage.name for stage in SEARCH_FLOW]
    after_fusion = list(response.counts.values())[list(response.counts).index("fuse") :]
    assert after_fusion == sorted(after_fusion, reverse=True)
    assert response.counts["top_n"] == len(scores)


@SETTINGS
@given(query=queries, changes=recipes)
def test_every_score_is_the_sum_of_what_its_trace_tells(
    engine: Engine, query: str, changes: dict[str, Any]
) -> None:
    for hit in engine.search(SearchRequest(query, changes=changes)).hits:
        score = sum(place.contribution for place in hit.trace.places)
        for step in hit.trace.steps:
            assert step.before == score
            score = step.after
        assert hit.score == score


@SETTINGS
@given(query=queries, changes=recipes)
def test_the_same_query_gives_the_same_answer(
    engine: Engine, query: str, changes: dict[str, Any]
) -> None:
    # A day changes what is recent; a test that runs over midnight must not notice.
    changes = changes | {"recency.bias": 0.0}
    first, second = (engine.search(SearchRequest(query, changes=changes)) for _ in range(2))
    assert (first.hits, first.counts, first.notices) == (second.hits, second.counts, second.notices)


filters = st.builds(
    Filters,
    tag=st.lists(st.sampled_from(["wind", "rain", "radio", "none"]), max_size=1).map(tuple),
    path=st.lists(st.sampled_from(["part-1", "part-2/", "PART-3"]), max_size=2).map(tuple),
    language=st.lists(st.sampled_from(["python", "rust"]), max_size=1).map(tuple),
)


@SETTINGS
@given(
    query=st.lists(words.filter(str.isascii), min_size=1, max_size=3).map(" ".join),
    chosen=filters,
    mode=st.sampled_from(["keyword", "semantic", "code"]),
    top_n=st.integers(1, 8),
)
def test_a_filtered_search_is_an_unlimited_one_filtered(
    engine: Engine, query: str, chosen: Filters, mode: str, top_n: int
) -> None:
    plain = {
        "search.mode": mode,
        "fuse.normalise": "ceiling",
        "gather.share": 0.0,
        "near_dedup.enabled": False,
        "exact_dedup.enabled": False,
        "exact.enabled": False,  # what is called like the query goes above all that is found
        "documents.passages": True,
        "calibrate.method": "sigmoid",  # the lead of the first depends on what else is found
    }
    everything = engine.search(SearchRequest(query, changes=plain | {"search.top_n": 10_000})).hits
    filtered = engine.search(
        SearchRequest(query, filters=chosen, changes=plain | {"search.top_n": top_n})
    )
    tags = {entry.id: {tag.lower() for tag in entry.fields.tags} for entry in engine.documents()}
    fits = [hit for hit in everything if _fits(engine, hit, tags[hit.document], chosen)]
    assert [(hit.id, hit.score) for hit in filtered.hits] == [
        (hit.id, hit.score) for hit in fits[:top_n]
    ]


def _fits(engine: Engine, hit: Hit, tags: set[str], chosen: Filters) -> bool:
    return (
        all(tag in tags for tag in chosen.tag)
        and (not chosen.path or hit.document.startswith(tuple(p.lower() for p in chosen.path)))
        and (not chosen.language or (_has_python(engine, hit) and "python" in chosen.language))
    )


def _has_python(engine: Engine, hit: Hit) -> bool:
    return "```python" in engine.get(hit.id).text


@SETTINGS
@given(query=queries, changes=recipes, cuts=st.lists(st.integers(1, 70), min_size=1, max_size=3))
def test_pages_are_slices_of_one_list(
    large: Engine, query: str, changes: dict[str, Any], cuts: list[int]
) -> None:
    changes = {**changes, "recency.bias": 0.0}
    pages, offset = [], 0
    for n in cuts:
        page = large.search(
            SearchRequest(query, changes={**changes, "search.top_n": n}, offset=offset)
        )
        pages.append(page)
        offset += n
    whole = large.search(SearchRequest(query, changes={**changes, "search.top_n": offset}))
    assert tuple(hit for page in pages for hit in page.hits) == whole.hits
    for page in pages:
        assert page.no_good_match == whole.no_good_match
        assert page.total == whole.total or (page.total < whole.total and not page.total_is_exact)
        assert page.total >= page.offset + len(page.hits) or not page.hits


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
def test_all_documents_can_be_paged_through_once(large: Engine, mode: str) -> None:
    found: list[str] = []
    while True:
        changes = {"search.mode": mode, "search.top_n": 13, "near_dedup.enabled": False}
        page = large.search(SearchRequest("gateway radio", changes=changes, offset=len(found)))
        if not page.hits:
            break
        found += [hit.document for hit in page.hits]
    assert len(found) == len(set(found)) == page.total
    assert page.total_is_exact
    assert len(found) == 150 or mode == "keyword"


def test_conditions_alone_are_counted_in_full(large: Engine) -> None:
    first = large.search(SearchRequest("path:part-1", changes={"search.top_n": 10}))
    paths = [one.id for one in large.documents() if one.id.startswith("part-1/")]
    assert (len(first.hits), first.total, first.total_is_exact) == (10, len(paths), True)
    many = large.search(SearchRequest("note-1 OR path:part", changes={"search.top_n": 10}))
    assert many.total <= 150
    every = large.search(SearchRequest("path:part", changes={"search.top_n": 10}))
    assert (every.total, every.total_is_exact) == (150, True)
