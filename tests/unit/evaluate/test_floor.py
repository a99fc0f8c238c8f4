"""Search on the corpus that ships with the project is at least as good as it has been.

This test needs the real weights: it fetches them when they are not in the cache, and fails, rather
than be left out, when that is impossible.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import platformdirs
import pytest

from dowse.embed import DEFAULT_MODEL, pull
from dowse.engine import Engine
from dowse.errors import WeightsMissing
from dowse.evaluate import RunReport, read_collection, report, search_run
from dowse.locations import Locations
from dowse.projects import Project
from dowse.settings import Settings
from dowse.types import silent
from dowse.wiring import assemble

_CORPUS = Path(__file__).parents[3] / "benchmarks" / "corpus"
_FLOORS: dict[str, float] = json.loads((_CORPUS / "floors.json").read_text("utf-8"))["floors"]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> RunReport:
    cache = Path(os.environ.get("DOWSE_CACHE_DIR") or platformdirs.user_cache_dir("dowse"))
    try:
        pull(DEFAULT_MODEL, cache)
    except WeightsMissing as error:
        pytest.fail(f"This test needs the real weights. {error}", pytrace=False)
    folder, settings = tmp_path_factory.mktemp("floor"), Settings()
    where = Locations(folder / "config", folder / "data", cache)
    project = Project("corpus", folder / "project", (_CORPUS / "docs",))
    parts = assemble(project, settings, where, silent, fetch=False)
    collection = read_collection(_CORPUS)
    with Engine(project, settings, parts) as engine:
        assert engine.index().complete
        return report(collection, search_run("defaults", engine, collection.queries, {}))


@pytest.mark.parametrize("name", _FLOORS)
def test_no_measure_falls_below_its_floor(measured: RunReport, name: str) -> None:
    value = getattr(measured.measures, name)
    assert value >= _FLOORS[name], f"{name} fell from {_FLOORS[name]} to {value:.4f}"


def test_the_floors_are_those_that_the_project_promises() -> None:
    assert set(_FLOORS) == {"ndcg_10", "mrr", "recall_10"}
