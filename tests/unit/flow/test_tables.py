"""The tables of strategies and stages are the only place: a new row is found everywhere."""

from __future__ import annotations

import ast
import filecmp
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
from msgspec.structs import fields, replace

import dowse
from dowse._config.presets import PRESETS
from dowse._config.schema import known_settings, preset_values
from dowse._search import strategies
from dowse._search.fusion import FuseOptions
from dowse._search.pipeline import SEARCH_FLOW, SearchSettings
from dowse._search.strategies import MODES, NAMES, STRATEGIES, Mode, StrategyWeights

_SOURCE = Path(dowse.__file__).parent
_ROOT = Path(__file__).parents[3]

_STRATEGY = '''
"""Ranking by title."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from dowse._search.state import SearchState
from dowse._model import Keys, Ranking


class LedeOptions(Struct, frozen=True):
    enabled: Annotated[bool, "Rank documents by their title."] = False


def rank_by_lede(search: SearchState, limit: int, among: Keys | None = None) -> Ranking:
    words = search.query.text.lower().split()
    named = [
        entry.id
        for entry in search.reader.catalogue.documents()
        if any(word in entry.fields.title.lower() for word in words)
    ]
    keys = search.reader.catalogue.keys_of(named).tolist() if named else []
    allowed = keys if among is None else [key for key in keys if key in set(among.tolist())]
    return Ranking("lede", [(key, 1.0) for key in allowed[:limit]], 1.0)
'''
_STRATEGY_ROW = '''
    Strategy(
        "lede", rank_by_lede, "words", "by titles", True, "Titles only", "factual"
    ),
)
"""The strategies, in'''

_STRATEGY_WEIGHT = (
    "    @property\n    def weights",
    '    lede: Annotated[float, _WEIGHT, "Titles."] = 0.7\n\n    @property\n    def weights',
)
_STRATEGY_SECTION = (
    "    graph: GraphOptions = GraphOptions()\n",
    "    graph: GraphOptions = GraphOptions()\n    lede: LedeOptions = LedeOptions()\n",
)

_STAGE = '''
"""Drops long results."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from dowse._search.state import SearchState


class BriefOptions(Struct, frozen=True):
    enabled: Annotated[bool, "Drop long results."] = False
    most: Annotated[int, "Characters at most."] = 40


def keep_brief(search: SearchState) -> None:
    most = search.settings.brief.most
    long = [place for place, one in enumerate(search.candidates) if len(one.stored.text) > most]
    search.drop("brief", {place: "it is long" for place in long})
'''
_STAGE_ROW = '''    SearchStage("brief", "Drops long results", keep_brief),
    SearchStage("top_n"'''

_STAGE_SECTION = (
    "    parents: ParentsOptions = ParentsOptions()\n",
    "    parents: ParentsOptions = ParentsOptions()\n    brief: BriefOptions = BriefOptions()\n",
)

_OPTION_ROW = """    Parameter("titles", "Rank by titles too.", "boolean", setting="lede.enabled"),
    Parameter(
        "preset","""

_PROGRAM = """
import json, sys
from pathlib import Path
import click
from benchmarks.ablation import ablations
from dowse._search.pipeline import SearchSettings
from dowse._interfaces.cli.main import cli
from reference import commands_page, root_context, settings_page
from dowse._interfaces.mcp.tools import tools
from http_reference import description
from dowse._interfaces.http.routes import SwitchesRecord
from dowse._interfaces.cli.commands.search import draw_trace
from dowse._config.schema import preset_values
from dowse.testing import HashEmbedder
from dowse._project.workspace import ResolvedSettings
from dowse._search.request import SearchRequest
from dowse import Dowse
from vaults import open_engine

command = cli.get_command(root_context(), "search")
help = command.get_help(click.Context(command, info_name="search", parent=root_context()))
query = tools()["query_documents"]
folder = Path(sys.argv[1])
with open_engine(folder / "notes", folder / "index") as engine:
    engine.index()
    on = {"lede.enabled": True, "brief.enabled": True, "search.top_n": 10}
    page = SwitchesRecord.of(engine, ResolvedSettings(engine.settings, {}, ()))
    alone = engine.search(SearchRequest("wind", changes={"search.mode": "lede"}))
    request = SearchRequest("wind", changes=on)
    hybrid = engine.search(request)
    short = engine.explain(request, str(folder / "notes" / "wind.md"))
    long = engine.explain(request, str(folder / "notes" / "long.md"))
    drawn = [str(line) for line in draw_trace(long.chunks[0].trace, 100, 0)]
with Dowse.open(folder / "notes", home=folder / "own", embedder=HashEmbedder()) as program:
    program.index()
    titled = program.search("wind", titles=True)
answering = description()["paths"]["/api/v1/answer"]["get"]
print(json.dumps({
    "titled": sorted({place.strategy for hit in titled.hits for place in hit.trace.places}),
    "takes": query.input["properties"],
    "parameters": [one["name"] for one in answering["parameters"]],
    "help": " ".join(help.split()),
    "docs": commands_page() + settings_page(),
    "ablations": {one.name: one.changes for one in ablations(SearchSettings())},
    "mcp": query.input["properties"]["mode"]["enum"],
    "openapi": json.dumps(description()["paths"]),
    "preset": preset_values("seed-b"),
    "page": {
        "modes": {one.name: one.label for one in page.modes},
        "strategies": page.strategies,
        "settings": [one.name for one in page.settings],
        "words": page.stage_words,
    },
    "alone": [hit.document for hit in alone.hits],
    "hybrid": [hit.document for hit in hybrid.hits],
    "stages": list(hybrid.seconds),
    "places": sorted(place.strategy for place in short.chunks[0].trace.places),
    "standing": [one.strategy for one in short.chunks[0].standing],
    "dropped": long.chunks[0].trace.steps[-1].dropped,
    "drawn": " ".join(drawn),
}))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of dowse with one more strategy and one more stage."""
    package = tmp_path_factory.mktemp("library") / "dowse"
    shutil.copytree(_SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "_search" / "lede.py").write_text(_STRATEGY, "utf-8")
    _add_row(
        package / "_search" / "strategies.py",
        "from dowse._search.lede import LedeOptions, rank_by_lede",
        (')\n"""The strategies, in', _STRATEGY_ROW),
        _STRATEGY_WEIGHT,
        _STRATEGY_SECTION,
    )
    (package / "_search" / "brief.py").write_text(_STAGE, "utf-8")
    _add_row(
        package / "_search" / "pipeline.py",
        "from dowse._search.brief import BriefOptions, keep_brief",
        ('    SearchStage("top_n"', _STAGE_ROW),
        _STAGE_SECTION,
    )
    table = package / "_config" / "request.py"
    text = table.read_text("utf-8")
    old = '    Parameter(\n        "preset",'
    assert old in text
    table.write_text(text.replace(old, _OPTION_ROW, 1), "utf-8")
    return package


def _add_row(table: Path, imports: str, *rows: tuple[str, str]) -> None:
    text = table.read_text("utf-8").replace("\nfrom dowse.", f"\n{imports}\nfrom dowse.", 1)
    for old, new in rows:
        assert old in text
        text = text.replace(old, new, 1)
    table.write_text(text, "utf-8")


@pytest.fixture(scope="module")
def seen(library: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the doors and the evaluation of that copy show."""
    folder = tmp_path_factory.mktemp("vault")
    (folder / "notes").mkdir()
    (folder / "notes" / "wind.md").write_text("# Wind\n\nThe vane.\n", "utf-8")
    (folder / "notes" / "long.md").write_text(f"# Wind power\n\n{'more ' * 30}\n", "utf-8")
    (folder / "notes" / "bread.md").write_text("# Bread\n\nwind\n", "utf-8")
    paths = os.pathsep.join(map(str, (library.parent, _ROOT / "tests", _ROOT / "tools")))
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(folder)],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shown: dict[str, Any] = json.loads(done.stdout)
    return shown


def test_a_strategy_and_a_stage_take_two_files_each(library: Path) -> None:
    files = {path.relative_to(library) for path in library.rglob("*.py")}
    same = {path.relative_to(_SOURCE) for path in _SOURCE.rglob("*.py")}
    touched = {
        str(path)
        for path in files
        if path not in same or not filecmp.cmp(library / path, _SOURCE / path, shallow=False)
    }
    assert touched == {
        "_search/lede.py",
        "_search/strategies.py",
        "_search/brief.py",
        "_search/pipeline.py",
        "_config/request.py",
    }


def test_a_new_strategy_is_a_mode_at_every_door(seen: dict[str, Any]) -> None:
    assert "[hybrid|semantic|keyword|code|lede|hyde]" in seen["help"]
    assert "lede: rank by titles" in seen["help"]
    assert seen["mcp"] == ["hybrid", "semantic", "keyword", "code", "lede", "hyde"]
    assert '"lede"' in seen["openapi"]
    assert "lede: rank by titles" in seen["openapi"]
    assert seen["page"]["modes"]["lede"] == "Titles only"
    assert seen["page"]["strategies"] == [
        "semantic",
        "keyword",
        "code",
        "graph",
        "lede",
        "title",
        "path",
        "links",
    ]
    assert "`fuse.lede` | `0.7`" in seen["docs"]
    assert "`lede.enabled` | `false`" in seen["docs"]


def test_a_new_option_is_one_row_and_is_at_every_door(seen: dict[str, Any]) -> None:
    assert "--titles / --no-titles Rank by titles too." in seen["help"]
    assert seen["takes"]["titles"] == {"type": "boolean", "description": "Rank by titles too."}
    assert "titles" in seen["parameters"]
    assert "`--titles / --no-titles`" in seen["docs"]
    assert seen["titled"] == ["keyword", "lede", "path", "semantic", "title"]


def test_a_new_strategy_ranks_and_is_explained(seen: dict[str, Any]) -> None:
    assert set(seen["alone"]) == {"wind.md", "long.md"}
    assert seen["places"] == ["keyword", "lede", "path", "semantic", "title"]
    assert seen["standing"] == ["semantic", "keyword", "lede"]


def test_a_new_stage_runs_where_its_row_is_and_is_explained(seen: dict[str, Any]) -> None:
    assert seen["stages"][-3:] == ["brief", "top_n", "present"]
    assert "long.md" not in seen["hybrid"]
    assert "wind.md" in seen["hybrid"]
    assert seen["dropped"] == "it is long"
    assert "dropped: it is long" in seen["drawn"]


def test_a_new_stage_has_settings_at_every_door(seen: dict[str, Any]) -> None:
    assert {"brief.enabled", "brief.most"} <= set(seen["page"]["settings"])
    assert "`brief.most` | `40` | integer | Characters at most." in seen["docs"]
    assert seen["page"]["words"]["brief"] == "Drops long results"


def test_new_rows_are_part_of_an_ablation(seen: dict[str, Any]) -> None:
    assert seen["ablations"]["with brief"] == {"brief.enabled": True}
    assert seen["ablations"]["with lede"] == {"lede.enabled": True}
    assert seen["ablations"]["lede alone"] == {"search.mode": "lede"}


def test_presets_of_older_systems_turn_new_rows_off(seen: dict[str, Any]) -> None:
    assert seen["preset"]["brief.enabled"] is False
    assert seen["preset"]["lede.enabled"] is False
    assert seen["preset"]["fuse.lede"] == 0.7


def test_type_checkers_and_programs_see_the_same_modes() -> None:
    tree = ast.parse(Path(strategies.__file__).read_text("utf-8"))
    written = [
        tuple(ast.literal_eval(node.value.slice))
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) == "Mode"
        and isinstance(node.value, ast.Subscript)
        and isinstance(node.value.slice, ast.Tuple)
    ]
    assert written == [get_args(Mode)] == [tuple(mode.name for mode in MODES)]


def test_every_row_names_options_that_exist() -> None:
    settings = SearchSettings()
    weights = {one.name for one in fields(StrategyWeights)}
    names = {one.name for one in STRATEGIES} | {one.name for one in NAMES}
    assert weights == names <= {one.name for one in fields(FuseOptions)}
    for strategy in STRATEGIES:
        if strategy.optional:
            assert hasattr(getattr(settings, strategy.name), "enabled")
    sections = {one.name for one in fields(settings)} - {"search"}
    stages = {one.name for one in SEARCH_FLOW}
    assert sections <= stages | {one.name for one in STRATEGIES}
    for stage in SEARCH_FLOW:
        names = {one.name for one in fields(getattr(settings, stage.name))} if stage.off else set()
        assert {*stage.on, *stage.off} <= names, stage.name


def test_off_in_a_row_is_off() -> None:
    settings = SearchSettings()
    for stage in SEARCH_FLOW:
        if stage.off:
            section = getattr(settings, stage.name)
            off = replace(settings, **{stage.name: replace(section, **stage.off)})
            on = replace(settings, **{stage.name: replace(section, **stage.on)})
            assert not stage.is_on(off), stage.name
            assert not stage.on or stage.is_on(on), stage.name


@pytest.mark.parametrize("name", PRESETS)
def test_presets_name_settings_that_exist(name: str) -> None:
    assert preset_values(name).keys() <= known_settings().keys()
