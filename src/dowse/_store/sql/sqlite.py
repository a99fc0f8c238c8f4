"""Open the SQLite file that holds the truth: connections, format, soundness.

Where nothing can be written (a read-only folder, or a full disk) it is read as a file that nobody
changes. SQLite shares its log between processes through a file that it must create or grow; where
that fails, the database can still be read, provided that its log is empty. Nobody may change it
meanwhile: its state is compared before and after each use.
"""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from queue import Empty, LifoQueue
from typing import NamedTuple
from urllib.parse import quote

from dowse._store.files import (
    check_kind,
    content_errors,
    database_errors,
    disk_errors,
    error_code,
    writer_lock,
)
from dowse._store.sql.database import (
    ROOTS,
    SCHEMA_FILES,
    SqlConnection,
    decoded_roots,
    keep_document_sums,
    schema_file,
    sum_of,
)
from dowse._util.files import create_private_file, make_private_folder, sync_folder
from dowse.errors import DowseError, IndexUnusable, Locked, StampMismatch

FORMAT = 3
"""The version of the schema."""

_OLDER = 1  # what can still be read, and is upgraded by the next writer

_PATIENCE = 30.0  # seconds that a statement waits for another process
_CANNOT_WRITE = (
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
)

_State = tuple[int, ...]
"""What is different once somebody has written to a database."""


class _Open(NamedTuple):
    """A connection, and what it was opened for."""

    connection: sqlite3.Connection
    file: tuple[int, int] | None
    unchanged: _State | None = None  # when it is read as one that nobody changes: its state


class Connections:
    """Connections to one database, each lent to one thread at a time and kept for the next."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: LifoQueue[_Open] = LifoQueue()

    def errors(self) -> AbstractContextManager[None]:
        """Translate what SQLite raises."""
        return database_errors(self._path)

    @contextmanager
    def writing(self, wait: float, part: str = "") -> Iterator[sqlite3.Connection]:  # noqa: ARG002  (of the port)
        """Lend a connection that may write while this process has the writer's lock."""
        with (
            writer_lock(self._path.parent, wait),
            self.errors(),
            self.borrow(writable=True) as connection,
        ):
            yield connection

    @contextmanager
    def borrow(self, *, writable: bool = False) -> Iterator[sqlite3.Connection]:
        """Lend a connection outside any transaction; what is open at the end is rolled back.

        One that need not be writable can be had where nothing can be written.
        """
        lent = self._take(writable)
        try:
            yield lent.connection
            if lent.connection.in_transaction:
                lent.connection.rollback()
            if lent.unchanged is not None and lent.unchanged != self._state():
                raise Locked(
                    f"{self._path} was changed while it was read.", "Run the command again."
                )
        except BaseException:
            lent.connection.close()  # which rolls back, too
            raise
        self._idle.put(lent)

    def close(self) -> None:
        """Close all connections that are not lent."""
        with suppress(Empty):
            while True:
                self._idle.get_nowait().connection.close()

    def _take(self, writable: bool) -> _Open:
        with suppress(Empty):
            while True:
                idle = self._idle.get_nowait()
                is_the_same = idle.file == self._file_id()  # nobody has replaced the database since
                if idle.unchanged is not None:
                    is_the_same &= not writable and idle.unchanged == self._state()
                if is_the_same:
                    return idle
                idle.connection.close()
        with content_errors():
            try:
                return self._open()
            except (DowseError, sqlite3.Error) as error:
                if writable or isinstance(error, IndexUnusable) or not self._can_be_read(error):
                    raise
                with disk_errors(self._path):
                    state = self._state()
                return _Open(connect(self._path, unchanged=True), self._file_id(), state)

    def _open(self) -> _Open:
        with disk_errors(self._path):
            check_kind(self._path.parent, folder=True)
            check_kind(self._path, folder=False)
            if not self._path.exists():
                make_private_folder(self._path.parent)
                create_private_file(self._path)  # its log and its index take this file's rights
        create(self._path)
        return _Open(connect(self._path), self._file_id())

    def _can_be_read(self, error: Exception) -> bool:
        """Tell whether an error only says that nothing can be written; raise when it is unsafe."""
        is_other = isinstance(error, sqlite3.Error) and error_code(error) not in _CANNOT_WRITE
        if is_other or not self._path.is_file():
            return False
        if self._log_size():
            raise DowseError(
                f"The last changes are still in {self._path}-wal, which cannot be read here,"
                " since nothing can be written.",
                "Free some space, or copy the folder to where it can be written.",
            ) from error
        return True

    def _state(self) -> _State:
        found = self._path.stat()
        return (
            found.st_dev,
            found.st_ino,
            found.st_size,
            found.st_mtime_ns,
            self._log_size(),
        )

    def _log_size(self) -> int:
        try:
            return self._path.with_name(f"{self._path.name}-wal").stat().st_size
        except FileNotFoundError:
            return 0

    def _file_id(self) -> tuple[int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino


def connect(path: Path, *, unchanged: bool = False) -> sqlite3.Connection:
    """Open a connection for one thread at a time, with every pragma that the design relies on.

    A database that nobody changes is read without its log.
    """
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?immutable=1" if unchanged else path,
        uri=unchanged,
        timeout=_PATIENCE,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        # Not mapped: a mapped file that another program truncates kills the process. Reading
        # instead costs less than a millisecond for the chunks of a search.
        connection.execute("PRAGMA mmap_size = 0")
        connection.execute("PRAGMA temp_store = MEMORY")  # a search needs no space on disk
        # A batch is reported once it is committed, so it must survive a power cut from then on.
        connection.execute("PRAGMA synchronous = FULL")
        found = format_of(connection)
        if found not in {str(_OLDER), str(FORMAT)}:
            raise StampMismatch(
                f"The index has format {found or 'unknown'},"
                f" this version of dowse reads format {FORMAT}.",
                "Rebuild it with: dowse index --rebuild",
            )
    except BaseException:
        connection.close()
        raise
    return connection


# ── The format ────────────────────────────────────────────────────────────


def create(path: Path) -> None:
    """Make a new database, whole or not at all, unless there is one."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            with closing(sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)) as new:
                if _is_empty(new):
                    new.execute("PRAGMA journal_mode = WAL")
                    new.execute("BEGIN IMMEDIATE")
                    if _is_empty(new):  # still: another process may have been faster
                        _fill(new)
                    new.execute("COMMIT")
                    sync_folder(path.parent)
        except sqlite3.OperationalError as error:
            if error_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)  # SQLite does not wait by itself while a log is being set up
        else:
            return


def _is_empty(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None


def _fill(connection: sqlite3.Connection) -> None:
    for statement in "".join(map(schema_file, SCHEMA_FILES)).split(";"):
        connection.execute(statement)
    connection.executemany(
        "INSERT INTO meta VALUES (?, ?)",
        [("format", str(FORMAT)), ("index", uuid.uuid4().hex), ("generation", "0")],
    )


def format_of(connection: SqlConnection) -> str | None:
    """Read the version of a database's schema, as it says itself."""
    found = connection.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()
    return None if found is None else str(found[0])


def upgrade(connection: sqlite3.Connection) -> None:
    """Bring a database of the older format to this one, whole or not at all."""
    if format_of(connection) == str(FORMAT):
        return
    connection.create_function("sum_of", 1, sum_of, deterministic=True)
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in schema_file(SCHEMA_FILES[1]).split(";"):
            connection.execute(statement)
        connection.execute("UPDATE embeddings SET checksum = sum_of(vector)")
        keep_document_sums(
            connection, [key for (key,) in connection.execute("SELECT key FROM documents")]
        )
        connection.execute("UPDATE meta SET value = ? WHERE name = 'format'", (str(FORMAT),))
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


# ── Soundness ─────────────────────────────────────────────────────────────


def complaints(connection: sqlite3.Connection) -> Iterator[str]:
    """Say what is wrong with the pages, the indexes and the tables of a database."""
    for (complaint,) in connection.execute("PRAGMA integrity_check(3)"):
        if complaint != "ok":
            yield f"The database is damaged: {complaint}."
    for table, *_ in connection.execute("PRAGMA foreign_key_check"):
        yield f"The table {table} refers to rows that are gone."
    # One of an older format has other tables, which nobody has written down.
    if format_of(connection) == str(FORMAT):
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as sound:
            _fill(sound)
            expected = _schema_of(sound)
        for name, _ in sorted(expected ^ _schema_of(connection))[:1]:
            yield f"The definition of {name} is not as it was written."


def _schema_of(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    """List the tables of a database: name and definition."""
    query = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"
    return {row for row in connection.execute(query) if not row[0].startswith("sqlite_")}


def noted_roots(database: Path) -> list[str]:
    """Read the roots of an index, for a project whose own file is lost; nothing if that fails.

    The replicas are left alone: opening them needs settings, which are lost with the file.
    """
    try:
        if not database.is_file():
            return []
        with closing(sqlite3.connect(database, timeout=5)) as connection:
            row = connection.execute("SELECT value FROM meta WHERE name = ?", (ROOTS,)).fetchone()
            return decoded_roots(row[0] if row else None)
    except (sqlite3.Error, OSError):  # or the folder cannot be entered
        return []
