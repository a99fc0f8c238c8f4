"""Where an import is made before it is a project, and what killed imports leave there.

Each import has a folder of its own next to the projects, with a lock in it that the operating
system drops when the process dies. A folder whose lock is free belongs to nobody any more.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from dowse._project.archive.exchange import put_back
from dowse._project.registry import TRASH
from dowse._util.files import PRIVATE_FILE, make_private_folder, remove_folder
from dowse._util.locations import Locations
from dowse._util.privacy import secure
from dowse.errors import Locked

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
