"""The power goes while dowse writes: each state that a disk may then be in is opened."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dowse._project.archive.archive import export_project
from dowse._project.engine import Engine
from dowse._project.workspace import Workspace
from dowse._search.request import SearchRequest
from dowse.errors import DowseError, NotFound
from index_content import content
from powerloss import programs
from powerloss.folders import VERSIONS, digests, make_versions
from powerloss.history import History
from powerloss.model import disk_after, everything
from powerloss.programs import EMPTY, INDEX, workspace_in
from powerloss.promises import ABSENT, allowed, assert_kept
from powerloss.record import record
from powerloss.replay import State, put, read, states
from powerloss.trace import require_strace
from vaults import close_engines, open_engine

Rounds = Callable[[int, int], int]
Tally = Callable[[str, object], None]


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: states are written, not synced."""
    require_strace()
    memory = Path("/dev/shm")  # noqa: S108
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        yield Path(folder).resolve()


@pytest.mark.takes(70)
def test_an_index_survives_every_power_cut(base: Path, rounds: Rounds, tally: Tally) -> None:
    make_versions(base)
    home = base / "home"
    fresh = {version: _fresh(base, version) for version in VERSIONS}
    history = _record("index", home, base)
    count = _try_states(
        history, home, rounds(15, 300), lambda state: _check_index(state, home, base, fresh)
    )
    tally("power cuts while an index was written", count)


def test_settings_and_projects_survive_every_power_cut(
    base: Path, rounds: Rounds, tally: Tally
) -> None:
    for version in ("v1", "v2"):
        (base / version).mkdir()
    home = base / "home"
    history = _record("settings", home, base)
    count = _try_states(
        history, home, rounds(50, 4000), lambda state: _check_settings(state, home, base)
    )
    tally("power cuts while settings and projects were written", count)


@pytest.mark.takes(24)
def test_an_import_survives_every_power_cut(base: Path, rounds: Rounds, tally: Tally) -> None:
    make_versions(base / "plain")
    for version in ("v1", "v2"):
        shutil.copytree(base / "plain" / version, base / version / "notes")
        _export(base, version)
    home = base / "home"
    history = _record("transfer", home, base)
    count = _try_states(
        history, home, rounds(15, 600), lambda state: _check_import(state, home, base)
    )
    tally("power cuts while a project was imported", count)


def _record(program: str, home: Path, base: Path) -> History:
    home.mkdir()
    history = record(
        Path(programs.__file__), [program, str(home), str(base)], home, base / "strace"
    )
    # The recording is whole: all of it together is what is on the disk now.
    at_end = disk_after(history, len(history.operations), everything, random.Random(0))
    assert at_end == read(home)
    return history


def _try_states(history: History, home: Path, count: int, check: Callable[[State], None]) -> int:
    tried = 0
    for state in states(history, count, seed=10):
        put(state.disk, home)
        try:
            check(state)
        except (AssertionError, DowseError, LookupError, OSError, ValueError) as error:
            raise AssertionError(f"{state.origin}, after {state.said[-1:]}: {error!r}") from error
        finally:
            close_engines()
        tried += 1
    return tried


# ── The index ────────────────────────────────────────────────────────────────


def _fresh(base: Path, version: str) -> dict[str, Any]:
    with open_engine(base / version, base / f"fresh-{version}") as engine:
        engine.index()
        return _content(engine)


def _content(engine: Engine) -> dict[str, Any]:
    with engine.parts.store.read() as reading:
        return content(reading)


def _check_index(state: State, home: Path, base: Path, fresh: dict[str, dict[str, Any]]) -> None:
    values = allowed(state.said).get(INDEX, [ABSENT])
    version = next((one for one in reversed(values) if one in VERSIONS), "v3")
    with open_engine(base / version, home) as engine:
        _search(engine, values)
        with engine.parts.store.read() as reading:
            known = {name: file.digest for name, file in reading.catalogue.files().items()}
        _assert_documents(known, [_digests(base, value) for value in values])
        engine.index()
        found = _content(engine)
        differing = [part for part in found if found[part] != fresh[version][part]]
        assert not differing, differing
        assert engine.check() == []


def _search(engine: Engine, values: list[str]) -> None:
    """Searches before anything else; there need be an index only if one was reported."""
    try:
        engine.search(SearchRequest("radio storm"))
    except NotFound:
        assert not {values[0]} & {*VERSIONS}


def _digests(base: Path, version: str) -> dict[str, str]:
    return {} if version in {ABSENT, EMPTY} else digests(base / version)


def _assert_documents(known: dict[str, str], versions: list[dict[str, str]]) -> None:
    """Every document is as one of some versions has it; absent, if one of them lacks it."""
    for name in known.keys() | {name for version in versions for name in version}:
        assert known.get(name) in {version.get(name) for version in versions}, name


# ── Settings, projects and consent ───────────────────────────────────────────


def _check_settings(state: State, home: Path, base: Path) -> None:
    workspace = workspace_in(home)
    assert workspace.projects.broken() == []
    found = _observed(workspace, home, base)
    assert_kept(state.said, found)
    begun = {name for name, values in allowed(state.said).items() if values[-1] != ABSENT}
    if "project-two" in begun:  # renamed, so one of the names has it
        assert found.keys() & {"project-one", "project-two"}
    workspace.change_setting("search.top_n", "11", None)
    project = workspace.projects.add([base / "v1"], "three")
    assert workspace.settings(project).settings.search.top_n == 11


def _observed(workspace: Workspace, home: Path, base: Path) -> dict[str, str]:
    found = {}
    if (file := workspace.locations.settings_file).exists():
        found["search.top_n"] = str(tomllib.loads(file.read_text())["search"]["top_n"])
    for project in workspace.projects.all():
        found[f"project-{project.name}"] = ",".join(map(str, project.roots))
        values = tomllib.loads(project.settings_file.read_text())
        if "search" in values:
            found[f"{project.name}.search.top_n"] = str(values["search"]["top_n"])
    for name in ("a", "b"):
        if workspace.trust.covers(base / name / "dowse.toml", "digest"):
            found[f"trust-{name}"] = "yes"
    if (trusted := home / "config" / "trusted.json").exists():
        json.loads(trusted.read_text())
    return found


# ── Import ───────────────────────────────────────────────────────────────────


def _export(base: Path, version: str) -> None:
    workspace = workspace_in(base / f"exporter-{version}")
    workspace.change_setting("embed.provider", "none", None)
    project = workspace.projects.add([base / version / "notes"], "notes")
    with workspace.open(project) as engine:
        engine.index()
    export_project(workspace, project, base / f"{version}.dowse")


def _check_import(state: State, home: Path, base: Path) -> None:
    workspace = workspace_in(home)
    assert workspace.projects.broken() == []
    if allowed(state.said).get("embed.provider", [ABSENT])[0] == ABSENT:
        return
    values = allowed(state.said).get(INDEX, [ABSENT])
    if not workspace.projects.knows("notes"):
        assert values[0] == ABSENT
        return
    project = workspace.projects.get("notes")
    with workspace.open(project) as engine:
        _search(engine, values)
        with engine.parts.store.read() as reading:
            known = {name: file.digest for name, file in reading.catalogue.files().items()}
        assert known in [_imported(base, value) for value in values]
        engine.index()
        assert engine.check() == []


def _imported(base: Path, version: str) -> dict[str, str]:
    return {} if version == ABSENT else digests(base / version / "notes")
