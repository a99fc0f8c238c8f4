"""Settings that several processes change at once, and projects whose file is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import process
from dowse._project.workspace import Workspace
from dowse._search.request import SearchRequest
from dowse._util.files import Locations
from dowse.errors import BadSettings, UsageError

_PROCESSES = 4
_CHANGE = """
import sys
from pathlib import Path
from dowse._util.files import Locations
from dowse._project.workspace import Workspace
home, number, rounds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
workspace = Workspace(Locations(home / "config", home / "data", home / "cache"))
project = workspace.projects.get("notes")
for turn in range(rounds):
    root = home / f"root-{number}-{turn}"
    root.mkdir()
    workspace.projects.extend(project, [root])
    workspace.trust.grant(root / "dowse.toml", "digest")
    workspace.change_setting("search.top_n", str(turn + 1), project if number % 2 else None)
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# Alpha\n\nradio\n", "utf-8")
    workspace = Workspace(Locations(tmp_path / "config", tmp_path / "data", tmp_path / "cache"))
    workspace.change_setting("embed.provider", "none", None)
    workspace.projects.add([tmp_path / "notes"], "notes")
    return workspace


def _index(workspace: Workspace) -> None:
    with workspace.open(workspace.projects.get("notes")) as engine:
        engine.index()


@pytest.mark.takes(10)
def test_no_change_of_several_processes_fails_or_is_lost(
    workspace: Workspace, tmp_path: Path, rounds: Callable[[int, int], int]
) -> None:
    each = rounds(5, 50)  # three changes a round: 60 in all, or 600
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", _CHANGE, str(tmp_path), str(number), str(each)],
            stderr=subprocess.PIPE,
        )
        for number in range(_PROCESSES)
    ]
    assert [worker.communicate(timeout=120)[1] for worker in workers] == [b""] * _PROCESSES
    made = {tmp_path / f"root-{n}-{turn}" for n in range(_PROCESSES) for turn in range(each)}
    project = workspace.projects.get("notes")
    assert set(project.roots) == {tmp_path / "notes"} | made
    assert all(workspace.trust.covers(root / "dowse.toml", "digest") for root in made)
    for file in (workspace.locations.settings_file, project.settings_file):
        assert tomllib.loads(file.read_text())["search"]["top_n"] == each


def _empty(file: Path) -> None:
    file.write_bytes(b"")


def _break(file: Path) -> None:
    file.write_bytes(b"[project\nroots = 3")


def _lose(file: Path) -> None:
    file.unlink()


@pytest.mark.parametrize("harm", [_empty, _break, _lose])
def test_a_project_whose_file_is_lost_is_restored_by_its_own_advice(
    workspace: Workspace, tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    _index(workspace)
    before = workspace.projects.get("notes")
    harm(before.settings_file)
    with pytest.raises(BadSettings) as raised:
        workspace.projects.get("notes")
    (finding,) = workspace.projects.broken()
    assert finding.repair == raised.value.hint
    _, _, command = finding.repair.partition(": dowse ")
    assert command == "project restore notes"
    folders = {f"DOWSE_{name.upper()}_DIR": str(tmp_path / name) for name in ("config", "data")}
    done = process(*command.split(), **folders)
    assert done.returncode == 0, done.stderr
    assert workspace.projects.get("notes") == before
    with workspace.open(before) as engine:
        assert [hit.document for hit in engine.search(SearchRequest("radio")).hits] == ["a.md"]
    kept = before.folder / "project.toml.broken"
    assert kept.exists() == (harm is _break)


def _make_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()
    (file / "mine").write_text("kept", "utf-8")


def _make_loop(file: Path) -> None:
    file.unlink()
    file.symlink_to(file)


def _make_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


@pytest.mark.parametrize("harm", [_make_folder, _make_loop, _make_pipe])
def test_what_is_in_the_place_of_a_project_file_is_moved_aside(
    workspace: Workspace, harm: Callable[[Path], None]
) -> None:
    _index(workspace)
    before = workspace.projects.get("notes")
    for kept in ("project.toml.broken", "project.toml.broken-2"):  # also the second time
        harm(before.settings_file)
        (finding,) = workspace.projects.broken()
        assert finding.repair == "Write it again with: dowse project restore notes"
        assert workspace.projects.restore("notes") == before
        assert workspace.projects.broken() == []
        assert os.path.lexists(before.folder / kept)


def _file(folder: Path) -> None:
    folder.write_text("mine", "utf-8")


def _loop(folder: Path) -> None:
    folder.symlink_to(folder)


def _device(folder: Path) -> None:
    folder.symlink_to("/dev/null")


@pytest.mark.parametrize("harm", [_file, _loop, _device, os.mkfifo])
def test_what_is_in_the_place_of_a_project_is_found_and_can_be_forgotten(
    workspace: Workspace, harm: Callable[[Path], None]
) -> None:
    odd = workspace.locations.projects / "odd"
    harm(odd)
    (finding,) = workspace.projects.broken()
    assert str(odd) in finding.what
    assert finding.repair == "Forget it with: dowse project remove odd"
    assert [project.name for project in workspace.projects.all()] == ["notes"]
    workspace.projects.remove("odd")
    assert workspace.projects.broken() == []
    assert not list(workspace.locations.data.glob("trash-*"))


def test_a_folder_that_cannot_be_entered_is_found(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = workspace.projects.get("notes").folder
    seen, opened = Path.lstat, os.open

    def refuse(path: Path) -> os.stat_result:
        if folder in path.parents:
            raise PermissionError(13, "Permission denied", str(path))
        return seen(path)

    def refuse_to_open(path: str | Path, *rest: int) -> int:
        refuse(Path(path))
        return opened(path, *rest)

    monkeypatch.setattr(Path, "lstat", refuse)
    monkeypatch.setattr("dowse._util.files.os.open", refuse_to_open)
    monkeypatch.setattr("dowse._project.registry.os.access", lambda *_: False)
    (finding,) = workspace.projects.broken()
    assert "Permission denied" in finding.what
    assert finding.repair == f"Allow yourself to enter it with: chmod u+rwx {folder}"


def test_a_file_in_the_place_of_all_projects_is_reported_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "projects").write_text("mine", "utf-8")
    folders = {f"DOWSE_{name.upper()}_DIR": str(tmp_path / name) for name in ("config", "data")}
    done = process("doctor", "--json", **folders)
    assert done.returncode == 1, done.stderr
    assert b"Traceback" not in done.stderr
    checks = {one["about"]: one["findings"] for one in json.loads(done.stdout)["checks"]}
    place = tmp_path / "data" / "projects"
    assert [one["repair"] for one in checks["Projects"]] == [
        f"Move it away with: mv {place} {place}.broken"
    ]


def test_a_project_that_was_never_indexed_is_restored_over_named_folders(
    workspace: Workspace, tmp_path: Path
) -> None:
    file = workspace.projects.get("notes").settings_file
    _empty(file)
    with pytest.raises(UsageError, match="dowse project restore notes PATH"):
        workspace.projects.restore("notes")
    project = workspace.projects.restore("notes", [tmp_path / "notes"])
    assert workspace.projects.all() == [project]


def test_a_project_that_can_be_read_is_not_restored(workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="nothing to restore"):
        workspace.projects.restore("notes")


def test_roots_that_need_consent_are_not_noted(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    local = tmp_path / "notes" / "dowse.toml"
    local.write_text('[project]\nroots = [".", "../other"]\n', "utf-8")
    found = workspace.local_file(tmp_path / "notes")
    assert found is not None
    workspace.trust.grant(local, found.digest)
    _index(workspace)
    project = workspace.projects.get("notes")
    project.settings_file.write_bytes(b"")
    assert workspace.projects.restore("notes").roots == (tmp_path / "notes",)
