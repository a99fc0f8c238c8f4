"""Open the SQLite file that holds the truth: connections, format, upgrade, soundness."""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from queue import Empty, LifoQueue
from typing import NamedTuple
from urllib.parse import quote

from dowse._store.failures import (
    check_kind,
    content_errors,
    database_damaged,
    disk_errors,
    error_code,
)
from dowse._store.sql.database import ROOTS, decoded
from dowse._store.sql.sums import keep_document_sums, sum_of
from dowse._util.files import create_private_file, make_private_folder, sync_folder
from dowse.errors import DowseError, IndexUnusable, Locked, StampMismatch

# ── Reading a database where nothing can be written: a read-only folder, or a full disk ───


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


FORMAT = 3
"""The version of the schema."""

_OLDER = (1, 2)  # what can still be read, and is upgraded by the next writer

_ADDED = {2: "schema-2.sql", 3: "schema-3.sql"}  # by the format that added it

_PATIENCE = 30.0  # seconds that a statement waits for another process
_FileId = tuple[int, int]


class _Open(NamedTuple):
    """A connection, and what it was opened for."""

    connection: sqlite3.Connection
    file: _FileId | None
    frozen: State | None = None  # when it is read as one that nobody changes: its state


class Connections:
    """Connections to one database, each lent to one thread at a time and kept for the next."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: LifoQueue[_Open] = LifoQueue()

    @contextmanager
    def borrow(self, *, writable: bool = False) -> Iterator[sqlite3.Connection]:
        """A connection outside any transaction; what is open at the end is rolled back.

        One that need not be writable can be had where nothing can be written.
        """
        lent = self._take(writable)
        try:
            yield lent.connection
            if lent.connection.in_transaction:
                lent.connection.rollback()
            if lent.frozen is not None:
                check_unchanged(self._path, lent.frozen)
        except BaseException:
            lent.connection.close()  # which rolls back, too
            raise
        self._idle.put(lent)

    def close(self) -> None:
        """Closes all connections that are not lent."""
        with suppress(Empty):
            while True:
                self._idle.get_nowait().connection.close()

    def _take(self, writable: bool) -> _Open:
        with suppress(Empty):
            while True:
                idle = self._idle.get_nowait()
                if idle.file == _file_id(self._path) and self._is_usable(idle, writable):
                    return idle
                idle.connection.close()  # somebody has replaced the database since
        with content_errors():
            try:
                return self._open()
            except (DowseError, sqlite3.Error) as error:
                if writable or isinstance(error, IndexUnusable):
                    raise
                if not may_be_read(self._path, error):
                    raise
                return self._open_frozen()

    def _is_usable(self, idle: _Open, writable: bool) -> bool:
        if idle.frozen is None:
            return True
        return not writable and idle.frozen == state_of(self._path)

    def _open(self) -> _Open:
        with disk_errors(self._path):
            check_kind(self._path.parent, folder=True)
            check_kind(self._path, folder=False)
            if not self._path.exists():
                make_private_folder(self._path.parent)
                create_private_file(self._path)  # its log and its index take this file's rights
        create(self._path)
        return _Open(connect(self._path), _file_id(self._path))

    def _open_frozen(self) -> _Open:
        with disk_errors(self._path):
            state = state_of(self._path)
        return _Open(connect(self._path, frozen=True), _file_id(self._path), state)


def connect(path: Path, *, frozen: bool = False) -> sqlite3.Connection:
    """A connection for one thread at a time, with every pragma that the design relies on.

    A frozen database is read without its log, as one that nobody changes.
    """
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?immutable=1" if frozen else path,
        uri=frozen,
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
            sync_folder(path.parent)


def _is_empty(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None


def _fill(connection: sqlite3.Connection) -> None:
    for name in ("schema.sql", *_ADDED.values()):
        _run(connection, name)
    connection.executemany(
        "INSERT INTO meta VALUES (?, ?)",
        [("format", str(FORMAT)), ("index", uuid.uuid4().hex), ("generation", "0")],
    )


def _run(connection: sqlite3.Connection, name: str) -> None:
    from importlib.resources import files  # noqa: PLC0415  only a new database needs it

    for statement in files("dowse._store.sql").joinpath(name).read_text("utf-8").split(";"):
        connection.execute(statement)


def expected_schema() -> set[tuple[str, str]]:
    """What a sound database says about its tables: name and definition."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        _fill(connection)
        return schema_of(connection)


def schema_of(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    """What a database says about its tables."""
    query = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"
    return {row for row in connection.execute(query) if not row[0].startswith("sqlite_")}


def format_of(connection: sqlite3.Connection) -> str | None:
    """The version of a database's schema, as it says itself."""
    found = connection.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()
    return None if found is None else str(found[0])


def upgrade(connection: sqlite3.Connection) -> None:
    """Brings a database of an older format to this one, whole or not at all."""
    found = format_of(connection)
    if found == str(FORMAT):
        return
    connection.create_function("sum_of", 1, sum_of, deterministic=True)
    connection.execute("BEGIN IMMEDIATE")
    try:
        for version, name in _ADDED.items():
            if version > int(found or 0):
                _run(connection, name)
        if found == "1":
            connection.execute("UPDATE embeddings SET checksum = sum_of(vector)")
        keys = [key for (key,) in connection.execute("SELECT key FROM documents")]
        keep_document_sums(connection, keys)
        connection.execute("UPDATE meta SET value = ? WHERE name = 'format'", (str(FORMAT),))
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def _check_format(connection: sqlite3.Connection) -> None:
    """Refuses a database that another version of dowse has written."""
    found = format_of(connection)
    if found not in {str(known) for known in (*_OLDER, FORMAT)}:
        raise StampMismatch(
            f"The index has format {found or 'unknown'},"
            f" this version of dowse reads format {FORMAT}.",
            "Rebuild it with: dowse index --rebuild",
        )


def _file_id(path: Path) -> _FileId | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


# ── Whether a database is sound as SQLite sees it: its pages, its indexes, its tables ───


def check_structure(connection: sqlite3.Connection) -> None:
    """Raises `Damaged` when a database must not be written to any more."""
    for complaint in complaints(connection):
        raise database_damaged(complaint)


def complaints(connection: sqlite3.Connection) -> Iterator[str]:
    """What is wrong with the structure of a database, in sentences."""
    for (complaint,) in connection.execute("PRAGMA integrity_check(3)"):
        if complaint != "ok":
            yield f"The database is damaged: {complaint}."
    for table, *_ in connection.execute("PRAGMA foreign_key_check"):
        yield f"The table {table} refers to rows that are gone."
    # One of an older format has other tables, which nobody has written down.
    if format_of(connection) == str(FORMAT):
        for name, _ in sorted(expected_schema() ^ schema_of(connection))[:1]:
            yield f"The definition of {name} is not as it was written."


# ── Which folders an index was made of, for a project whose own file is lost ───


def noted_roots(database: Path) -> list[str]:
    """What a database knows of the roots of its index; nothing when it cannot be read.

    The replicas are left alone: opening them needs settings, which are lost with the file.
    """
    try:
        if not database.is_file():
            return []
        with closing(sqlite3.connect(database, timeout=5)) as connection:
            row = connection.execute("SELECT value FROM meta WHERE name = ?", (ROOTS,)).fetchone()
            return decoded(row[0] if row else None)
    except (sqlite3.Error, OSError):  # or the folder cannot be entered
        return []
