from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dowse._util.files import (
    close_tree,
    make_private_folder,
    open_paths,
    replace_file,
    update_file,
)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o277])
def test_files_and_folders_are_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    former = os.umask(umask)
    try:
        make_private_folder(tmp_path / "a" / "b")
        replace_file(tmp_path / "a" / "b" / "file", b"secret")
        update_file(tmp_path / "c" / "other", lambda _: b"secret")
    finally:
        os.umask(former)
    assert _mode(tmp_path / "a") == _mode(tmp_path / "a" / "b") == _mode(tmp_path / "c") == 0o700
    assert _mode(tmp_path / "a" / "b" / "file") == _mode(tmp_path / "c" / "other") == 0o600


def test_an_existing_folder_keeps_its_rights(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir(mode=0o755)
    make_private_folder(tmp_path / "shared" / "own")
    assert _mode(tmp_path / "shared") == 0o755


def test_a_failed_write_keeps_the_old_content_and_leaves_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    replace_file(path, b"old")

    def full_disk(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        replace_file(path, b"new")
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
    assert path.read_bytes() == b"old"


_APPEND = """
import pathlib, sys
from dowse._util.files import update_file
path, letter = pathlib.Path(sys.argv[1]), sys.argv[2].encode()
for _ in range(20):
    update_file(path, lambda before: (before or b"") + letter)
"""


def test_no_update_of_several_processes_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "file"
    workers = [
        subprocess.Popen([sys.executable, "-c", _APPEND, str(path), letter]) for letter in "abcd"
    ]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0, 0]
    assert sorted(path.read_bytes().decode()) == sorted("abcd" * 20)


def test_what_is_in_a_closed_folder_is_open_to_nobody(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    for name in ("closed", "open"):
        (folder / name).mkdir(parents=True)
        (folder / name / "file").touch(0o644)
    (folder / "closed").chmod(0o700)
    for path in (folder, folder / "open"):
        path.chmod(0o755)
    (folder / "open" / "file").chmod(0o644)
    assert open_paths(folder) == [folder, folder / "open", folder / "open" / "file"]
    folder.chmod(0o700)
    assert open_paths(folder) == []


def test_closing_a_tree_does_not_follow_links(tmp_path: Path) -> None:
    (tmp_path / "outside").touch()
    (tmp_path / "outside").chmod(0o644)
    (tmp_path / "tree" / "inside").mkdir(parents=True)
    (tmp_path / "tree" / "inside").chmod(0o777)
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "outside")
    close_tree(tmp_path / "tree")
    assert _mode(tmp_path / "outside") == 0o644
    assert _mode(tmp_path / "tree") == _mode(tmp_path / "tree" / "inside") == 0o700
