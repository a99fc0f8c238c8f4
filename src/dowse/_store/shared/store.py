"""The store for many machines: PostgreSQL is the truth, the indexes that search are replicas of it.

A batch is one transaction, and so is a reader: it sees one generation, whatever others write. What
SQLite's store does with a lock of one machine is done by advisory locks here, which the server
frees when the connection of a writer is gone.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from dowse._model import Announce, ChunkedDocument, Finding, silent
from dowse._model.ports import Analyzer, IndexReader
from dowse._model.store_options import StoreOptions
from dowse._store.files import writer_lock
from dowse._store.keyword import KeywordReplica
from dowse._store.replicas import Indexes, ReplicaManifest, Replicas
from dowse._store.shared.engine import EngineIndexes, SearchEngine
from dowse._store.shared.pgvector import PgVector
from dowse._store.shared.postgresql import Address, PostgresConnection, PostgresSchema
from dowse._store.sql.database import Database, Fresh, SqlConnection, Statements
from dowse._store.sql.reader import SqlDocumentTable
from dowse._store.sql.writer import SqlWriter, TableWriter
from dowse._store.store import check_tables
from dowse._store.vectors import VectorReplica
from dowse.errors import BadSettings

_PATIENCE = 600.0  # seconds for another process of this machine to take what has changed
_JOURNAL = 1000  # generations that a replica may be behind before it is built again


class LocalIndexes(Replicas):
    """The keyword and vector index in a folder; every reader brings them up to date."""

    are_shared = False

    def __init__(self, folder: Path, analyzer: Analyzer, announce: Announce = silent) -> None:
        super().__init__(folder, KeywordReplica(folder, analyzer), VectorReplica(folder), announce)

    def at(self, begin: Callable[[], Database]) -> Indexes:
        """Begin a transaction, and open the replicas at its generation."""
        with self._opening:
            indexes = self.open(begin()) if self._folder.is_dir() else None
            if indexes is None:
                # Nobody on this machine may come in between with another generation.
                with self._locked():
                    database = begin()
                    super().catch_up(database, repair=True)
                    indexes = self.open(database)
            if indexes is None:
                raise AssertionError("replicas that were brought up to date can be opened")
            return indexes

    def catch_up(self, database: Database, *, repair: bool) -> None:
        """Bring the replicas to the truth's generation."""
        with self._locked():
            super().catch_up(database, repair=repair)

    def rebuild(self, database: Database) -> None:
        """Build both replicas again."""
        with self._locked():
            super().rebuild(database)

    def renew(self, database: Database, *, thorough: bool) -> None:
        """Build those replicas again that deleted chunks have worn."""
        with self._locked():
            super().renew(database, thorough=thorough)

    def expect(self, documents: Iterable[ChunkedDocument]) -> None:
        """Need nothing: terms are weighed when they are searched for."""

    def discard(self, connection: SqlConnection) -> None:  # noqa: ARG002  (the engine's needs it)
        """Remove both replicas."""
        self.close()
        with self._locked():
            for path in [*self._folder.glob("keyword*"), *self._folder.glob("vectors*")]:
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()

    def _locked(self) -> AbstractContextManager[None]:
        return writer_lock(self._folder, _PATIENCE)


SearchIndexes = LocalIndexes | EngineIndexes
"""The replicas of one machine, or those of all. A batch must reach the latter with the database."""


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
            indexes = self._indexes.at(partial(_begin, connection))
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
            name, address = self._server.address.schema, self._server.address
            following, former = (
                PostgresSchema(replace(address, schema=f"{name}_{place}"))
                for place in ("next", "last")
            )
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
            found = list(check_tables(connection, self._server.errors))
            if not found:
                self._indexes.at(partial(_begin, connection))
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


def _begin(connection: PostgresConnection) -> Database:
    connection.rollback()
    connection.execute("BEGIN")
    return SharedDatabase(connection)


# ── What the settings ask for ─────────────────────────────────────────────

_LOCAL = "search"
"""The folder of a project in which the indexes of this machine are."""


def open_store(  # noqa: PLR0917
    options: StoreOptions,
    name: str,
    project: Path,
    analyzer: Analyzer,
    announce: Announce,
    note_down: Callable[[bool], None],
) -> PostgresStore:
    """Open the store of these options; `note_down` hears whether the index is a new one."""
    parameters: dict[str, Any] = {**options.database, "password": _key("token_env", options)}
    if "sslmode" in parameters and not os.environ.get("PGSSLROOTCERT"):
        parameters["sslrootcert"] = "system"
    server = PostgresSchema(Address(options.url, parameters, name, options.timeout), note_down)
    if options.search == "local":
        return PostgresStore(server, LocalIndexes(project / _LOCAL, analyzer, announce), analyzer)
    if options.engine is None:
        return PostgresStore(server, EngineIndexes(options.search, PgVector, analyzer), analyzer)
    # Each loads the client of its engine.
    key = _key("search_token_env", options)
    if options.engine.kind == "milvus":
        from dowse._store.shared.milvus import Milvus  # noqa: PLC0415

        engine: SearchEngine = Milvus(options, key)
    else:
        from dowse._store.shared.qdrant import Qdrant  # noqa: PLC0415

        engine = Qdrant(options, key)
    indexes = EngineIndexes(options.search, lambda _: engine, analyzer, engine.close)
    return PostgresStore(server, indexes, analyzer)


def _key(option: str, options: StoreOptions) -> str:
    variable = str(getattr(options, option))
    if variable and not os.environ.get(variable):
        raise BadSettings(
            f"store.{option} names {variable}, which is not set in the environment.",
            f"Set it: export {variable}=KEY",
        )
    return os.environ[variable] if variable else ""
