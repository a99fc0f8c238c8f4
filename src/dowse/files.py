"""How dowse writes its own files: private to the user, and whole after a crash or a power cut."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from filelock import FileLock

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700


def make_private_folder(path: Path) -> None:
    """Creates a folder, with its parents, that only the user can enter, whatever the umask."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        with suppress(FileExistsError):  # another process was faster
            folder.mkdir(PRIVATE_FOLDER)
            folder.chmod(PRIVATE_FOLDER)  # a strict umask may have taken the user's own rights
            sync_folder(folder.parent)


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
