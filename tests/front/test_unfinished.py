"""An index that is being built, or that a stopped run has left unfinished, says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from command_line import Dowse
from dowse import Dowse as Opened
from dowse._interfaces.http.security import Access
from dowse._interfaces.http.server import application
from dowse._model import Event, silent
from dowse._project.pool import EnginePool
from dowse._project.state import UnfinishedRun, noted, unfinished_run
from dowse._project.workspace import Workspace
from dowse.errors import DowseError


class _Stopped(DowseError):
    pass


@pytest.fixture
def many(home: Path) -> Path:
    folder = home / "many"
    folder.mkdir()
    for number in range(100):
        (folder / f"{number:03d}.md").write_text(f"# Note {number}\n\nThe lantern.\n", "utf-8")
    return folder


def _index_until(workspace: Workspace, many: Path, seen: list[str], dowse: Dowse) -> None:
    """Indexes until some files are stored, asks other processes meanwhile, and stops."""

    def announce(event: Event) -> None:
        if event.stage == "store" and event.done:
            seen.append(dowse("status", "-p", "many").out)
            seen.extend(dowse("search", "-p", "many", "lantern", "--json").json["notices"])
            raise _Stopped("Enough.", "Stop.")

    project, _ = workspace.select_for_indexing("many", [many], many)
    with workspace.open(project, announce=announce) as engine, pytest.raises(_Stopped):
        engine.index(announce=announce)


def test_a_run_in_progress_and_an_unfinished_one_are_told(
    workspace: Workspace, many: Path, dowse: Dowse
) -> None:
    seen: list[str] = []
    _index_until(workspace, many, seen, dowse)
    status, notice = seen
    assert "of 100 files so far" in " ".join(status.split())
    assert notice.startswith("The index is being built: ")
    left = dowse("search", "-p", "many", "lantern", "--json").json["notices"]
    assert left[0].startswith("The last run ended after ")
    assert "dowse index -p many" in left[0]
    assert dowse("status", "-p", "many", "--json").json["run"] == left[0]
    assert dowse("index", "-p", "many").code == 0
    assert dowse("search", "-p", "many", "lantern", "--json").json["notices"] == []
    assert dowse("status", "-p", "many", "--json").json["run"] == ""


def test_every_door_says_how_far_an_unfinished_index_is(
    indexed: Path, home: Path, workspace: Workspace
) -> None:
    note = '{"process": 0, "done": 200, "total": 1672}'
    (home / "own/data/projects/vault/run.json").write_text(note, "utf-8")
    said = "The last run ended after 200 of 1,672 files."
    with Opened("vault") as vault:
        assert vault.search("restore").notices[0].startswith(said)
        assert vault.status().run.startswith(said)
    service = EnginePool(workspace, indexed)
    with TestClient(
        application(service, Access(), watch=False), base_url="http://127.0.0.1:7333"
    ) as client:
        for route in ("search", "answer"):
            told = client.get(f"/api/v1/{route}", params={"query": "restore"}).json()
            assert told["notices"][0].startswith(said)
        assert client.get("/api/v1/status").json()["run"].startswith(said)


def test_the_note_of_a_killed_process_is_of_no_running_one(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    (tmp_path / "run.json").write_text(f'{{"process": {child.pid}, "done": 30, "total": 90}}')
    run = unfinished_run(tmp_path)
    assert run == UnfinishedRun(child.pid, 30, 90)
    assert not run.is_running


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"process": "x", "done": 1, "total": 2}'])
def test_a_note_that_cannot_be_read_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    assert unfinished_run(tmp_path) is None


def test_a_run_of_few_files_is_not_noted(tmp_path: Path) -> None:
    with noted(tmp_path, silent) as announce:
        announce(Event("store", 3, 19))
        assert not list(tmp_path.iterdir())
        announce(Event("store", 3, 20))
        run = unfinished_run(tmp_path)
        assert run == UnfinishedRun(os.getpid(), 3, 20)
        assert run.is_running
    assert not list(tmp_path.iterdir())
