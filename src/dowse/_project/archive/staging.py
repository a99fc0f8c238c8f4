"""Where an import is made before it is a project, and what killed imports leave there.

Each import has a folder of its own next to the projects, with a lock in it that the operating
system drops when the process dies. A folder whose lock is free belongs to nobody any more.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from dowse._project.registry import TRASH
from dowse._util.files import (
    PRIVATE_FILE,
    make_private_folder,
    move_folder,
    remove_folder,
    sync_folder,
)
from dowse._util.locations import Locations, secure
from dowse.errors import Locked

_PREFIX = "import-"
_FORMER = "former-"  # before the name of a project that was moved aside
_LOCK = "lock"
_TRIES = 10
_HOUR = 3600  # seconds; a folder without a lock is being made now, or is of an older version

_HERE = -100  # AT_FDCWD: paths are as they are
_EXCHANGE = 2  # RENAME_EXCHANGE


@contextmanager
def staging(where: Locations) -> Iterator[Path]:
    """Lend a folder for a project in the making; whatever is still there at the end is removed."""
    make_private_folder(where.data)
    secure(where)
    clear_abandoned(where)
    folder, lock = _own_folder(where.data)
    try:
        made = folder / "project"
        make_private_folder(made)
        yield made
    finally:
        _remove(folder, lock)


def _own_folder(data: Path) -> tuple[Path, FileLock]:
    for _ in range(_TRIES):
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=data))
        lock = FileLock(folder / _LOCK, mode=PRIVATE_FILE)
        # Another import may have taken the folder for an abandoned one, just before this.
        with suppress(Timeout, FileNotFoundError):
            lock.acquire(timeout=0)
            if (folder / _LOCK).exists():
                return folder, lock
            lock.release()
    raise Locked("Other imports are under way.", "Wait for them to end, and try again.")


def put_in_place(folder: Path, former: Path, guard: AbstractContextManager[object]) -> None:
    """Exchange a folder with that of a project, while `guard` keeps writers away.

    There is always one of them in the place: a reader of the former index goes on with it, and
    finds the new one next time. Where the system cannot exchange two folders at once, the former
    project is for a moment in the import's own folder, under a name that says where it belongs.
    """
    with guard:
        if not _exchange(folder, former):
            aside = folder.with_name(f"{_FORMER}{former.name}")
            move_folder(former, aside)
            try:
                move_folder(folder, former)
            except (OSError, Locked):
                move_folder(aside, former)
                raise
            move_folder(aside, folder)
        sync_folder(former.parent)
        sync_folder(folder.parent)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders at once; False where the system cannot."""
    if os.name != "posix":
        return False
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    if rename is None:
        return False
    paths = os.fsencode(one), os.fsencode(other)
    return bool(rename(_HERE, paths[0], _HERE, paths[1], _EXCHANGE) == 0)


def abandoned(where: Locations) -> list[Path]:
    """List the folders that killed imports and removals have left."""
    left = _trash(where)
    for folder in sorted(where.data.glob(f"{_PREFIX}*")):
        with suppress(OSError), _if_abandoned(folder):
            left.append(folder)
    return left


def clear_abandoned(where: Locations) -> int:
    """Remove what killed imports and removals have left, and return how many there were.

    A project that one of them had moved aside, and did not replace yet, is moved back.
    """
    cleared = 0
    for folder in _trash(where):
        remove_folder(folder)
        cleared += not folder.exists()
    for folder in sorted(where.data.glob(f"{_PREFIX}*")):
        with suppress(OSError), _if_abandoned(folder) as lock:
            for aside in folder.glob(f"{_FORMER}*"):
                home = where.projects / aside.name.removeprefix(_FORMER)
                if not home.exists():
                    move_folder(aside, home)
            _remove(folder, lock)
            cleared += not folder.exists()
    return cleared


def _trash(where: Locations) -> list[Path]:
    """List removed projects that are still there: nobody uses them."""
    return sorted(where.data.glob(f"{TRASH}*"))


@contextmanager
def _if_abandoned(folder: Path) -> Iterator[FileLock | None]:
    """Hold the lock of a folder that belongs to no living import; raise `OSError` otherwise."""
    if not (folder / _LOCK).exists():
        if time.time() - folder.stat().st_mtime < _HOUR:
            raise BlockingIOError("It may be in the making.")
        yield None
        return
    lock = FileLock(folder / _LOCK, mode=PRIVATE_FILE)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise BlockingIOError("An import is using it.") from error
    try:
        yield lock
    finally:
        lock.release()


def _remove(folder: Path, lock: FileLock | None) -> None:
    """Remove all but the lock first, so that what is left after a crash can be recognised."""
    for path in folder.iterdir():
        if path.name != _LOCK or not lock:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
    if lock:
        lock.release()
    shutil.rmtree(folder, ignore_errors=True)
