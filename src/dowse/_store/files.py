"""Lets no error of SQLite, tantivy or the file system leave the store untranslated."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Struct

from dowse._util.files import (
    PRIVATE_FILE,
    UNREADABLE,
    close_tree,
    create_private_file,
    make_private_folder,
    why_unreadable,
)
from dowse._util.process import UNNAMED, command_name
from dowse.errors import Damaged, DowseError, Locked

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LITTLE = 1_000_000  # bytes that are too few to write a segment into
# An OSError is about a file, not about its content.
_UNDECODABLE: tuple[type[Exception], ...] = (*UNREADABLE[1:], TypeError)
_NO_ACCESS = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)


class Unwritable(DowseError):
    """Nothing can be written where an index is: the disk is full, or not ours to write."""


@contextmanager
def database_errors(path: Path) -> Iterator[None]:
    """Translate what SQLite raises about the file at a path."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _of_sqlite(path, error) from error


@contextmanager
def content_errors() -> Iterator[None]:
    """Translate what decoding raises about content that no dowse has written."""
    try:
        yield
    except _UNDECODABLE as error:
        reason = why_unreadable(error)
        raise database_damaged(f"The database holds what cannot be read: {reason}.") from error


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Translate what the file system raises about a path."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise _full(path) from error
        raise _inaccessible(Path(error.filename or path), error.strerror or str(error)) from error


@contextmanager
def tantivy_errors(folder: Path) -> Iterator[None]:
    """Translate what tantivy raises about the index in a folder: always a `ValueError`."""
    try:
        yield
    except ValueError as error:
        says = str(error)
        no_space = any(f"os error {n}" in says or f"code: {n}," in says for n in _NO_SPACE)
        with suppress(OSError):  # when a thread of tantivy fails, it does not say why
            no_space |= shutil.disk_usage(folder).free < _LITTLE
        if no_space:
            raise _full(folder) from error
        raise replica_damaged(f"{folder} cannot be used: {error}.") from error


def error_code(error: sqlite3.Error) -> int:
    """SQLite's code for an error, without its finer distinctions; 0 when it has none."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def check_kind(path: Path, *, folder: bool) -> None:
    """Raise `Damaged` when something else is where a folder, or a file, of an index should be."""
    if os.path.lexists(path) and not (path.is_dir() if folder else path.is_file()):
        raise database_damaged(f"{path} is not a {'folder' if folder else 'file'}.")


def remove(path: Path) -> None:
    """Remove a file or a folder, whichever it is."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


REPAIR = "dowse doctor --repair"
"""What builds a replica again from the database."""


def database_damaged(message: str) -> Damaged:
    """Make the error for a database that cannot be relied on."""
    return Damaged(message, "Look at it with: dowse doctor")


def replica_damaged(message: str) -> Damaged:
    """Make the error for a replica that has to be rebuilt."""
    return Damaged(message, f"Repair it with: {REPAIR}")


def _of_sqlite(path: Path, error: sqlite3.Error) -> DowseError:
    code = error_code(error)
    if code == sqlite3.SQLITE_FULL:
        return _full(path)
    if code in _NO_ACCESS:
        return _inaccessible(path, str(error))
    if code == sqlite3.SQLITE_BUSY:
        return Locked(f"{path} is in use by another program.", "Wait for it to end, or stop it.")
    if code == sqlite3.SQLITE_IOERR:
        return DowseError(
            f"{path} could not be read or written: {error}.",
            "Look at the disk: is it there, is it healthy, is there space?",
        )
    return database_damaged(f"{path} cannot be used: {error}.")


def _full(path: Path) -> Unwritable:
    return Unwritable(
        f"The disk is full: {path} could not grow.",
        "Nothing that was indexed is lost. Free some space and run the command again.",
    )


def _inaccessible(path: Path, reason: str) -> Unwritable:
    return Unwritable(f"{path} cannot be opened: {reason}.", "Check its permissions.")


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
