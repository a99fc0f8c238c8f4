"""Opening the SQLite file that holds the truth."""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from queue import Empty, LifoQueue

from dowse.errors import StampMismatch
from dowse.files import create_private_file, make_private_folder
from dowse.store.embedded.failures import content_errors, disk_errors, error_code

FORMAT = 1
"""The version of the schema; an index of another version is refused, never migrated silently."""

_PATIENCE = 30.0  # seconds that a statement waits for another process
_FileId = tuple[int, int]


class Connections:
    """Connections to one database, each lent to one thread at a time and kept for the next."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: LifoQueue[tuple[sqlite3.Connection, _FileId | None]] = LifoQueue()

    @contextmanager
    def borrow(self) -> Iterator[sqlite3.Connection]:
        """A connection outside any transaction; what is open at the end is rolled back."""
        connection, file_id = self._take()
        try:
            yield connection
            if connection.in_transaction:
                connection.rollback()
        except BaseException:
            connection.close()  # which rolls back, too
            raise
        self._idle.put((connection, file_id))

    def close(self) -> None:
        """Closes all connections that are not lent."""
        with suppress(Empty):
            while True:
                self._idle.get_nowait()[0].close()

    def _take(self) -> tuple[sqlite3.Connection, _FileId | None]:
        with suppress(Empty):
            while True:
                connection, file_id = self._idle.get_nowait()
                if file_id == _file_id(self._path):
                    return connection, file_id
                connection.close()  # somebody has replaced the database since
        with disk_errors(self._path):
            make_private_folder(self._path.parent)
            create_private_file(self._path)  # its log and its index take the rights of this file
        with content_errors():
            create(self._path)
            return connect(self._path), _file_id(self._path)


def connect(path: Path) -> sqlite3.Connection:
    """A connection for one thread at a time, with every pragma that the design relies on."""
    connection = sqlite3.connect(
        path,
        timeout=_PATIENCE,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA mmap_size = 1073741824")
        connection.execute("PRAGMA synchronous = NORMAL")
        _check_format(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def create(path: Path) -> None:
    """Makes a new database, whole or not at all, unless there is one."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            _create_once(path)
        except sqlite3.OperationalError as error:
            if error_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)  # SQLite does not wait by itself while a log is being set up
        else:
            return


def _create_once(path: Path) -> None:
    with closing(sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)) as connection:
        if _is_empty(connection):
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN IMMEDIATE")
            if _is_empty(connection):  # still: another process may have been faster
                _fill(connection)
            connection.execute("COMMIT")


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


def _check_format(connection: sqlite3.Connection) -> None:
    """Refuses a database that another version of dowse has written."""
    found = connection.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()
    if found is None or found[0] != str(FORMAT):
        version = "unknown" if found is None else found[0]
        raise StampMismatch(
            f"The index has format {version}, this version of dowse reads format {FORMAT}.",
            "Rebuild it with: dowse index --rebuild",
        )


def _file_id(path: Path) -> _FileId | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
