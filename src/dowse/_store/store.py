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
from dowse._store.files import (
    REPAIR,
    Unwritable,
    check_kind,
    database_errors,
    disk_errors,
    replica_damaged,
    writer_lock,
)
from dowse._store.keyword import KeywordReplica
from dowse._store.replicas import Indexes, OpenVectors, Replica, Replicas
from dowse._store.sql.database import (
    Database,
    Errors,
    SqlConnection,
    Statements,
    communities_sum,
    document_sum,
    is_sound,
    sum_of,
)
from dowse._store.sql.reader import NamedRow, SqlDocumentTable, SqlLinks, name_of
from dowse._store.sql.sqlite import (
    FORMAT,
    Connections,
    complaints,
    format_of,
    upgrade,
)
from dowse._store.sql.writer import SqlWriter
from dowse._store.vectors import VectorReplica
from dowse._util.files import folder_size, sync_folder
from dowse.errors import Damaged, DowseError, IndexUnusable, Locked

_PATIENCE = 5.0  # seconds that a reader waits for a living writer to finish publishing a batch
DATABASE = "index.db"
"""The file of the truth in the folder of an index."""

_FILES = (f"{DATABASE}*", "keyword*", "vectors*")  # all but the lock


REBUILD = "dowse index --rebuild"
"""What builds an index again from the documents."""


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
            check = partial(complaints, connection)
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
                return [Finding(error.message, REBUILD)]
            return []
        findings: list[Finding] = []
        try:
            with self._errors(), self._connections.borrow() as connection:
                findings += [Finding(complaint, REBUILD) for complaint in complaints(connection)]
                is_newest = format_of(connection) == str(FORMAT)
                findings += check_tables(connection, self._errors, is_newest=is_newest)
                if not findings:  # otherwise they have to be built again in any case
                    findings = self._check_replicas(connection)
        except DowseError as error:
            repair = REBUILD if isinstance(error, IndexUnusable) else error.hint
            findings.append(Finding(error.message, repair))
        except _UNREADABLE as error:
            findings.append(_unreadable(error))
        return findings

    def _check_replicas(self, connection: sqlite3.Connection) -> list[Finding]:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                with writer_lock(self._folder, wait=0):
                    return self._compare(connection)
            except DowseError:  # somebody is writing, so a disagreement may be a passing one
                findings = self._compare(connection)
                if not findings or time.monotonic() > deadline:
                    return findings
            time.sleep(0.05)

    def _compare(self, connection: sqlite3.Connection) -> list[Finding]:
        connection.execute("BEGIN")
        try:
            return self._replicas.findings(Database(connection))
        except DowseError as error:
            return [Finding(error.message, REPAIR if error.hint.endswith(REPAIR) else REBUILD)]
        finally:
            connection.rollback()

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
        indexes = elsewhere.open(database) if elsewhere else None
        return indexes or self._replicas.open(database)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


_UNREADABLE = (TypeError, ValueError, KeyError, OverflowError)  # a value is of another kind

# Each counts rows that must not exist, whatever was interrupted.
_HOLES = {
    "chunks outside any section": (
        "SELECT count(*) FROM chunks c WHERE NOT EXISTS"
        " (SELECT 1 FROM sections s WHERE s.document = c.document AND s.id = c.section)"
    ),
    "documents that links cannot name": (
        "SELECT count(*) FROM documents d WHERE NOT EXISTS"
        " (SELECT 1 FROM names n WHERE n.document = d.key)"
    ),
    "documents that no condition can meet": (
        "SELECT count(*) FROM documents d WHERE NOT EXISTS"
        " (SELECT 1 FROM facets f WHERE f.document = d.key AND f.kind = 'path')"
    ),
    "documents whose fields cannot be read": (
        "SELECT count(*) FROM documents WHERE NOT json_valid(fields)"
    ),
    "chunks whose headings cannot be read": (
        "SELECT count(*) FROM chunks WHERE NOT json_valid(header_path)"
    ),
    "sections whose headings cannot be read": (
        "SELECT count(*) FROM sections WHERE NOT json_valid(header_path)"
    ),
    "words counted less than once": "SELECT count(*) FROM terms WHERE count < 1",
}


def check_tables(
    connection: SqlConnection, errors: Errors, *, is_newest: bool = True
) -> Iterator[Finding]:
    """Look at what the tables hold; an older format has fewer, and no checksums."""
    connection.execute("BEGIN")  # so that all questions are about one generation
    try:
        for what, query in _HOLES.items():
            count = connection.execute(query).fetchone()[0]
            if count:
                yield Finding(f"There are {count} {what}.", REBUILD)
        for document_id, body in connection.execute(
            "SELECT id, substr(text, body + 1) FROM documents d"
            " WHERE NOT EXISTS (SELECT 1 FROM chunks c WHERE c.document = d.key)"
        ):
            if body.strip():
                yield Finding(f"{document_id} has text but no chunks.", REBUILD)
        if is_newest:
            for complaint in _wrong_sums(connection):
                yield Finding(complaint, REBUILD)
            _read_everything(Statements(connection, errors))
    except Damaged as error:
        yield Finding(error.message, REBUILD)
    except _UNREADABLE as error:
        yield _unreadable(error)
    finally:
        connection.rollback()


def _unreadable(error: Exception) -> Finding:
    return Finding(f"The database holds what cannot be read: {error}.", REBUILD)


def _read_everything(sql: Statements) -> None:
    """Read every row as a search would; raise `Damaged` when a value is of another kind."""
    catalogue, links = SqlDocumentTable(sql), SqlLinks(sql)
    catalogue.counts()
    catalogue.files()
    for entry in catalogue.documents():
        catalogue.document(entry.id)
    links.all()
    links.communities()
    sql.rows(tuple[str, int], "SELECT term, count FROM terms")
    sql.rows(tuple[int, str], "SELECT document, value FROM facets")
    sql.rows(tuple[int, str], "SELECT chunk, language FROM code_blocks")
    sql.rows(tuple[int, bytes], "SELECT document, text_key FROM chunks")
    sql.rows(tuple[str, bytes], "SELECT model, text_key FROM embeddings")
    sql.made(name_of, NamedRow, "SELECT chunk, kind, path, start, line FROM chunk_names")


def _wrong_sums(connection: SqlConnection) -> Iterator[str]:
    """Say what is not as it was written, although SQLite finds no fault with it."""
    for key, name, checksum in connection.execute("SELECT key, id, checksum FROM documents"):
        if checksum != document_sum(connection, key):
            yield f"{name} is not as it was written."
    rows = connection.execute("SELECT vector, checksum FROM embeddings")
    wrong = sum(not is_sound(vector, checksum) for vector, checksum in rows)
    if wrong:
        yield f"{wrong} vectors are not as they were written."
    meta = dict(connection.execute("SELECT name, value FROM meta").fetchall())
    stamp = str(meta.get("stamp")).encode()
    if "stamp_sum" in meta and str(meta["stamp_sum"]) != str(sum_of(stamp)):
        yield "What the index was built with is not as it was written."
    communities = dict(
        connection.execute(
            "SELECT d.id, c.community FROM communities c JOIN documents d ON d.key = c.document"
        ).fetchall()
    )
    settled = "communities" in meta and "communities" not in str(meta.get("owed"))
    if settled and str(meta["communities"]) != communities_sum(communities):
        yield "The communities are not as they were written."
