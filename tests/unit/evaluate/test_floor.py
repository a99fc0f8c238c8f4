"""Search on the corpus that ships with the project is at least as good as it has been.

This test needs the real weights: it fetches them when they are not in the cache, and fails, rather
than be left out, when that is impossible.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import platformdirs
import pytest

from dowse.analyze import VocabularyOptions
from dowse.engine import Engine
from dowse.evaluate import RunReport, read_collection, report, search_run
from dowse.locations import Locations
from dowse.projects import Project
from dowse.settings import Settings
from dowse.types import silent
from dowse.wiring import assemble

_CORPUS = Path(__file__).parents[3] / "benchmarks" / "corpus"
_FLOORS = json.loads((_CORPUS / "floors.json").read_text("utf-8"))
_WAYS: dict[str, dict[str, float]] = {
    "defaults": {},
    "nothing rejected": {"threshold.min_confidence": 0.0},
}
_MEASURES = ("ndcg_10", "mrr", "recall_10")
_ARITHMETIC = 0.003
"""How far processors may differ. They round the last bits of a vector differently: the floors were
measured on one, and on another a single document of 120 queries is at place 12 instead of 10."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunReport]:
    cache = Path(os.environ.get("DOWSE_CACHE_DIR") or platformdirs.user_cache_dir("dowse"))
    folder, settings = tmp_path_factory.mktemp("floor"), Settings()
    if not settings.expand.enabled:  # the only stage that needs the words, which take a while
        settings = replace(settings, vocabulary=VocabularyOptions(size=0))
    where = Locations(folder / "config", folder / "data", cache)
    project = Project("corpus", folder / "project", (_CORPUS / "docs",))
    parts = assemble(project, settings, where, silent, fetch=False)
    collection = read_collection(_CORPUS)
    with Engine(project, settings, parts) as engine:
        assert engine.index().complete
        return {
            name: report(collection, search_run(name, engine, collection.queries, changes))
            for name, changes in _WAYS.items()
        }


@pytest.mark.parametrize("way", _WAYS)
@pytest.mark.parametrize("name", _MEASURES)
def test_no_measure_falls_below_its_floor(
    measured: dict[str, RunReport], way: str, name: str
) -> None:
    value, floor = getattr(measured[way].measures, name), _FLOORS[way][name]
    assert value >= floor - _ARITHMETIC, f"{name} ({way}) fell from {floor} to {value:.4f}"


def test_there_is_a_floor_for_everything_that_the_project_promises() -> None:
    assert all(set(_FLOORS[way]) == set(_MEASURES) for way in _WAYS)
