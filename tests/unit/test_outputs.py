"""Files that the user names: never over a document, never over another file unasked, private."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from dowse._project.outputs import check_output, output_file, write_output
from dowse._project.workspace import Workspace
from dowse._util.files import Locations
from dowse.errors import Refused, UsageError


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A user with two projects, one of which is a single file."""
    workspace = Workspace(Locations(*(tmp_path / "own" / one for one in ("c", "d", "e"))))
    for name in ("notes", "other", "free"):
        (tmp_path / name).mkdir()
    (tmp_path / "notes" / "a.md").write_text("# A\n", "utf-8")
    (tmp_path / "free" / "single.md").write_text("# Single\n", "utf-8")
    workspace.projects.add([tmp_path / "notes"])
    workspace.projects.add([tmp_path / "other", tmp_path / "free" / "single.md"], "second")
    return workspace


@pytest.mark.parametrize(
    "place",
    ["notes/a.md", "notes/new.run", "notes/deep/../new", "other/x", "free/single.md", "notes"],
)
def test_nothing_is_written_inside_a_root_of_any_project(
    workspace: Workspace, tmp_path: Path, place: str
) -> None:
    with pytest.raises(Refused, match="never writes there"):
        write_output(workspace, tmp_path / place, b"x", force=True)
    assert (tmp_path / "notes" / "a.md").read_text("utf-8") == "# A\n"
    assert sorted(path.name for path in (tmp_path / "notes").iterdir()) == ["a.md"]


def test_links_lead_into_a_root_as_well(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "free" / "link").symlink_to(tmp_path / "notes")
    (tmp_path / "free" / "file.run").symlink_to(tmp_path / "notes" / "a.md")
    (tmp_path / "free" / "dangling").symlink_to(tmp_path / "notes" / "new.md")
    for name in ("link/new.run", "file.run", "dangling"):
        with pytest.raises(Refused, match="never writes there"):
            write_output(workspace, tmp_path / "free" / name, b"x", force=True)


def test_a_root_that_is_reached_by_a_link_is_a_root(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "away")
    workspace.projects.add([tmp_path / "linked"], "third")
    with pytest.raises(Refused, match="never writes there"):
        write_output(workspace, tmp_path / "away" / "x", b"x", force=True)


def test_folders_that_a_trusted_settings_file_adds_are_roots(
    workspace: Workspace, tmp_path: Path
) -> None:
    local = tmp_path / "notes" / "dowse.toml"
    local.write_text('[project]\nroots = [".", "../added"]\n', "utf-8")
    (tmp_path / "added").mkdir()
    found = workspace.local_file(tmp_path / "notes")
    assert found is not None
    workspace.trust.grant(local, found.digest)
    with pytest.raises(Refused, match="never writes there"):
        check_output(workspace, tmp_path / "added" / "x", force=True)


def test_own_files_are_no_place_either(workspace: Workspace) -> None:
    for place in ("projects/notes/index/index.db", "x"):
        with pytest.raises(Refused, match="own files"):
            check_output(workspace, workspace.locations.data / place, force=True)


def test_a_file_that_is_there_is_kept_unless_forced(workspace: Workspace, tmp_path: Path) -> None:
    target = tmp_path / "free" / "x"
    target.write_text("precious", "utf-8")
    with pytest.raises(Refused, match="--force"):
        write_output(workspace, target, b"new", force=False)
    assert target.read_text("utf-8") == "precious"
    write_output(workspace, target, b"new", force=True)
    assert target.read_bytes() == b"new"


def test_what_is_written_is_private_whatever_the_umask(
    workspace: Workspace, tmp_path: Path
) -> None:
    former = os.umask(0)
    try:
        write_output(workspace, tmp_path / "free" / "one", b"x", force=False)
        with output_file(workspace, tmp_path / "free" / "two", force=False) as file:
            file.write(b"x")
    finally:
        os.umask(former)
    for name in ("one", "two"):
        assert stat.S_IMODE((tmp_path / "free" / name).stat().st_mode) == 0o600


def test_another_name_of_a_document_is_replaced_and_the_document_stays(
    workspace: Workspace, tmp_path: Path
) -> None:
    hard = tmp_path / "free" / "hard"
    hard.hardlink_to(tmp_path / "notes" / "a.md")
    write_output(workspace, hard, b"new", force=True)
    assert (tmp_path / "notes" / "a.md").read_text("utf-8") == "# A\n"


def test_a_place_that_cannot_hold_a_file_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    for path in (tmp_path / "free", tmp_path / "nowhere" / "x"):
        with pytest.raises(UsageError, match="cannot be a file"):
            check_output(workspace, path, force=True)
    os.mkfifo(tmp_path / "free" / "pipe")
    with pytest.raises(Refused, match="not a regular file"):
        check_output(workspace, tmp_path / "free" / "pipe", force=True)


def test_a_file_that_is_not_finished_does_not_appear(workspace: Workspace, tmp_path: Path) -> None:
    def write_half() -> None:
        with output_file(workspace, tmp_path / "free" / "x", force=False) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert [path.name for path in (tmp_path / "free").iterdir()] == ["single.md"]
