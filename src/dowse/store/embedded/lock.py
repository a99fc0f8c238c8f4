"""One writer at a time, and a name for whoever it is.

The operating system drops the lock when its holder dies, however it dies; a lock that is held is
held by a living process. The note beside it only tells people who that is.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout

from dowse.errors import Locked


@contextmanager
def writer_lock(folder: Path, wait: float) -> Iterator[None]:
    """Holds the writer's lock of an index; raises `Locked` when it is not free in time."""
    note = folder / "writer.json"
    lock = FileLock(folder / "writer.lock")
    try:
        lock.acquire(timeout=wait, poll_interval=0.05)
    except Timeout:
        raise Locked(
            f"The index is being written by {_holder(note)}.",
            "Wait for it to end, or stop it; dowse index --wait SECONDS waits longer.",
        ) from None
    try:
        note.write_bytes(msgspec.json.encode(_me()))
        yield
    finally:
        note.unlink(missing_ok=True)
        lock.release()


def _me() -> dict[str, str | int]:
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])[:120]
    return {"pid": os.getpid(), "command": command, "since": time.strftime("%Y-%m-%d %H:%M:%S")}


def _holder(note: Path) -> str:
    try:
        who = msgspec.json.decode(note.read_bytes())
        return f"process {who['pid']} ({who['command']}, since {who['since']})"
    except (OSError, msgspec.MsgspecError, KeyError, TypeError):
        return "another process"
