"""How dowse writes its own files: private to the user, and whole after a crash or a power cut."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from filelock import FileLock

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
_OTHERS = 0o077  # the rights of the group and of everybody


def make_private_folder(path: Path) -> None:
    """Creates a folder, with its parents, that only the user can enter, whatever the umask."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        with suppress(FileExistsError):  # another process was faster
            folder.mkdir(PRIVATE_FOLDER)
            folder.chmod(PRIVATE_FOLDER)  # a strict umask may have taken the user's own rights
            sync_folder(folder.parent)


def create_private_file(path: Path) -> None:
    """Creates an empty file that only the user can read, whatever the umask, unless it exists."""
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE_FILE)
        os.close(descriptor)
        path.chmod(PRIVATE_FILE)  # a strict umask may have taken the user's own rights


def close_tree(folder: Path) -> None:
    """Makes a folder and everything in it private, as far as it belongs to the user.

    For files that libraries create with the rights of the umask, and for those of older versions.
    """
    for path in _entries(folder):
        close_to_others(path)


def close_to_others(path: Path) -> None:
    """Takes the rights of all others from a file or a folder; a link stays as it is."""
    with suppress(OSError):  # somebody else's file, a read-only disk, or removed meanwhile
        mode = path.lstat().st_mode
        if mode & _OTHERS and not stat.S_ISLNK(mode):
            path.chmod(PRIVATE_FOLDER if stat.S_ISDIR(mode) else PRIVATE_FILE)


def open_paths(folder: Path) -> list[Path]:
    """What others can read or write in a folder, the folder itself included.

    What is in a folder that others cannot enter is safe, whatever its own rights.
    """
    return [path for path in _entries(folder, entered_by=_OTHERS) if _rights(path) & _OTHERS]


def _entries(folder: Path, entered_by: int = 0o777) -> Iterator[Path]:
    """A folder and all in it, links not followed; folders that these rights do not open end it."""
    yield folder
    if _rights(folder) & entered_by & 0o111:
        with suppress(OSError):
            for entry in sorted(os.scandir(folder), key=lambda one: one.name):
                if entry.is_dir(follow_symlinks=False):
                    yield from _entries(Path(entry.path), entered_by)
                elif not entry.is_symlink():
                    yield Path(entry.path)


def _rights(path: Path) -> int:
    """The permission bits of a path; none for a link, or where there is nothing."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return 0
    return 0 if stat.S_ISLNK(mode) else stat.S_IMODE(mode)


def replace_file(path: Path, data: bytes, *, mode: int = PRIVATE_FILE) -> None:
    """Replaces a file, or creates it: afterwards, the new content survives a power cut.

    Until then a reader, and the disk after a power cut, has the old content or the new one, never
    a part. The temporary file has a name of its own, so two writers do not share one.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            temporary.chmod(mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(path.parent)


def update_file(path: Path, change: Callable[[bytes | None], bytes]) -> None:
    """Replaces a file with what `change` makes of its content (None: there is no file yet).

    A lock beside the file makes concurrent updates wait for each other, so none is lost.
    """
    make_private_folder(path.parent)
    with FileLock(path.with_name(f".{path.name}.lock"), timeout=10, mode=PRIVATE_FILE):
        try:
            before = path.read_bytes()
        except FileNotFoundError:
            before = None
        replace_file(path, change(before))


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder survive a power cut: new, renamed and removed files."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except OSError:
        return  # Windows cannot open a folder; a folder that cannot be read cannot be synced
    try:
        with suppress(OSError):  # some network file systems refuse to sync a folder
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
