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
from dowse._util.locations import Locations
from dowse._util.privacy import secure
from dowse.errors import Locked

# ── One folder in the place of another, so that there is always one of them there ───


_HERE = -100  # AT_FDCWD: paths are as they are
_EXCHANGE = 2  # RENAME_EXCHANGE
_FORMER = "former-"  # before the name of a project that was moved aside


def put_in_place(folder: Path, former: Path, guard: AbstractContextManager[object]) -> None:
    """Exchanges a folder with that of a project, while `guard` keeps writers away.

    A reader of the former index goes on with it, and finds the new one next time.
    """
    with guard:
        if not _exchange(folder, former):
            _exchange_in_steps(folder, former)
        sync_folder(former.parent)
        sync_folder(folder.parent)


def _exchange(one: Path, other: Path) -> bool:
    """Exchanges two folders at once; False where the system cannot."""
    if os.name != "posix":
        return False
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    if rename is None:
        return False
    paths = os.fsencode(one), os.fsencode(other)
    return bool(rename(_HERE, paths[0], _HERE, paths[1], _EXCHANGE) == 0)


def put_back(folder: Path, projects: Path) -> None:
    """Moves projects back that a killed import had moved aside into its folder."""
    for aside in folder.glob(f"{_FORMER}*"):
        home = projects / aside.name.removeprefix(_FORMER)
        if not home.exists():
            move_folder(aside, home)


def _exchange_in_steps(one: Path, other: Path) -> None:
    """Exchanges two folders with a moment in which the former is moved aside."""
    aside = one.with_name(f"{_FORMER}{other.name}")
    move_folder(other, aside)
    try:
        move_folder(one, other)
    except (OSError, Locked):
        move_folder(aside, other)
        raise
    move_folder(aside, one)


_PREFIX = "import-"
_LOCK = "lock"
_TRIES = 10
_HOUR = 3600  # seconds; a folder without a lock is being made now, or is of an older version


@contextmanager
def staging(where: Locations) -> Iterator[Path]:
    """A folder for a project in the making; whatever is still there at the end is removed."""
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


def abandoned(where: Locations) -> list[Path]:
    """The folders that killed imports and removals have left."""
    left = _trash(where)
    for folder in sorted(where.data.glob(f"{_PREFIX}*")):
        with suppress(OSError), _if_abandoned(folder):
            left.append(folder)
    return left


def clear_abandoned(where: Locations) -> int:
    """Removes what killed imports and removals have left, and gives how many there were.

    A project that one of them had moved aside, and did not replace yet, is moved back.
    """
    cleared = 0
    for folder in _trash(where):
        remove_folder(folder)
        cleared += not folder.exists()
    for folder in sorted(where.data.glob(f"{_PREFIX}*")):
        with suppress(OSError), _if_abandoned(folder) as lock:
            put_back(folder, where.projects)
            _remove(folder, lock)
            cleared += not folder.exists()
    return cleared


def _trash(where: Locations) -> list[Path]:
    """Removed projects that are still there: nobody uses them."""
    return sorted(where.data.glob(f"{TRASH}*"))


def _own_folder(data: Path) -> tuple[Path, FileLock]:
    for _ in range(_TRIES):
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=data))
        lock = _lock(folder)
        # Another import may have taken the folder for an abandoned one, just before this.
        with suppress(Timeout, FileNotFoundError):
            lock.acquire(timeout=0)
            if (folder / _LOCK).exists():
                return folder, lock
            lock.release()
    raise Locked("Other imports are under way.", "Wait for them to end, and try again.")


@contextmanager
def _if_abandoned(folder: Path) -> Iterator[FileLock | None]:
    """Holds the lock of a folder that belongs to no living import; raises `OSError` otherwise."""
    if not (folder / _LOCK).exists():
        if time.time() - folder.stat().st_mtime < _HOUR:
            raise BlockingIOError("It may be in the making.")
        yield None
        return
    lock = _lock(folder)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise BlockingIOError("An import is using it.") from error
    try:
        yield lock
    finally:
        lock.release()


def _lock(folder: Path) -> FileLock:
    return FileLock(folder / _LOCK, mode=PRIVATE_FILE)


def _remove(folder: Path, lock: FileLock | None) -> None:
    """Removes all but the lock first, so that what is left after a crash can be recognised."""
    for path in folder.iterdir():
        if path.name != _LOCK or not lock:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
    if lock:
        lock.release()
    shutil.rmtree(folder, ignore_errors=True)
