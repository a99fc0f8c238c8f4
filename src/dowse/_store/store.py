"""The embedded store: SQLite is the truth, the keyword and vector indexes are replicas of it.

A batch is committed to SQLite first; then each replica takes what the journal says has changed and
notes the generation it has reached. A reader takes a generation only when all three agree on it.
Whatever is interrupted, the next writer lets the replicas catch up, or builds them again.
"""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

from dowse._model import Announce, Event, Finding, silent
from dowse._model.ports import Analyzer, IndexReader
from dowse._store import checks
from dowse._store.files import (
    Unwritable,
    check_kind,
    database_errors,
    disk_errors,
    replica_damaged,
    writer_lock,
)
from dowse._store.keyword import KeywordReplica
from dowse._store.replicas import Indexes, OpenVectors, Replica, Replicas
from dowse._store.sql.database import Database, Statements
from dowse._store.sql.sqlite import Connections, check_structure, upgrade
from dowse._store.sql.writer import SqlWriter
from dowse._store.vectors import VectorReplica
from dowse._util.files import folder_size, sync_folder
from dowse.errors import Damaged, Locked

_PATIENCE = 5.0  # seconds that a reader waits for a writer to finish publishing a batch
DATABASE = "index.db"
"""The file of the truth in the folder of an index."""

_FILES = (f"{DATABASE}*", "keyword*", "vectors*")  # all but the lock


class EmbeddedStore:
    """An index in one folder of this machine."""

    def __init__(
        self,
        folder: Path,
        analyzer: Analyzer,
        announce: Announce = silent,
        vectors: Callable[[Path], Replica[OpenVectors]] = VectorReplica,
    ) -> None:
        self._folder = folder
        self._vectors = vectors
        self._database = folder / DATABASE
        self._errors = partial(database_errors, self._database)
        self._analyzer = analyzer
        self._connections = Connections(self._database)
        self._announce = announce
        self._replicas = self._new_replicas(announce)
        self._building = threading.Lock()
        self._elsewhere: Replicas | None = None  # those that a reader built
        self._remove_elsewhere: Callable[[], object] = lambda: None

    @property
    def place(self) -> str:
        """Where the index is kept, for people."""
        return str(self._folder)

    def bytes(self) -> int:
        """Count the bytes that it takes there."""
        return folder_size(self._folder)

    @contextmanager
    def read(self) -> Iterator[IndexReader]:
        """Open the newest generation; raise `Damaged` when a file of it is not as written."""
        with database_errors(self._database), self._connections.borrow() as connection:
            indexes = self._settle(connection)
            yield indexes.reader(Statements(connection, self._errors))

    @contextmanager
    def write(self, wait: float = 0.0, part: str = "") -> Iterator[SqlWriter]:  # noqa: ARG002
        """Become the writer; raise `Locked` when another still is after `wait` seconds."""
        with (
            writer_lock(self._folder, wait),
            database_errors(self._database),
            self._connections.borrow(writable=True) as connection,
        ):
            upgrade(connection)
            self._replicas.catch_up(Database(connection), repair=True)
            check = partial(check_structure, connection)
            yield SqlWriter(connection, self._errors, self._analyzer, self._replicas, check)

    def replace(self, wait: float = 0.0) -> AbstractContextManager[SqlWriter]:
        """Become the writer; what it writes is there at once."""
        return self.write(wait)

    def check(self) -> list[Finding]:
        """Look at every part; an empty list means that the index is whole."""
        if not self._database.exists() and not self._database.is_symlink():
            try:
                check_kind(self._folder, folder=True)
            except Damaged as error:
                return [Finding(error.message, checks.REBUILD)]
            return []
        return checks.check(self._folder, self._database, self._new_replicas(silent))

    def repair(self, wait: float = 0.0) -> None:
        """Rebuild the replicas from SQLite."""
        with (
            writer_lock(self._folder, wait),
            database_errors(self._database),
            self._connections.borrow(writable=True) as connection,
        ):
            self._replicas.rebuild(Database(connection))

    def discard(self, wait: float = 0.0) -> None:
        """Remove the index, known vectors included: the way out when the truth is damaged."""
        with disk_errors(self._folder):
            if not self._folder.is_dir():  # a file, or a link that leads nowhere
                self._folder.unlink(missing_ok=True)
        with writer_lock(self._folder, wait), disk_errors(self._folder):
            self.close()
            # First the database: without its log it could be half of one.
            _remove(self._database)
            sync_folder(self._folder)
            for path in [path for names in _FILES for path in self._folder.glob(names)]:
                _remove(path)

    def close(self) -> None:
        """Close everything that is open."""
        self._replicas.close()
        self._elsewhere = None
        self._remove_elsewhere()
        self._connections.close()

    def _new_replicas(self, announce: Announce, folder: Path | None = None) -> Replicas:
        """Both replicas, with no file trusted yet."""
        folder = folder or self._folder
        keyword = KeywordReplica(folder, self._analyzer)
        return Replicas(folder, keyword, self._vectors(folder), announce)

    def _settle(self, connection: sqlite3.Connection) -> Indexes:
        """Begin a transaction on a generation that SQLite and both replicas agree on."""
        deadline = time.monotonic() + _PATIENCE
        # Twice, since a batch may be published between two looks at the files.
        indexes = self._look(connection) or self._look(connection)
        while indexes is None:
            try:
                return self._recover(connection)
            except Unwritable as error:
                return self._build_elsewhere(connection, error)
            except Locked:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.01)
            indexes = self._look(connection)
        return indexes

    def _look(self, connection: sqlite3.Connection) -> Indexes | None:
        connection.execute("BEGIN")
        try:
            indexes = self._open(connection)
        except Damaged:
            indexes = None  # or only half published yet: the lock decides
        if indexes is None:
            connection.rollback()
        return indexes

    def _recover(self, connection: sqlite3.Connection) -> Indexes:
        """Do what a writer that died has left undone; raise `Locked` when it is alive."""
        with writer_lock(self._folder, wait=0):
            self._replicas.catch_up(Database(connection), repair=False)
            connection.execute("BEGIN")
            indexes = self._open(connection)
            if indexes is None:
                raise replica_damaged("The keyword or vector index is behind the database.")
            return indexes

    def _build_elsewhere(self, connection: sqlite3.Connection, reason: Unwritable) -> Indexes:
        """Build replicas in a temporary folder, while those of the index cannot be written.

        They are built again by every process that reads. Raises `reason` when there is no room.
        """
        note = f"{reason.message} The keyword and vector indexes are built in a temporary folder."
        self._announce(Event("repair", 0, None, note=note))
        connection.execute("BEGIN")
        database = Database(connection)
        with self._building:
            try:
                self._remove_elsewhere()
                folder = mkdtemp(prefix="dowse-")
                self._remove_elsewhere = weakref.finalize(
                    self, shutil.rmtree, folder, ignore_errors=True
                )
                replicas = self._new_replicas(silent, Path(folder))
                replicas.rebuild(database)
            except (OSError, Unwritable):
                raise reason from None
            indexes = replicas.open(database)
            if indexes is None:
                raise reason
            self._elsewhere = replicas
            return indexes

    def _open(self, connection: sqlite3.Connection) -> Indexes | None:
        database, elsewhere = Database(connection), self._elsewhere
        return (elsewhere and elsewhere.open(database)) or self._replicas.open(database)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
