"""The embedded store: SQLite is the truth, the keyword and vector indexes are replicas of it.

A batch is committed to SQLite first; then each replica takes what the journal says has changed and
notes the generation it has reached. A reader takes a generation only when all three agree on it.
Whatever is interrupted, the next writer lets the replicas catch up, or builds them anew.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from queue import Empty, LifoQueue

from dowse.errors import Damaged, Locked
from dowse.ports import Analyzer
from dowse.store.embedded import checks
from dowse.store.embedded.database import check_format, connect, create, translated
from dowse.store.embedded.lock import writer_lock
from dowse.store.embedded.reading import SqliteReading
from dowse.store.embedded.replicas import Indexes, Replicas
from dowse.store.embedded.writing import SqliteWriting
from dowse.types import Announce, Finding, silent

_REPAIR = "Repair it with: dowse doctor --repair"
_PATIENCE = 5.0  # seconds that a reader waits for a writer to finish publishing a batch


class EmbeddedStore:
    """An index in one folder of this machine."""

    def __init__(self, folder: Path, analyzer: Analyzer, announce: Announce = silent) -> None:
        self._folder = folder
        self._database = folder / "index.db"
        self._analyzer = analyzer
        self._replicas = Replicas(folder, analyzer, announce)
        self._idle: LifoQueue[sqlite3.Connection] = LifoQueue()
        self._opening = threading.Lock()
        self._opened: tuple[str, Indexes] | None = None  # with the generation it is of

    @contextmanager
    def read(self) -> Iterator[SqliteReading]:
        """Opens the newest generation; raises `Damaged` when a file of it is not as written."""
        with translated(self._database), self._connection() as connection:
            indexes = self._settle(connection)
            try:
                yield SqliteReading(connection, *indexes)
            finally:
                connection.execute("ROLLBACK")

    @contextmanager
    def write(self, wait: float = 0.0) -> Iterator[SqliteWriting]:
        """Becomes the writer; raises `Locked` when another still is after `wait` seconds."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with (
            writer_lock(self._folder, wait),
            translated(self._database),
            self._connection() as connection,
        ):
            catch_up = partial(self._replicas.catch_up, connection, mend=True)
            yield SqliteWriting(connection, self._analyzer, catch_up)

    def check(self) -> list[Finding]:
        """Looks at every part; an empty list means that the index is whole."""
        if not self._database.exists():
            return []
        return checks.check(self._database, self._replicas)

    def repair(self) -> None:
        """Rebuilds the replicas from SQLite."""
        with (
            writer_lock(self._folder, wait=0),
            translated(self._database),
            self._connection() as connection,
        ):
            self._replicas.rebuild(connection)

    def close(self) -> None:
        """Lets go of everything that is open."""
        self._opened = None
        with suppress(Empty):
            while True:
                self._idle.get_nowait().close()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = self._idle.get_nowait()
        except Empty:
            create(self._database)
            connection = connect(self._database)
            check_format(connection)
        try:
            yield connection
        finally:
            self._idle.put(connection)

    def _settle(self, connection: sqlite3.Connection) -> Indexes:
        """Begins a transaction on a generation that SQLite and both replicas agree on."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            connection.execute("BEGIN")
            try:
                opened = self._open(connection)
                if opened is not None:
                    return opened
            except Damaged:
                pass  # or only half written yet: the lock tells
            connection.execute("ROLLBACK")
            self._recover(connection, deadline)

    def _open(self, connection: sqlite3.Connection) -> Indexes | None:
        row = connection.execute("SELECT value FROM meta WHERE name = 'generation'").fetchone()
        with self._opening:
            if self._opened is None or self._opened[0] != row[0]:
                indexes = self._replicas.open(connection)
                if indexes is None:
                    return None
                self._opened = (row[0], indexes)
            return self._opened[1]

    def _recover(self, connection: sqlite3.Connection, deadline: float) -> None:
        """Does what a writer that died has left undone; a living one is waited for."""
        try:
            with writer_lock(self._folder, wait=0):
                self._replicas.catch_up(connection, mend=False)
        except Damaged as damage:
            raise Damaged(damage.message, _REPAIR) from damage
        except Locked:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
