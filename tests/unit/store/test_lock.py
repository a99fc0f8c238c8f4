"""One writer at a time, named to whoever comes second, freed by the death of its holder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dowse._store.files import writer_lock
from dowse.errors import DowseError, Locked

_HOLDER = """
import sys
from pathlib import Path
from dowse._store.files import writer_lock
with writer_lock(Path(sys.argv[1]), wait=0):
    print("held", flush=True)
    sys.stdin.read()
"""


def start_holder(folder: Path) -> subprocess.Popen[str]:
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout
    assert holder.stdout.readline() == "held\n"
    return holder


def end(holder: subprocess.Popen[str]) -> None:
    holder.communicate()


def test_a_lock_is_held_once_and_can_be_taken_again(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "on demand"
    for _ in range(2):
        with writer_lock(folder, wait=0), pytest.raises(Locked), writer_lock(folder, wait=0):
            pass
    assert not (folder / "writer.json").exists()


def test_the_note_names_the_holder(tmp_path: Path) -> None:
    with writer_lock(tmp_path, wait=0):
        note = json.loads((tmp_path / "writer.json").read_text())
        assert note["pid"] == os.getpid()
        with pytest.raises(Locked) as caught, writer_lock(tmp_path, wait=0):
            pass
    assert (
        f"process {os.getpid()} ({note['command']}, since {note['since']})" in caught.value.message
    )
    assert "dowse index --wait" in caught.value.hint


@pytest.mark.parametrize("note", [None, b"", b"{", b"[1]", b'{"pid": 3}', b"\xff\xfe", b"null"])
def test_a_note_that_says_nothing_is_no_obstacle(tmp_path: Path, note: bytes | None) -> None:
    with writer_lock(tmp_path, wait=0):
        path = tmp_path / "writer.json"
        path.unlink() if note is None else path.write_bytes(note)
        with pytest.raises(Locked, match="another process"), writer_lock(tmp_path, wait=0):
            pass


def test_the_note_holds_no_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/bin/dowse", "serve", "--token", "hunter2"])
    with writer_lock(tmp_path, wait=0):
        assert "hunter2" not in (tmp_path / "writer.json").read_text()
        with pytest.raises(Locked) as caught, writer_lock(tmp_path, wait=0):
            pass
    assert "hunter2" not in str(caught.value)


def test_a_note_of_an_older_version_is_not_repeated(tmp_path: Path) -> None:
    note = {"pid": 7, "command": "dowse serve --token hunter2", "since": "2026-01-01 00:00:00"}
    with writer_lock(tmp_path, wait=0):
        (tmp_path / "writer.json").write_text(json.dumps(note))
        with pytest.raises(Locked) as caught, writer_lock(tmp_path, wait=0):
            pass
    assert "process 7 (a program, since 2026" in str(caught.value)


def test_another_process_holds_it_until_it_ends(tmp_path: Path) -> None:
    holder = start_holder(tmp_path)
    try:
        with pytest.raises(Locked, match=f"process {holder.pid} "), writer_lock(tmp_path, wait=0):
            pass
    finally:
        end(holder)
    with writer_lock(tmp_path, wait=0):
        pass


def test_a_killed_holder_frees_it(tmp_path: Path) -> None:
    holder = start_holder(tmp_path)
    holder.kill()
    end(holder)
    assert (tmp_path / "writer.json").exists()  # the note outlives it, the lock does not
    with writer_lock(tmp_path, wait=0):
        assert json.loads((tmp_path / "writer.json").read_text())["pid"] == os.getpid()


def test_waiting_outlasts_a_holder_that_is_killed(tmp_path: Path) -> None:
    holder = start_holder(tmp_path)
    waiting = subprocess.Popen(
        [sys.executable, "-c", _HOLDER.replace("wait=0", "wait=60"), str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    holder.kill()
    end(holder)
    assert waiting.stdout
    assert waiting.stdout.readline() == "held\n"
    end(waiting)


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DowseError, match="is not a folder"), writer_lock(tmp_path / "file", 0):
        pass
