"""Opening the SQLite file that holds the truth."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from dowse.errors import Damaged, DowseError, StampMismatch

FORMAT = 1
"""The version of the schema; an index of another version is refused, never migrated silently."""


def connect(path: Path) -> sqlite3.Connection:
    """A connection for one thread at a time, with every pragma that the design relies on."""
    connection = sqlite3.connect(
        path, timeout=30, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA mmap_size = 1073741824")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def create(path: Path) -> None:
    """Makes a new database, whole or not at all, unless there is one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=30, isolation_level=None)
    try:
        if _is_empty(connection):
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN IMMEDIATE")
            if _is_empty(connection):  # still: another process may have been faster
                _fill(connection)
            connection.execute("COMMIT")
    finally:
        connection.close()


def _is_empty(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None


def _fill(connection: sqlite3.Connection) -> None:
    schema = files("dowse.store.embedded").joinpath("schema.sql").read_text("utf-8")
    for statement in schema.split(";"):
        connection.execute(statement)
    connection.executemany(
        "INSERT INTO meta VALUES (?, ?)",
        [("format", str(FORMAT)), ("index", uuid.uuid4().hex), ("generation", "0")],
    )


def check_format(connection: sqlite3.Connection) -> None:
    """Refuses a database that another version of dowse has written."""
    found = connection.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()
    if found is None or found[0] != str(FORMAT):
        version = "unknown" if found is None else found[0]
        raise StampMismatch(
            f"The index has format {version}, this version of dowse reads format {FORMAT}.",
            "Rebuild it with: dowse index --rebuild",
        )


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Lets no error of SQLite leave the store untranslated."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "full" in str(error):
            raise DowseError(
                f"The disk is full: {path} could not grow.",
                "Nothing that was indexed is lost. Free some space and run the command again.",
            ) from error
        if "readonly" in str(error) or "unable to open" in str(error):
            raise DowseError(
                f"{path} cannot be opened: {error}.", "Check its permissions."
            ) from error
        raise _damaged(path, error) from error
    except sqlite3.DatabaseError as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: sqlite3.Error) -> Damaged:
    return Damaged(f"{path} cannot be used: {error}.", "Look at it with: dowse doctor")
