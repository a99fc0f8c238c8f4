"""Tuning: what is fused afterwards is what a search fuses, and luck is not taken for a gain."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from dowse._config.schema import Settings, change_search
from dowse._project import own_queries as tune_module
from dowse._project.evaluation import JudgedQuery
from dowse._project.own_queries import (
    TuneRecord,
    gather_evidence,
    judged_queries,
    own_queries,
    tune,
)
from dowse._project.workspace import Given, Workspace
from dowse._search.pipeline import Retrieved, SearchSettings
from dowse._search.request import SearchRequest
from dowse._util.files import Locations
from dowse.errors import UsageError
from dowse.testing import HashEmbedder
from vaults import open_engine, write_vault

_QUERIES = ("antenna battery drift", "how do I restore a backup?", "decode_17 frame", "note 12")

# Everything after fusion that could drop or reorder a document.
_PLAIN = {
    "search.top_n": 200,
    "search.top_k": 15,
    "exact_dedup.enabled": False,
    "near_dedup.enabled": False,
    "threshold.min_confidence": 0.0,
    "calibrate.enabled": False,
}

_WAYS: tuple[Mapping[str, Any], ...] = (
    {},
    {"fuse.semantic": 0.4, "fuse.keyword": 1.6, "gather.share": 0.0},
    {"fuse.normalise": "minmax", "gather.share": 0.75},
    {"fuse.normalise": "zscore", "fuse.keyword": 0.0},
    {"fuse.method": "rrf", "fuse.rrf_k": 10.0},
    {"fuse.method": "rrf", "gather.share": 0.0, "dynamic_weights.enabled": True},
    {"classify.enabled": True, "dynamic_weights.enabled": True, "fuse.graph": 2.0},
    {"community.enabled": True, "code.enabled": True, "graph.enabled": True},
    {"graph.enabled": False, "recency.bias": 1.0},
)


@pytest.mark.parametrize("way", _WAYS)
def test_fusing_afterwards_orders_documents_as_a_search_does(
    tmp_path: Path, way: Mapping[str, Any]
) -> None:
    write_vault(tmp_path / "vault", 60)
    with open_engine(tmp_path / "vault", tmp_path / "index") as engine:
        engine.index()
        changes = {**_PLAIN, **way}
        found = {text: engine.find(SearchRequest(text, changes=changes)) for text in _QUERIES}
        searched = {
            text: list(
                dict.fromkeys(
                    hit.document for hit in engine.search(SearchRequest(text, changes=changes)).hits
                )
            )
            for text in _QUERIES
        }
        settings = change_search(engine.settings, changes)
    # The engine is closed: what was found needs no index any more.
    for text in _QUERIES:
        assert searched[text]
        assert [document for document, _ in found[text].documents(settings)] == searched[text], text


def test_what_was_found_can_be_fused_in_any_way(tmp_path: Path) -> None:
    write_vault(tmp_path / "vault", 60)
    with open_engine(tmp_path / "vault", tmp_path / "index") as engine:
        engine.index()
        found = engine.find(SearchRequest(_QUERIES[0], changes=_PLAIN))
        for way in (*_WAYS[:5], *_WAYS[:5]):
            changes = {**_PLAIN, **way}
            hits = engine.search(SearchRequest(_QUERIES[0], changes=changes)).hits
            wanted = list(dict.fromkeys(hit.document for hit in hits))
            settings = change_search(engine.settings, changes)
            assert [document for document, _ in found.documents(settings)] == wanted


class _Rule:
    """Stands for what was found: a rule says at which rank a settings puts the right document."""

    def __init__(self, right: str, rank: Callable[[SearchSettings], int]) -> None:
        self._right = right
        self._rank = rank

    def documents(self, settings: SearchSettings) -> tuple[tuple[str, float], ...]:
        """The right document at its rank among wrong ones."""
        names = [f"wrong-{number}" for number in range(20)]
        names.insert(self._rank(settings) - 1, self._right)
        return tuple((name, 0.0) for name in names)

    notices = ()


def _tuned(
    rank: Callable[[int, SearchSettings], int], count: int = 60, documents: int = 60
) -> TuneRecord:
    right = [f"right-{n % documents}" for n in range(count)]
    questions = [
        JudgedQuery(f"q{n:03d}", "words", "ab"[n % 2], {right[n]: 1}) for n in range(count)
    ]
    rules = [_Rule(right[n], lambda settings, n=n: rank(n, settings)) for n in range(count)]  # type: ignore[misc]
    found = [cast("Retrieved", rule) for rule in rules]
    return tune("notes", found, questions, Settings())


def test_a_gain_that_every_part_agrees_on_is_real() -> None:
    tuning = _tuned(lambda n, settings: 1 if settings.fuse.keyword > 1.5 else 3 + n % 3)
    assert tuning.real
    assert {one.name: one.better for one in tuning.best} == {
        "fuse.semantic": 0.4,
        "fuse.keyword": 1.6,
    }
    assert tuning.agreeing == 5
    assert tuning.gain.second == pytest.approx(1.0)
    assert tuning.gain.low > 0.3
    assert tuning.gain.p < 0.001
    assert tuning.gain.wins == 60


def test_luck_is_not_taken_for_a_gain() -> None:
    def by_luck(n: int, settings: SearchSettings) -> int:
        return random.Random(f"{n} {settings.fuse} {settings.gather}").randint(1, 12)

    tuning = _tuned(by_luck)
    assert tuning.best  # something always fits best what it was chosen on
    assert not tuning.real
    assert tuning.gain.low <= 0


def test_where_nothing_differs_nothing_is_changed() -> None:
    tuning = _tuned(lambda n, _: 1 + n % 4)
    assert tuning.best == ()
    assert not tuning.real
    assert (tuning.gain.difference, tuning.gain.ties) == (0.0, 60)


def test_few_queries_show_nothing() -> None:
    tuning = _tuned(lambda _, settings: 1 if settings.fuse.keyword > 1.5 else 9, count=20)
    assert tuning.gain.low > 0
    assert not tuning.real
    with pytest.raises(UsageError, match="only 9 queries"):
        _tuned(lambda *_: 1, count=9)


def test_a_handful_of_queries_that_gain_may_be_luck() -> None:
    """The interval of 60 queries of which four gain and none loses lies above 0; p is 1 in 8."""
    tuning = _tuned(lambda n, settings: 1 if n >= 4 or settings.fuse.keyword > 1.5 else 9)
    assert tuning.best
    assert tuning.gain.low > 0
    assert tuning.gain.p == pytest.approx(2 / 2**4)
    assert not tuning.real


def test_queries_of_one_document_stay_together() -> None:
    """A setting that only ever helps one document of six gains nothing on queries about others."""

    def rank(n: int, settings: SearchSettings) -> int:
        place = ("ceiling", "minmax", "zscore").index(settings.fuse.normalise)
        return 1 if (n % 6) // 2 == place else 4

    tuning = _tuned(rank, documents=6)
    assert tuning.gain.difference <= 0
    sure = _tuned(lambda _, settings: 1 if settings.fuse.keyword > 1.5 else 3, documents=6)
    assert sure.gain.wins == 60
    assert sure.gain.p == pytest.approx(2 / 2**6)  # six documents, however many queries
    with pytest.raises(UsageError, match="Only 4 documents answer the queries"):
        _tuned(lambda *_: 1, documents=4)


def test_the_parts_share_documents_and_types_out() -> None:
    questions = [
        JudgedQuery(f"q{n:03d}", "words", "abc"[n % 3], {f"d{n % 17}": 2, "all": 1})
        for n in range(100)
    ]
    parts = tune_module._parts(questions)
    by_document = {(question.answer, part) for question, part in zip(questions, parts, strict=True)}
    assert len(by_document) == 17
    sizes = np.bincount(parts, minlength=5)
    assert sizes.min() >= 15
    for kind in "abc":
        of_kind = [question.type == kind for question in questions]
        assert np.bincount(parts[of_kind], minlength=5).min() >= 4


def test_the_same_evidence_gives_the_same_result() -> None:
    def by_luck(n: int, settings: SearchSettings) -> int:
        return random.Random(f"{n} {settings.fuse}").randint(1, 12)

    assert _tuned(by_luck) == _tuned(by_luck)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A user with a vault, and vectors that need no weights."""
    write_vault(tmp_path / "vault", 20)
    where = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "cache")
    workspace = Workspace(where, Given(HashEmbedder()))
    with workspace.open(workspace.projects.add([tmp_path / "vault"], "vault")) as engine:
        engine.index()
    return workspace


def test_evidence_leaves_the_index_alone(workspace: Workspace) -> None:
    with workspace.open(workspace.projects.get("vault")) as engine:
        with engine.read() as reading:
            drawn, before = own_queries(reading, 10), reading.catalogue.generation
        questions = [query.judged for query in drawn]
        assert len(questions) >= 10  # aliases
        found = gather_evidence(workspace, engine, questions, drawn)
        assert len(found) == len(questions)
        ways = 1 + 7 * 3 * 4  # the present one, and the grid
        assert tune("vault", found, questions, engine.settings).tried == ways
        with engine.read() as reading:
            assert reading.catalogue.generation == before
        assert engine.mismatches() == []


def test_judgments_must_belong_to_the_project(workspace: Workspace) -> None:
    with workspace.open(workspace.projects.get("vault")) as engine:
        here, strange = "part-0/note-0.md", "elsewhere.md"
        queries = [
            JudgedQuery("a", "one", "", {here: 1, strange: 1}),
            JudgedQuery("b", "two", "", {strange: 1}),
            JudgedQuery("c", "three", "", {}),
        ]
        assert [one.id for one in judged_queries(queries, engine)] == ["a"]
        with pytest.raises(UsageError, match="No judged document is in the project vault"):
            judged_queries(queries[1:], engine)
