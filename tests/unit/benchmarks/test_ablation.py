"""Ablation: every switch the other way, one at a time, compared with the settings as they hold."""

from __future__ import annotations

import pytest
from benchmarks.ablation import BASELINE, Variant, ablate, ablations
from msgspec.structs import fields, replace

from dowse._config.schema import Settings, change_search
from dowse._project.evaluation import Collection, JudgedQuery, Run
from dowse._search.documents import ThresholdOptions
from dowse._search.fusion import GatherOptions
from dowse._search.pipeline import SearchSettings
from dowse._search.strategies import GraphOptions


def _changes(settings: SearchSettings, *, by_meaning: bool = True) -> dict[str, object]:
    return {one.name: one.changes for one in ablations(settings, by_meaning=by_meaning)}


def test_every_stage_with_a_switch_is_switched() -> None:
    settings = SearchSettings()
    switched = {next(iter(one.changes)) for one in ablations(settings) if one.changes}
    # These change what a result looks like, or are not judged here.
    apart = {"parents.enabled", "calibrate.enabled"}
    switches = {
        f"{section}.enabled"
        for section in (one.name for one in fields(settings))
        if hasattr(getattr(settings, section), "enabled")
    }
    assert switches - apart <= switched
    assert {"gather.share", "search.mode", "fuse.method"} <= switched


def test_a_switch_goes_the_other_way_than_it_is() -> None:
    off = replace(SearchSettings(), graph=GraphOptions(enabled=False), gather=GatherOptions(0.0))
    on = replace(SearchSettings(), graph=GraphOptions(enabled=True), gather=GatherOptions(0.3))
    assert _changes(off)["with graph"] == {"graph.enabled": True}
    assert _changes(on)["without graph"] == {"graph.enabled": False}
    assert _changes(off)["with gather"] == {"gather.share": 0.75}
    assert _changes(on)["without gather"] == {"gather.share": 0.0}


def test_what_holds_already_is_no_variant() -> None:
    settings = change_search(Settings(), {"fuse.method": "rrf", "search.mode": "keyword"})
    assert "fuse: RRF k = 60" not in _changes(settings)
    assert "keyword alone" not in _changes(settings)
    assert "fuse: min-max" in _changes(settings)


def test_a_threshold_is_taken_away_where_there_is_one() -> None:
    without = {"threshold.min_confidence": 0.0}
    with_one = replace(SearchSettings(), threshold=ThresholdOptions(0.3))
    assert _changes(with_one)["without threshold"] == without
    assert "without threshold" not in _changes(
        replace(SearchSettings(), threshold=ThresholdOptions(0.0))
    )


def test_without_vectors_nothing_is_tried_that_needs_them() -> None:
    names = set(_changes(SearchSettings(), by_meaning=False))
    assert {"keyword alone", "with graph", "10 passages"} <= names
    assert not names & {"semantic alone", "with rerank", "with expand", "10 passages, MMR"}


def test_every_variant_is_a_recipe_of_its_own() -> None:
    variants = ablations(SearchSettings())
    assert variants[0] == Variant(BASELINE, {})
    assert len({one.name for one in variants}) == len(variants)
    recipes = [change_search(Settings(), one.changes) for one in variants]
    assert all(settings not in recipes[:place] for place, settings in enumerate(recipes))


def test_rows_are_compared_with_the_first() -> None:
    queries = tuple(JudgedQuery(str(n), "x", "", {"a": 1}) for n in range(6))
    collection = Collection("set", None, (*queries, JudgedQuery("u", "x", "unanswerable", {})))

    def run(variant: Variant) -> Run:
        first = "a" if variant.name == BASELINE else "b"
        found = {query.id: ((first, 1.0), ("c", 0.5)) for query in queries}
        return Run(variant.name, found, {"0": 0.02, "1": 0.02}, notices=("said",))

    rows = ablate(collection, [Variant(BASELINE, {}), Variant("worse", {"x.y": 1})], run)
    assert [row.variant for row in rows] == [BASELINE, "worse"]
    assert (rows[0].ndcg_10, rows[0].difference, rows[0].p) == (1.0, 0.0, 1.0)
    assert (rows[1].ndcg_10, rows[1].mrr, rows[1].recall_100) == (0.0, 0.0, 0.0)
    assert rows[1].difference == -1.0
    assert rows[1].p == pytest.approx(2 / 2**6)
    assert rows[1].p50 == pytest.approx(0.02)
    assert rows[1].notices == ("said",)


def test_without_judgments_there_is_nothing_to_compare() -> None:
    collection = Collection("set", None, (JudgedQuery("u", "x", "unanswerable", {}),))
    assert ablate(collection, ablations(SearchSettings()), lambda _: Run("r", {})) == ()
