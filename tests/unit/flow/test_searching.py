"""The search flow end to end, over a real index with an embedder that needs no weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from dowse._config.schema import Layer, combine, preset_values
from dowse._model.ports import KeywordField
from dowse._project.engine import Engine
from dowse._search.pipeline import SEARCH_FLOW
from dowse._search.request import SearchRequest
from dowse._search.strategies import NAMES, SearchOptions
from dowse._store.keyword import KeywordIndex
from dowse._text.languages import MARKS
from dowse.errors import BadSettings, NotFound, StampMismatch, UsageError, WeightsMissing
from dowse.testing import HashEmbedder, NoEmbedder
from vaults import index_notes, open_engine

_NOTES = {
    "guides/login.md": "# Sign in\n\nHow authentication works with a token and a session.\n",
    "guides/backup.md": "# Backup\n\nRestore the database from last night's dump.\n",
    "reference/api.md": "# API\n\n```python\ndef getUserById(id): ...\n```\n\nUser lookup.\n",
    "journal/day.md": "# Day\n\nWe looked at antennas and wind. C++ firmware was flashed.\n",
}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    for name, text in _NOTES.items():
        path = tmp_path / "vault" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path / "vault"


@pytest.fixture
def engine(vault: Path, tmp_path: Path) -> Iterator[Engine]:
    with open_engine(vault, tmp_path / "index") as engine:
        engine.index()
        yield engine


def test_the_best_document_comes_first_with_its_place(engine: Engine) -> None:
    hit = engine.search(SearchRequest("authentication token")).hits[0]
    assert (hit.document, hit.title, hit.header_path) == (
        "guides/login.md",
        "Sign in",
        ("Sign in",),
    )
    assert (hit.first_line, hit.last_line) == (1, 3)
    assert "**authentication**" in hit.snippet
    assert {place.strategy: place.rank for place in hit.trace.places} == {
        "semantic": 1,
        "keyword": 1,
    }
    assert [step.stage for step in hit.trace.steps] == ["calibrate"]
    contributions = sum(place.contribution for place in hit.trace.places)
    assert hit.trace.steps[0].before == pytest.approx(contributions)
    assert hit.score == hit.trace.steps[-1].after


def test_a_missing_word_loses_score_not_the_document(engine: Engine) -> None:
    response = engine.search(
        SearchRequest("authentication zzzz qqqq", changes={"search.mode": "keyword"})
    )
    assert response.hits[0].document == "guides/login.md"


def test_technical_terms_are_found_as_written(engine: Engine) -> None:
    def found(query: str) -> list[str]:
        response = engine.search(SearchRequest(query, changes={"search.mode": "keyword"}))
        return [hit.document for hit in response.hits]

    assert found("C++") == ["journal/day.md"]
    assert found("getUserById")[0] == "reference/api.md"


def test_invariants_of_every_response(engine: Engine) -> None:
    for query in (
        "authentication",
        "database dump restore",
        "",
        "?!",
        "zzzz",
        "x" * 10_000,
        "東京",
    ):
        for top_n in (1, 2, 50):
            response = engine.search(SearchRequest(query, changes={"search.top_n": top_n}))
            scores = [hit.score for hit in response.hits]
            assert len(scores) <= top_n
            assert scores == sorted(scores, reverse=True)
            assert all(0 <= score <= 1 for score in scores)
            assert len({hit.id for hit in response.hits}) == len(scores)
            assert list(response.counts) == [stage.name for stage in SEARCH_FLOW]
            assert response.counts["retrieve"] == response.counts["fuse"]
            assert response.counts["top_n"] == len(scores)


def test_modes_use_only_their_strategy(engine: Engine) -> None:
    for mode in ("keyword", "semantic"):
        response = engine.search(SearchRequest("backup database", changes={"search.mode": mode}))
        ranked = {place.strategy for hit in response.hits for place in hit.trace.places}
        assert ranked - {one.name for one in NAMES} == {mode}


def test_a_part_of_a_name_that_keyword_search_finds_is_not_close_in_meaning(
    engine: Engine,
) -> None:
    response = engine.search(SearchRequest("getUserByName", changes={"search.mode": "keyword"}))
    assert [(hit.document, hit.reason) for hit in response.hits] == [
        ("reference/api.md", "only parts of the word found")
    ]


def test_without_weights_words_still_rank_and_the_reason_is_reported(
    vault: Path, engine: Engine, tmp_path: Path
) -> None:
    engine.close()
    with open_engine(vault, tmp_path / "index", NoEmbedder()) as without:
        response = without.search(SearchRequest("backup database"))
        assert response.hits[0].document == "guides/backup.md"
        assert "dowse models pull" in response.notices[0]
        with pytest.raises(WeightsMissing):
            without.search(SearchRequest("backup", changes={"search.mode": "semantic"}))


def test_an_index_that_is_not_there_yet_is_named_with_the_command(
    vault: Path, tmp_path: Path
) -> None:
    with (
        open_engine(vault, tmp_path / "none") as engine,
        pytest.raises(NotFound, match="dowse index"),
    ):
        engine.search(SearchRequest("anything"))


@pytest.mark.parametrize(
    "change", [{"chunk.chunk_goal": 900}, {"keyword.stemming": False}, {"keyword.title": 5.0}]
)
def test_an_index_of_other_settings_is_refused_with_the_command(
    vault: Path, engine: Engine, tmp_path: Path, change: dict[str, object]
) -> None:
    engine.close()
    settings, _ = combine([Layer("arguments", change)])
    with open_engine(vault, tmp_path / "index", settings=settings) as other:
        with pytest.raises(StampMismatch, match="dowse index --rebuild"):
            other.search(SearchRequest("anything"))
        with pytest.raises(StampMismatch, match="dowse index --rebuild"):
            other.index()
        assert other.index(rebuild=True).added == len(_NOTES)
        assert other.search(SearchRequest("authentication")).hits


def test_an_index_of_another_model_is_refused(vault: Path, engine: Engine, tmp_path: Path) -> None:
    engine.close()
    with open_engine(vault, tmp_path / "index", HashEmbedder(dimensions=32)) as other:
        with pytest.raises(StampMismatch, match="hash/64"):
            other.search(SearchRequest("anything"))
        other.index(rebuild=True)
        assert other.search(SearchRequest("authentication")).hits
        assert other.check() == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("search.top_n", 0),
        ("search.top_k", -2),
        ("search.mode", "magic"),
        ("search.preset", "seed-c"),
        ("fuse.rrf_k", 0.0),
        ("fuse.keyword", -1.0),
        ("fuse.normalise", "softmax"),
        ("gather.share", 1.1),
        ("dynamic_weights.min_factor", 2.0),
        ("dynamic_weights.variance_threshold", 0.0),
        ("community.boost", 0.5),
        ("recency.bias", 1.5),
        ("calibrate.steepness", -1.0),
        ("threshold.min_confidence", 1.1),
        ("near_dedup.similarity", -0.1),
        ("semantic_dedup.similarity", 2.0),
        ("diversity.balance", 1.5),
        ("diversity.max_chunks_per_doc", -1),
        ("rerank.top_n", 0),
        ("rerank.mix", 1.5),
        ("graph.depth", 0),
        ("classify.factual", -1.0),
        ("expand.terms", 0),
        ("chunk.overlap", 5),
    ],
)
def test_settings_that_no_search_could_run_with_are_rejected(
    engine: Engine, name: str, value: object
) -> None:
    with pytest.raises(BadSettings):
        engine.search(SearchRequest("backup", changes={name: value}))


def test_candidates_do_not_depend_on_the_results_wanted() -> None:
    assert [SearchOptions(top_n=n).candidates for n in (1, 5, 100)] == [50, 50, 50]
    assert [SearchOptions(top_k=k).candidates for k in (1, 30)] == [10, 30]


def test_candidates_follow_the_results_wanted_in_the_first_system() -> None:
    assert preset_values("seed-a")["search.top_k"] == -1
    assert [SearchOptions(top_k=-1, top_n=n).candidates for n in (1, 5, 25)] == [10, 10, 50]


def test_passages_by_path_line_and_short_id(engine: Engine, vault: Path) -> None:
    assert engine.get("guides/login.md").text == _NOTES["guides/login.md"].rstrip("\n")
    assert engine.get("guides/login.md:3:1").text.startswith("How authentication")
    assert engine.get("login").document == "guides/login.md"
    assert engine.get(str(vault / "guides" / "backup.md")).title == "Backup"
    short = next(entry.short_id for entry in engine.documents() if entry.id == "journal/day.md")
    assert engine.get(short).document == engine.get(f"#{short}").document == "journal/day.md"
    hit = engine.search(SearchRequest("getUserById")).hits[0]
    assert engine.get(hit.id).first_line == hit.first_line
    for wrong in ("guides/logon.md", "nothing like it", "guides/login.md:99", "ffffffffffff"):
        with pytest.raises((NotFound, UsageError)):
            engine.get(wrong)
    with pytest.raises(NotFound, match=r"guides/login\.md"):
        engine.get("guides/logon.md")


def test_an_anchor_says_which_of_several_documents_of_a_name_is_meant(tmp_path: Path) -> None:
    notes = {
        "a/setup.md": "# A\n\n## Install\n\nOf a.\n",
        "b/setup.md": "# B\n\n## Remove\n\nOf b.\n",
        "c/d/setup.md": "# C\n\n## Install\n\n## Reset\n\nOf c.\n",
    }
    engine = index_notes(tmp_path, notes)
    here = tmp_path / "vault" / "c" / "d"
    assert engine.get("setup.md#remove").document == "b/setup.md"
    assert engine.get("[[setup#Reset]]").document == "c/d/setup.md"
    assert engine.get("[[setup#Install]]").document == "a/setup.md"  # the nearest, as of links
    assert engine.get("setup.md#install", here=here).document == "c/d/setup.md"
    assert engine.get("../../b/setup.md#remove", here=here).document == "b/setup.md"
    with pytest.raises(UsageError, match=r"2 documents: a/setup\.md, c/d/setup\.md"):
        engine.get("setup.md#install")
    with pytest.raises(UsageError, match=r"3 documents: a/setup\.md, b/setup\.md"):
        engine.get("setup.md#nowhere")
    for named in ("setup.md#remove", "[[c/d/setup#Remove]]"):
        with pytest.raises(NotFound, match=r"c/d/setup\.md has no heading"):
            engine.get(named, here=here)


def test_a_term_is_counted_once_after_the_query_is_understood(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: Counter[tuple[str, str]] = Counter()
    count = KeywordIndex.frequencies

    def counting(index: KeywordIndex, field: KeywordField, terms: Sequence[str]) -> dict[str, int]:
        counted.update((field, term) for term in terms)
        return count(index, field, terms)

    monkeypatch.setattr(KeywordIndex, "frequencies", counting)
    assert engine.answer(SearchRequest("authentication token session")).answer is not None
    # Once to see whether a word is misspelled, once for ranking, snippets and the answer.
    assert {count for (_, term), count in counted.items() if term not in MARKS} == {2}
