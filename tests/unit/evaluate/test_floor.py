"""Search on the corpus that ships with the project is at least as good as it has been.

It uses the weights of the default model in single precision, made of those in training/weights.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from benchmarks.answers import Answered, judge_answers, read_answers
from msgspec.structs import replace
from training.onnx_model import write_encoder

from dowse._config.schema import Settings
from dowse._embed.models import ModelCache, ShippedModel
from dowse._embed.options import DEFAULT_MODEL, EmbedOptions
from dowse._project.engine import Engine
from dowse._project.evaluation import RunReport, read_collection, report, search_run
from dowse._project.registry import Project
from dowse._project.workspace import Workspace
from dowse._search.request import SearchRequest
from dowse._util.files import Locations

_CORPUS = Path(__file__).parents[3] / "benchmarks" / "corpus"
_WEIGHTS = Path(__file__).parents[3] / "training" / "weights" / DEFAULT_MODEL
_FLOORS = json.loads((_CORPUS / "floors.json").read_text("utf-8"))
_WAYS: dict[str, dict[str, str]] = {
    "defaults": {},
    "keyword": {"search.mode": "keyword"},
    "semantic": {"search.mode": "semantic"},
}
_ONE_IN = 5  # answers take a third of a second each; benchmarks/answers.py judges all of them
_MEASURES = ("ndcg_10", "mrr", "recall_10")
_ARITHMETIC = 0.003
"""How far processors may differ. They round the last bits of a vector differently, so that one
document of 120 queries may be at place 12 instead of 10. In int8 they differ more (floors.json)."""


def _in_single_precision(folder: Path) -> Path:
    """The default model in the arithmetic in which processors differ least."""
    model = folder / DEFAULT_MODEL
    (model / "onnx").mkdir(parents=True)
    write_encoder(_WEIGHTS, model / "onnx" / "model.onnx", "cls", "fp32")
    shutil.copyfile(_WEIGHTS / "config.json", model / "config.json")
    shipped = ShippedModel(ModelCache(folder)).folder
    shutil.copyfile(shipped / "tokenizer.json", model / "tokenizer.json")
    return model


@contextmanager
def _indexed(documents: Path, folder: Path) -> Iterator[Engine]:
    settings = replace(Settings(), embed=EmbedOptions(model=str(_in_single_precision(folder))))
    where = Locations(folder / "config", folder / "data", folder / "cache")
    project = Project("corpus", folder / "project", (documents,))
    parts = Workspace(where).parts(project, settings)
    with Engine(project, settings, parts) as engine:
        assert engine.index().complete
        yield engine


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with _indexed(_CORPUS / "docs", tmp_path_factory.mktemp("floor")) as engine:
        yield engine


@pytest.fixture(scope="module")
def measured(engine: Engine) -> dict[str, RunReport]:
    collection = read_collection(_CORPUS)
    return {
        name: report(collection, search_run(name, engine, collection.queries, changes))
        for name, changes in _WAYS.items()
    }


@pytest.fixture(scope="module")
def answered(engine: Engine) -> list[Answered]:
    answers = read_answers(_CORPUS / "answers.jsonl")
    few = dict(list(answers.items())[::_ONE_IN])
    return judge_answers(engine, read_collection(_CORPUS).queries, few)


@pytest.mark.parametrize("way", _WAYS)
@pytest.mark.parametrize("name", _MEASURES)
def test_no_measure_falls_below_its_floor(
    measured: dict[str, RunReport], way: str, name: str
) -> None:
    value, floor = getattr(measured[way].measures, name), _FLOORS[way][name]
    assert value >= floor - _ARITHMETIC, f"{name} ({way}) fell from {floor} to {value:.4f}"


@pytest.mark.parametrize("part", ["keyword", "semantic"])
def test_a_hybrid_search_is_no_worse_than_its_parts(
    measured: dict[str, RunReport], part: str
) -> None:
    hybrid, alone = (measured[way].measures for way in ("defaults", part))
    assert hybrid
    assert alone
    assert hybrid.ndcg_10 >= alone.ndcg_10 - _ARITHMETIC


def test_what_is_answered_is_right_and_enough_is_answered(answered: list[Answered]) -> None:
    given = [one for one in answered if one.sentences]
    floors = _FLOORS["answers"]
    assert len(given) >= (floors["answered"] - _ARITHMETIC) * len(answered)
    assert sum(one.right for one in given) >= (floors["right"] - _ARITHMETIC) * len(given)


def test_a_heading_and_the_meaning_find_how_often_backups_are_made(tmp_path: Path) -> None:
    with _indexed(_CORPUS.parents[1] / "examples" / "vault", tmp_path) as engine:
        found = engine.answer(SearchRequest("how often are backups made"))
    assert any("Every night a dump" in one.text for one in found.hits)


def test_there_is_a_floor_for_everything_that_the_project_promises() -> None:
    assert all(set(_FLOORS[way]) == set(_MEASURES) for way in _WAYS)
