"""An index that is being built, or that a stopped run has left unfinished, says so."""

from __future__ import annotations

import os
import subprocess
import sys
import time
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
from dowse._project.workspace import Given, Workspace
from dowse.errors import DowseError, NotFound
from dowse.testing import HashEmbedder


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


def test_an_unfinished_run_of_the_model_counts_no_vectors_that_the_index_lacks() -> None:
    said = UnfinishedRun(0, 187, 1151, "chunks").sentence("vault")
    assert said.startswith("The last run ended before every chunk had its vector. Continue it")


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


def test_a_run_without_all_vectors_is_not_up_to_date_and_the_next_one_counts_the_whole(
    many: Path, dowse: Dowse
) -> None:
    workspace = Workspace(given=Given(embedder=HashEmbedder()))
    events: list[Event] = []

    def stop(event: Event) -> None:
        events.append(event)
        if event.unit == "chunks":
            raise _Stopped("Enough.", "Stop.")

    project, _ = workspace.select_for_indexing("many", [many], many)
    with workspace.open(project) as engine, pytest.raises(_Stopped):
        engine.index(announce=stop)
    assert events[-1].note == "Keyword search is ready. Embedding 100 chunks."
    counts = dowse("status", "-p", "many", "--json").json
    assert (counts["up_to_date"], counts["freshness"]["new"]) == (False, 0)
    state = "100 chunks not embedded yet: dowse index -p many"
    assert state in " ".join(dowse("status", "-p", "many").out.split())

    (many / "000.md").write_text("# Changed\n\nAnother text.\n", "utf-8")
    with workspace.open(project) as engine:
        engine.index([many / "000.md"], announce=events.append)
        engine.index(announce=events.append)
        assert engine.status().up_to_date
    counted = [event.done for event in events if event.unit == "chunks"]
    assert counted == sorted(counted)
    assert {event.total for event in events if event.unit == "chunks"} == {100}


def test_a_resumed_run_counts_the_files_of_both_and_never_goes_back(
    workspace: Workspace, many: Path, dowse: Dowse
) -> None:
    _index_until(workspace, many, [], dowse)
    events: list[Event] = []
    with workspace.open(workspace.projects.get("many")) as engine:
        stored = engine.status().counts.documents
        assert 0 < stored < 100
        engine.index(announce=events.append)
    files = [event for event in events if event.unit == "files" and event.total]
    assert {event.total for event in files} == {100}
    done = [event.done for event in files]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (stored, 100)


def test_a_run_ends_when_its_project_is_removed(tmp_path: Path) -> None:
    (tmp_path / "project.toml").touch()

    def go_on() -> None:
        with noted(tmp_path, silent) as announce:
            announce(Event("store", 0, 100))
            (tmp_path / "project.toml").unlink()
            for _ in range(100):
                time.sleep(0.05)
                announce(Event("store", 1, 100))

    with pytest.raises(NotFound, match="has been removed"):
        go_on()
