"""Reading a database where nothing can be written: a read-only folder, or a full disk.

SQLite shares its log between processes through a file that it must create or grow. Where that
fails, the database can still be read as one that nobody changes, provided that its log is empty.
Nobody may change it meanwhile: its state is compared before and after each use.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from dowse._store.embedded.failures import error_code
from dowse.errors import DowseError, Locked

State = tuple[int, ...]
"""What is different once somebody has written to a database."""

_CANNOT_WRITE = (
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
)


def may_be_read(database: Path, error: Exception) -> bool:
    """Whether an error only says that nothing can be written; raises when reading is unsafe."""
    if isinstance(error, sqlite3.Error) and error_code(error) not in _CANNOT_WRITE:
        return False
    if not database.is_file():
        return False
    if _log_size(database):
        raise DowseError(
            f"The last changes are still in {database}-wal, which cannot be read here,"
            " since nothing can be written.",
            "Free some space, or copy the folder to where it can be written.",
        ) from error
    return True


def state_of(database: Path) -> State:
    """The state of a database and its log."""
    found = database.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, _log_size(database)


def check_unchanged(database: Path, before: State) -> None:
    """Raises `Locked` when somebody has written to a database since it was in a state."""
    if state_of(database) != before:
        raise Locked(f"{database} was changed while it was read.", "Run the command again.")


def _log_size(database: Path) -> int:
    try:
        return database.with_name(f"{database.name}-wal").stat().st_size
    except FileNotFoundError:
        return 0
