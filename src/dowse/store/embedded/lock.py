"""One writer at a time, and a name for whoever it is.

The operating system drops the lock when its holder dies, however it dies; a lock that is held is
held by a living process. The note beside it only tells people who that is.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout

from dowse.errors import Locked
from dowse.store.embedded.failures import check_kind, disk_errors


@contextmanager
def writer_lock(folder: Path, wait: float) -> Iterator[None]:
    """Holds the writer's lock of an index; raises `Locked` when it is not free in time."""
    note = folder / "writer.json"
    lock = FileLock(folder / "writer.lock")
    with disk_errors(folder):
        check_kind(folder, folder=True)
        folder.mkdir(parents=True, exist_ok=True)
        if Path(lock.lock_file).is_dir():  # nothing of dowse's: nobody could ever write again
            shutil.rmtree(lock.lock_file)
        _acquire(lock, max(0.0, wait), note)
    try:
        with suppress(OSError):  # a full disk is noticed where it matters
            note.write_bytes(msgspec.json.encode(_me()))
        yield
    finally:
        with suppress(OSError):
            note.unlink()
        lock.release()


def _acquire(lock: FileLock, wait: float, note: Path) -> None:
    try:
        lock.acquire(timeout=wait, poll_interval=0.05)
    except Timeout:
        raise Locked(
            f"The index is being written by {_holder(note)}.",
            "Wait for it to end, or stop it; dowse index --wait SECONDS waits longer.",
        ) from None


def _me() -> dict[str, str | int]:
    name, *arguments = sys.argv or ["python"]
    command = " ".join([Path(name).name, *arguments])[:120].encode("utf-8", "replace").decode()
    return {"pid": os.getpid(), "command": command, "since": time.strftime("%Y-%m-%d %H:%M:%S")}


def _holder(note: Path) -> str:
    try:
        who = msgspec.json.decode(note.read_bytes())
        return f"process {who['pid']} ({who['command']}, since {who['since']})"
    except (OSError, ValueError, msgspec.MsgspecError, KeyError, TypeError):
        return "another process"
