"""The store for many machines: PostgreSQL is the truth, the indexes that search are replicas of it.

A batch is one transaction, and so is a reader: it sees one generation, whatever others write. What
SQLite's store does with a lock of one machine is done by advisory locks here, which the server
frees when the connection of a writer is gone.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from dowse._model import ChunkedDocument, Finding
from dowse._model.ports import Analyzer, IndexReader
from dowse._store import checks
from dowse._store.replicas import Indexes, ReplicaManifest
from dowse._store.shared.connection import PostgresConnection
from dowse._store.shared.server import PostgresSchema
from dowse._store.sql.database import Database, Fresh, SqlConnection, Statements
from dowse._store.sql.reader import SqlDocumentTable
from dowse._store.sql.writer import SqlWriter, TableWriter

_JOURNAL = 1000  # generations that a replica may be behind before it is built again


class SearchIndexes(Protocol):
    """The replicas that search for one reader, one machine, or all of them."""

    @property
    def are_shared(self) -> bool:
        """Whether all machines search them, so that a batch must reach them with the database."""
        ...

    def open(self, begin: Callable[[], Database]) -> Indexes:
        """Begin a transaction, and open the replicas at its generation."""
        ...

    def catch_up(self, database: Database, *, repair: bool) -> None:
        """Bring them to the truth's generation."""
        ...

    def expect(self, documents: Iterable[ChunkedDocument]) -> None:
        """Learns how long the chunks of an index that is still empty will be on average."""
        ...

    def rebuild(self, database: Database) -> None:
        """Build them again."""
        ...

    def renew(self, database: Database, *, thorough: bool) -> None:
        """Build those again that changes have worn."""
        ...

    def findings(self, database: Database) -> list[Finding]:
        """Say where they differ from the database."""
        ...

    def discard(self, connection: SqlConnection) -> None:
        """Remove them."""
        ...

    def close(self) -> None:
        """Close what is open."""
        ...


class SharedDatabase(Database):
    """The database as replicas see it, which may be many generations behind."""

    def can_extend(self, manifest: ReplicaManifest | None) -> bool:
        """Tell whether the journal reaches back to the generation of a replica."""
        if manifest is None or manifest.index != self.identity:
            return False
        known = self.connection.execute(
            "SELECT 1 FROM generations WHERE number = ? AND id = ?",
            (manifest.generation, manifest.generation_id),
        )
        return known.fetchone() is not None


class PostgresStore:
    """An index in a schema of a PostgreSQL database."""

    def __init__(
        self,
        server: PostgresSchema,
        indexes: SearchIndexes,
        analyzer: Analyzer,
    ) -> None:
        self._server = server
        self._indexes = indexes
        self._analyzer = analyzer

    @property
    def place(self) -> str:
        """Return where the index is kept, for people."""
        return f"{self._server.address.place}, schema {self._server.address.schema}"

    def roots(self) -> list[str]:
        """Return the folders that the index was made of, as far as it knows."""
        with self._server.borrow() as connection:
            return SqlDocumentTable(Statements(connection, self._server.errors)).roots()

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Keep writers away; raise `Locked` while one works."""
        with self._server.writing(0.0, ""):
            yield

    def bytes(self) -> int:
        """Return how many bytes it takes there."""
        with self._server.borrow() as connection:
            row = connection.execute(
                "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c"
                " WHERE relnamespace = to_regnamespace(quote_ident(?)) AND relkind = 'r'",
                (self._server.address.schema,),
            ).fetchone()
        return int(row[0]) if row else 0

    @contextmanager
    def read(self) -> Iterator[IndexReader]:
        """Open the newest generation."""
        with self._server.borrow() as connection:

            def begin() -> Database:
                connection.rollback()
                connection.execute("BEGIN")
                return SharedDatabase(connection)

            indexes = self._indexes.open(begin)
            yield indexes.reader(Statements(connection, self._server.errors))

    @contextmanager
    def write(self, wait: float = 0.0, part: str = "") -> Iterator[SqlWriter]:
        """Become the writer; raise `Locked` when another still is after `wait` seconds."""
        with self._server.writing(wait, part) as connection:
            self._server.note(False)
            yield _Writing(connection, self._server, self._analyzer, self._indexes, part)

    @contextmanager
    def replace(self, wait: float = 0.0) -> Iterator[SqlWriter]:
        """Become the writer of an index that is written from nothing, in place of this one.

        It is written into a schema of its own. Both change their names in one
        transaction, so that every reader has all of the one or all of the other.
        """
        with self._server.writing(wait, "") as connection:
            self._server.note(False)
            if not SharedDatabase(connection).generation:  # there is nothing to keep
                yield _Writing(connection, self._server, self._analyzer, self._indexes, "")
                return
            name, (following, former) = self._server.address.schema, self._server.neighbours()
            following.drop()  # by a run that was killed
            try:
                with following.writing(0.0, "") as other:
                    yield _Writing(other, following, self._analyzer, self._indexes, "")
            except BaseException:
                following.drop()
                raise
            following.close()
            connection.execute("BEGIN IMMEDIATE")
            connection.script(
                f'ALTER SCHEMA "{name}" RENAME TO "{former.address.schema}";'
                f'ALTER SCHEMA "{following.address.schema}" RENAME TO "{name}"'
            )
            connection.execute("COMMIT")
            if self._indexes.are_shared:
                with former.borrow() as old:
                    self._indexes.discard(old)
            former.drop()
        self.close()

    def check(self) -> list[Finding]:
        """Look at every part; an empty list means that the index is whole."""
        with self._server.borrow() as connection:
            found = list(checks.check_tables(connection, self._server.errors))
            if not found:
                self._indexes.open(lambda: _begun(connection))
                found = self._indexes.findings(SharedDatabase(connection))
            return found

    def repair(self, wait: float = 0.0) -> None:
        """Rebuild the replicas from the database."""
        with self._server.writing(wait, "") as connection:
            self._indexes.rebuild(SharedDatabase(connection))

    def discard(self, wait: float = 0.0) -> None:
        """Remove the index, known vectors included."""
        with self._server.writing(wait, "") as connection:
            self._indexes.discard(connection)
        self._server.drop()

    def close(self) -> None:
        """Close everything that is open; a later call opens it again."""
        self._indexes.close()
        self._server.close()


class _Writing(SqlWriter):
    """The writer of an index, or of one part of it."""

    def __init__(
        self,
        connection: PostgresConnection,
        server: PostgresSchema,
        analyzer: Analyzer,
        indexes: SearchIndexes,
        part: str,
    ) -> None:
        self._indexes = indexes
        # A part leaves the indexes of this machine to the run that finishes them.
        self._follows = indexes.are_shared or not part
        super().__init__(connection, server.errors, analyzer, indexes)
        if self._follows:
            indexes.catch_up(self._seen(), repair=True)

    def expect(self, documents: Iterable[ChunkedDocument]) -> None:
        """Say which documents an index that is still empty will get."""
        self._indexes.expect(documents)

    def _seen(self, fresh: Fresh | None = None) -> Database:
        return SharedDatabase(self._connection, fresh)

    def _begin(self) -> TableWriter:
        self._connection.execute("BEGIN IMMEDIATE")
        generation, generation_id = self.catalogue.generation + 1, uuid.uuid4().hex
        oldest = max(0, generation - _JOURNAL)
        for table, column in (("journal", "generation"), ("generations", "number")):
            self._connection.execute(f"DELETE FROM {table} WHERE {column} < ?", (oldest,))
        self._connection.execute(
            "INSERT INTO generations VALUES (?, ?)", (generation, generation_id)
        )
        self._set_meta("generation", str(generation))
        self._set_meta("generation_id", generation_id)
        return TableWriter(self._connection, self._analyzer, generation)

    def _commit(self, change: TableWriter) -> None:
        if self._indexes.are_shared:  # they must never be behind what a reader sees
            self._indexes.catch_up(self._seen(change.fresh), repair=True)
        self._connection.execute("COMMIT")
        if self._follows and not self._indexes.are_shared:
            self._indexes.catch_up(self._seen(change.fresh), repair=True)


def _begun(connection: PostgresConnection) -> Database:
    connection.rollback()
    connection.execute("BEGIN")
    return SharedDatabase(connection)
