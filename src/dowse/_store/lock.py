"""One writer at a time, and a name for the process that it is.

The operating system drops the lock when its holder dies, however it dies; a lock that is held is
held by a living process. The note next to it only says which process that is. It never holds the
command line, because a command line can hold secrets.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Struct

from dowse._store.failures import check_kind, disk_errors
from dowse._util.files import PRIVATE_FILE, close_tree, create_private_file, make_private_folder
from dowse._util.process import UNNAMED, command_name
from dowse.errors import Locked

_NAME = re.compile(r"dowse [a-z]+")


class _Writer(Struct, frozen=True):
    """Who is writing, as the note says it."""

    pid: int
    command: str
    since: Annotated[str, msgspec.Meta(max_length=20)]


@contextmanager
def writer_lock(folder: Path, wait: float) -> Iterator[None]:
    """Hold the writer's lock of an index; raise `Locked` when it is not free in time."""
    from filelock import FileLock, Timeout  # noqa: PLC0415  reading takes no lock

    note = folder / "writer.json"
    lock = FileLock(folder / "writer.lock", mode=PRIVATE_FILE)
    with disk_errors(folder):
        check_kind(folder, folder=True)
        make_private_folder(folder)
        if Path(lock.lock_file).is_dir():  # nothing of dowse's: nobody could ever write again
            shutil.rmtree(lock.lock_file)
        try:
            lock.acquire(timeout=max(0.0, wait), poll_interval=0.05)
        except Timeout:
            raise Locked(
                f"The index is being written by {_holder(note)}.",
                "Wait for it to end, or stop it; dowse index --wait SECONDS waits longer.",
            ) from None
    try:
        close_tree(folder)  # an older version may have written it
        with suppress(OSError):  # a full disk is noticed where it matters
            create_private_file(note)
            me = _Writer(os.getpid(), command_name(), time.strftime("%Y-%m-%d %H:%M:%S"))
            note.write_bytes(msgspec.json.encode(me))
        yield
    finally:
        with suppress(OSError):
            note.unlink()
        lock.release()


def _holder(note: Path) -> str:
    try:
        who = msgspec.json.decode(note.read_bytes(), type=_Writer)
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError):
        return "another process"
    # Older versions noted the whole line.
    named = who.command if _NAME.fullmatch(who.command) else UNNAMED
    return f"process {who.pid} ({named}, since {who.since})"
