"""The store for many machines: PostgreSQL is the truth, the indexes that search are replicas of it.

A batch is one transaction, and so is a reader: it sees one generation, whatever others write. What
SQLite's store does with a lock of one machine is done by advisory locks here, which the server
frees when the connection of a writer is gone.

The tables, the journal and the generations are those of `sql/schema.sql`. A connection has the
methods of `sqlite3.Connection` that the store uses, and takes the statements that SQLite takes:
what the dialects disagree on is here.
"""

from __future__ import annotations

import json
import os
import re
import socket
import time
import uuid
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import lru_cache, partial
from pathlib import Path
from queue import Empty, LifoQueue
from typing import Any, TypeVar

import psycopg
from msgspec import Struct
from psycopg import errors, sql
from psycopg.adapt import Loader
from psycopg.types.numeric import IntLoader

from dowse._model import Announce, ChunkKey, Finding, Scores
from dowse._model.ports import Analyzer
from dowse._model.store_options import StoreOptions
from dowse._store.replicas import ReplicaManifest, Replicas
from dowse._store.shared.engine import (
    SPARSE,
    WIDTH,
    EngineIndexes,
    Filter,
    Query,
    Row,
    SearchEngine,
)
from dowse._store.sql.database import SCHEMA_FILES, Database, Fresh, Statements, schema_file
from dowse._store.sql.reader import SqlTables
from dowse._store.sql.sqlite import format_of
from dowse._store.sql.writer import SqlWriter, TableWriter
from dowse._store.store import SqlStore, check_tables, replicas_in
from dowse._util.process import command_name
from dowse.errors import BadSettings, Damaged, DowseError, EngineFailed, Locked, StampMismatch

_REACH = 2.0  # seconds for a server to answer at all: a search must not wait longer for a dead one
_T = TypeVar("_T")

# PostgreSQL's text holds no character 0, which documents may hold. It is kept as a character that
# Unicode promises never to assign, so that every place in a text stays what it is.
_ZERO, _KEPT_ZERO = "\0", "\U0010fffe"

_STATEMENTS = (
    (r"%", "%%"),
    (r"IN \(\)", "IN (NULL)"),
    (r"\bCROSS JOIN embeddings\b", "JOIN embeddings"),
    (r"\binstr\(", "strpos("),
    (r"substr\(text, body \+ 1\)", "substr(text, body::int + 1)"),
    (r"\bINTEGER\b", "BIGINT"),
    (r"\bBLOB\b", "BYTEA"),
    (r"\btemp\.", "pg_temp."),
    (r"group_concat\(([\w.]+), ", r"string_agg(\1::text, "),
    (r"group_concat\(([\w.]+)\)", r"string_agg(\1::text, ',')"),
    (r"char\(10\)", "chr(10)"),
    (r"json_valid\((\w+)\)", r"(\1 IS JSON)"),
    (r"json_extract\((\w+), '\$\.(\w+)'\)", r"(\1::json ->> '\2')"),
    (r"json_each\(\?\)", "unnest(%s::text[]) AS value"),
    (r"CAST\(x'ff' AS TEXT\)", "repeat(chr(1114111), 3)"),
    (r"\?", "%s"),
)


class Address(Struct, frozen=True):
    """Where an index is: a server, and a schema in one of its databases."""

    place: str  # for people, without any secret
    parameters: Mapping[str, Any]  # as libpq calls them; with the password, if there is one
    schema: str
    timeout: float = 30.0  # seconds that one answer may take


class PostgresConnection:
    """A connection for one thread at a time, with the methods of `sqlite3.Connection`."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._raw = _connect(address)
        self.lock_key = lock_key(address.schema)

    @property
    def in_transaction(self) -> bool:
        """Tell whether a transaction is open."""
        return self._raw.info.transaction_status != psycopg.pq.TransactionStatus.IDLE

    def execute(self, query: str, values: Sequence[object] = ()) -> psycopg.Cursor[Any]:
        """Run one statement, written as SQLite takes it."""
        if query.startswith("BEGIN"):
            return self._begin(writable=query.endswith("IMMEDIATE"))
        if query.startswith("PRAGMA"):
            return self._raw.execute("SELECT WHERE FALSE")
        statement, lists = _translated(query)
        return self._raw.execute(statement, _bound(lists, values) if values else None)

    def executemany(self, query: str, rows: Iterable[Sequence[object]]) -> None:
        """Run one statement for each of some rows, without waiting for each answer."""
        statement, lists = _translated(query)
        if bound := [_bound(lists, row) for row in rows]:
            self._raw.cursor().executemany(statement, bound)

    def script(self, text: str) -> None:
        """Run several statements that take no values."""
        self._raw.execute(text.encode())

    def copy(self, table: str, rows: Iterable[Sequence[object]]) -> None:
        """Append many rows to a table."""
        with self._raw.cursor().copy(sql.SQL("COPY {} FROM STDIN").format(sql.SQL(table))) as copy:
            for row in rows:
                copy.write_row(row)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write in a transaction, or in the one that is open."""
        with self._raw.transaction():
            self._raw.execute("SELECT pg_advisory_xact_lock(%s, 1)", (self.lock_key,))
            yield

    def rollback(self) -> None:
        """End a transaction that is open, and what it has done."""
        if self.in_transaction:
            self._raw.execute("ROLLBACK")

    def close(self) -> None:
        """Close the connection; the locks that it holds are free again."""
        self._raw.close()

    def is_alive(self) -> bool:
        """Tell whether the server still answers; a dead one has two seconds to do so."""
        patience, self._raw.patience = self._raw.patience, _REACH
        try:
            self._raw.execute("SELECT")
        except psycopg.Error:
            return False
        self._raw.patience = patience
        return True

    def _begin(self, *, writable: bool) -> psycopg.Cursor[Any]:
        if not writable:  # one generation, from the first statement on
            return self._raw.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self._raw.execute("BEGIN")
        # Batches of several writers follow each other: each makes a generation of its own.
        return self._raw.execute("SELECT pg_advisory_xact_lock(%s, 1)", (self.lock_key,))


class _Bounded(psycopg.Connection[Any]):
    """A connection that gives up on a server that does not answer in time."""

    patience = _REACH  # until it is ready

    def wait(self, gen: Generator[Any, Any, _T], *how: Any, **named: Any) -> _T:
        """Wait for one answer; raise `OperationalError` when it takes too long."""
        return super().wait(self._in_time(gen), *how, **named)

    def _in_time(self, gen: Generator[Any, Any, _T]) -> Generator[Any, Any, _T]:
        deadline = time.monotonic() + self.patience
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > deadline:
                    self.pgconn.finish()
                    raise psycopg.OperationalError("timeout expired")
                wanted = gen.send(ready)
        except StopIteration as end:
            found: _T = end.value
            return found


def lock_key(name: str) -> int:
    """Return the number of the lock of a name."""
    return zlib.crc32(name.encode()) - 2**31


class _Text(Loader):
    """Texts, with the characters that PostgreSQL cannot hold."""

    def load(self, data: Any) -> str:
        """Read one."""
        return bytes(data).decode().replace(_KEPT_ZERO, _ZERO)


def _connect(address: Address) -> _Bounded:
    # A writer whose machine is gone holds its lock for half a minute, and no longer.
    raw = _Bounded.connect(
        autocommit=True,
        connect_timeout=int(_REACH),
        application_name=f"{command_name()} ({socket.gethostname()[:20]} {os.getpid()})",
        tcp_user_timeout=30_000,
        keepalives_idle=10,
        keepalives_interval=5,
        keepalives_count=4,
        **address.parameters,
    )
    raw.adapters.register_loader("numeric", IntLoader)  # sums of whole numbers are whole
    raw.adapters.register_loader("text", _Text)
    raw.execute(
        "SELECT set_config('search_path', %s, false),"
        " set_config('tcp_keepalives_idle', '10', false),"
        " set_config('tcp_keepalives_interval', '5', false),"
        " set_config('tcp_keepalives_count', '4', false)",
        (f'"{address.schema}", public',),
    )
    raw.patience = address.timeout
    return raw


@lru_cache(maxsize=1000)
def _translated(query: str) -> tuple[bytes, frozenset[int]]:
    """Return a statement as PostgreSQL takes it, and the places of those values that are lists."""
    lists = frozenset(
        place for place, mark in enumerate(re.findall(r"json_each\(\?\)|\?", query)) if mark != "?"
    )
    for sqlite, postgresql in _STATEMENTS:
        query = re.sub(sqlite, postgresql, query)
    return query.encode(), lists


def _bound(lists: frozenset[int], values: Sequence[object]) -> list[object]:
    return [
        [_kept(str(one)) for one in json.loads(str(value))] if place in lists else _kept(value)
        for place, value in enumerate(values)
    ]


def _kept(value: object) -> object:
    return value.replace(_ZERO, _KEPT_ZERO) if isinstance(value, str) else value


_FRESH = 1.0  # seconds after which an idle connection is asked whether its server still lives
_HOLDER = re.compile(r"(.*) \((\S*) (\d+)\)")  # as a connection names itself

FORMAT = "2"
"""The version of the tables in PostgreSQL."""

# A text in an index of the ordered kind may have 2,700 bytes there; values of fields, names of
# links and headings may have more, and are only compared for equality.
_SCHEMA = (
    (r"INTEGER PRIMARY KEY AUTOINCREMENT", "BIGINT PRIMARY KEY"),
    (r"key( +)INTEGER PRIMARY KEY", r"key\1BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"),
    (r"\bINTEGER\b", "BIGINT"),
    (r"\bTEXT\b", 'TEXT COLLATE "C"'),  # ordered by code points, as SQLite does
    (r"\bBLOB\b", "BYTEA"),
    (r"\bREAL\b", "DOUBLE PRECISION"),
    (r"WITHOUT ROWID", ""),
    (r"ON (names|link_names)\(name\)", r"ON \1 USING hash (name)"),
    (r"ON chunk_names\(folded\)", "ON chunk_names USING hash (folded)"),
    (r"ON facets\(kind, value, document\)", "ON facets USING hash (value)"),
)
# What only PostgreSQL has: the order of rows that have no key, the last key that was given to a
# chunk, the ids of generations that the journal leads on from, and the shared search indexes.
_OWN_TABLES = """
ALTER TABLE code_blocks ADD COLUMN rowid BIGINT GENERATED ALWAYS AS IDENTITY;
ALTER TABLE facets ADD COLUMN rowid BIGINT GENERATED ALWAYS AS IDENTITY;
ALTER TABLE names ADD COLUMN rowid BIGINT GENERATED ALWAYS AS IDENTITY;
ALTER TABLE chunk_names ADD COLUMN rowid BIGINT GENERATED ALWAYS AS IDENTITY;
CREATE INDEX facets_kind ON facets(kind, document);
CREATE SEQUENCE chunk_keys MINVALUE 0 START 0;
CREATE VIEW sqlite_sequence AS SELECT 'chunks' AS name, last_value AS seq FROM chunk_keys;
CREATE FUNCTION note_keys() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
  PERFORM setval(quote_ident(TG_TABLE_SCHEMA) || ''.chunk_keys'', max(key)) FROM fresh
    HAVING count(*) > 0;
  RETURN NULL; END';
CREATE TRIGGER note_keys AFTER INSERT ON chunks REFERENCING NEW TABLE AS fresh
  FOR EACH STATEMENT EXECUTE FUNCTION note_keys();
CREATE TABLE generations (number BIGINT PRIMARY KEY, id TEXT NOT NULL);
CREATE TABLE search_index (
  place      TEXT COLLATE "C" PRIMARY KEY,  -- of the engine
  name       TEXT NOT NULL,     -- of what it holds there
  identity   TEXT NOT NULL,     -- of the index and the model that it was made of
  generation BIGINT NOT NULL,   -- the last one that it has taken
  chunks     BIGINT NOT NULL,   -- that it has taken since it was built
  gone       BIGINT NOT NULL,   -- of these
  body       DOUBLE PRECISION NOT NULL,  -- average lengths that its weights were made with
  code       DOUBLE PRECISION NOT NULL,
  body_terms BIGINT NOT NULL,   -- the lengths of these chunks together
  code_terms BIGINT NOT NULL
);
CREATE TABLE search_terms (
  place  TEXT COLLATE "C" NOT NULL,
  field  TEXT COLLATE "C" NOT NULL,
  term   BIGINT NOT NULL,
  chunks BIGINT NOT NULL,
  PRIMARY KEY (place, field, term)
);
CREATE TABLE search_gone (
  place TEXT COLLATE "C" NOT NULL,
  name  TEXT COLLATE "C" NOT NULL,
  chunk BIGINT NOT NULL,   -- 0: all that has this name
  since TIMESTAMPTZ NOT NULL DEFAULT now(),
  PRIMARY KEY (place, name, chunk)
);
"""


class PostgresSchema:
    """Connections to one index, each lent to one thread at a time and kept for the next."""

    def __init__(self, address: Address, note: Callable[[bool], None] = lambda _: None) -> None:
        self.address = address
        self.note = note  # says in the project's folder where its index is, and if it made it
        self._idle: LifoQueue[tuple[PostgresConnection, float]] = LifoQueue()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Translate what PostgreSQL raises."""
        try:
            yield
        except psycopg.Error as error:
            raise _explained(self.address.place, error) from error

    @contextmanager
    def borrow(self) -> Iterator[PostgresConnection]:
        """Return a connection outside any transaction; what is open at the end is rolled back."""
        with self.errors():
            lent = self._take()
            try:
                yield lent
                lent.rollback()
            except BaseException:
                lent.close()
                raise
            self._idle.put((lent, time.monotonic()))

    @contextmanager
    def writing(self, wait: float, part: str = "") -> Iterator[PostgresConnection]:
        """Return a connection that holds the lock of the index, or of one part of it.

        The lock is the connection's: who has lost the one has lost the other, and writes no more.
        """
        with self.borrow() as connection:
            _lock(connection, wait, part)
            try:
                yield connection
            finally:
                with suppress(psycopg.Error):  # then the server has let go of them already
                    connection.rollback()
                    connection.execute("SELECT pg_advisory_unlock_all()")

    def close(self) -> None:
        """Close all connections that are not lent."""
        with suppress(Empty):
            while True:
                self._idle.get_nowait()[0].close()

    def drop(self) -> None:
        """Remove the index with all of its tables, whatever version they are of."""
        self.close()
        with self.errors(), closing(PostgresConnection(self.address)) as connection:
            connection.execute(f'DROP SCHEMA IF EXISTS "{self.address.schema}" CASCADE')

    def _take(self) -> PostgresConnection:
        began = time.monotonic()
        with suppress(Empty):
            while True:
                idle, since = self._idle.get_nowait()
                # What was used a moment ago is not asked again whether it lives.
                if time.monotonic() - since < _FRESH or idle.is_alive():
                    return idle
                idle.close()
                if time.monotonic() - began >= _REACH:  # the others would be as silent
                    self.close()
                    raise psycopg.OperationalError("timeout expired")
        connection = PostgresConnection(self.address)
        try:
            if _prepare(connection):
                self.note(True)
        except BaseException:
            connection.close()
            raise
        return connection


def _prepare(connection: PostgresConnection) -> bool:
    """Make the tables unless they are there; refuse those of another version."""
    is_new, found = False, _format(connection)
    if found is None:
        connection.execute("BEGIN IMMEDIATE")
        found = _format(connection)  # another process may have been faster
        if found is None:
            _create(connection)
            is_new, found = True, FORMAT
        connection.execute("COMMIT")
    if found != FORMAT:
        raise StampMismatch(
            f"The index has format {found}, this version of dowse reads format {FORMAT}.",
            "Rebuild it with: dowse index --rebuild",
        )
    return is_new


def _format(connection: PostgresConnection) -> str | None:
    known = connection.execute(
        "SELECT 1 FROM pg_tables WHERE schemaname = ? AND tablename = 'meta'",
        (connection.address.schema,),
    ).fetchone()
    return (format_of(connection) or "unknown") if known else None


def _create(connection: PostgresConnection) -> None:
    connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{connection.address.schema}"')
    for name in SCHEMA_FILES:
        text = schema_file(name)
        for sqlite, postgresql in _SCHEMA:
            text = re.sub(sqlite, postgresql, text)
        connection.script(text)
    connection.script(_OWN_TABLES)
    connection.executemany(
        "INSERT INTO meta VALUES (?, ?)",
        [("format", FORMAT), ("index", uuid.uuid4().hex), ("generation", "0")],
    )


def _lock(connection: PostgresConnection, wait: float, part: str) -> None:
    """Wait for the lock of a part, or of all; writers of different parts work at once."""
    whole, mine = connection.lock_key, lock_key(f"{connection.address.schema}/{part}")
    tries = (
        "SELECT pg_try_advisory_lock_shared(?, 0) AND pg_try_advisory_lock(?, 2)"
        if part
        else "SELECT pg_try_advisory_lock(?, 0)"
    )
    deadline = time.monotonic() + max(0.0, wait)
    while True:
        row = connection.execute(tries, (whole, mine) if part else (whole,)).fetchone()
        if row and row[0]:
            return
        connection.execute("SELECT pg_advisory_unlock_all()")
        if time.monotonic() > deadline:
            raise Locked(
                f"The index is being written by {_holder(connection, whole, mine)}.",
                "Wait for it to end, or stop it; dowse index --wait SECONDS waits longer.",
            )
        time.sleep(0.05)


def _holder(connection: PostgresConnection, *keys: int) -> str:
    # Locks of two numbers are listed with both, as numbers without a sign.
    for name, since in connection.execute(
        "SELECT a.application_name, to_char(a.backend_start, 'YYYY-MM-DD HH24:MI:SS')"
        " FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE l.locktype = 'advisory'"
        " AND l.granted AND l.objid IN (0, 2) AND l.pid != pg_backend_pid()"
        " AND l.classid::bigint IN (SELECT CAST(value AS INTEGER) FROM json_each(?))",
        (str([key % 2**32 for key in keys]),),
    ):
        if found := _HOLDER.fullmatch(name or ""):
            command, host, process = found.groups()
            return f"process {process} on {host} ({command}, since {since})"
    return "another process"


def _explained(place: str, error: psycopg.Error) -> DowseError:
    """Return what to say about an error of PostgreSQL."""
    state, said = error.sqlstate or "", " ".join(str(error).split())
    what = f"The database at {place}"
    if isinstance(error, errors.DeadlockDetected | errors.LockNotAvailable):
        return Locked(f"{what} is in use by another program.", "Wait for it to end, or stop it.")
    if isinstance(error, errors.DataError | errors.UndefinedTable | errors.UndefinedColumn):
        return Damaged(f"{what} cannot be used: {said}.", "Look at it with: dowse doctor")
    for states, words, reason, hint in _REASONS:
        if state.startswith(states) or (not state and re.search(words, said.lower())):
            return EngineFailed(f"{what} {reason}.", hint)
    return EngineFailed(f"{what} failed: {said[:300]}", "Look at the log of the database.")


_AGAIN = "Nothing is half done: run the command again once the database is well."
_REASONS = (
    (
        ("28",),
        r"authentication|password|no pg_hba",
        "refused the user or the password",
        "store.url names the user, and store.token_env the variable that holds the password.",
    ),
    (
        ("3D",),
        r"database .* does not exist",
        "does not exist",
        "Create it, or name another one in store.url.",
    ),
    (("42501",), r"permission denied", "refused the user a right", "Let the user create a schema."),
    (("25006",), r"read-only", "takes no writes", f"Let it take writes again. {_AGAIN}"),
    (("53",), r"no space|too many", "has no room left", f"Give it more room. {_AGAIN}"),
    (
        ("57014",),
        r"timeout|timed out",
        "did not answer in time",
        f"Raise store.timeout, or look at its load. {_AGAIN}",
    ),
    (("08", "57"), r"", "cannot be reached", f"Is it running, and is store.url right? {_AGAIN}"),
)


# ── The store ─────────────────────────────────────────────────────────────

_JOURNAL = 1000  # generations that a replica may be behind before it is built again


class SharedDatabase(Database):
    """The database as replicas see it, which may be many generations behind."""

    def can_extend(self, manifest: ReplicaManifest | None) -> bool:
        """Tell whether the journal reaches back to the generation of a replica."""
        if manifest is None or manifest.index != self.identity:
            return False
        return bool(
            self.connection.execute(
                "SELECT 1 FROM generations WHERE number = ? AND id = ?",
                (manifest.generation, manifest.generation_id),
            ).fetchone()
        )


class PostgresStore(SqlStore):
    """An index in a schema of a PostgreSQL database."""

    database = SharedDatabase
    _server: PostgresSchema

    @property
    def place(self) -> str:
        """Return where the index is kept, for people."""
        return f"{self._server.address.place}, schema {self._server.address.schema}"

    def roots(self) -> list[str]:
        """Return the folders that the index was made of, as far as it knows."""
        with self._server.borrow() as connection:
            return SqlTables(Statements(connection, self._server.errors)).roots()

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Keep writers away; raise `Locked` while one works."""
        with self._server.writing(0.0):
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
    def write(self, wait: float = 0.0, part: str = "") -> Iterator[SqlWriter]:
        """Become the writer; raise `Locked` when another still is after `wait` seconds."""
        with self._server.writing(wait, part) as connection:
            self._server.note(False)
            yield _Writing(connection, self._server, self._analyzer, self._indexes, part)

    @contextmanager
    def replace(self, wait: float = 0.0) -> Iterator[SqlWriter]:
        """Become the writer of an index that is written from nothing, in place of this one.

        All its batches are one transaction, so every reader has all of the one or of the other.
        """
        with self._server.writing(wait) as connection:
            self._server.note(False)
            writing = _Writing(connection, self._server, self._analyzer, self._indexes)
            connection.execute("BEGIN IMMEDIATE")
            writing.is_whole = False
            yield writing
            if self._indexes.are_shared:
                self._indexes.renew(SharedDatabase(connection), thorough=False)
            writing.publish()

    def check(self) -> list[Finding]:
        """Look at every part; an empty list means that the index is whole."""
        with self._server.borrow() as connection:
            found = list(check_tables(connection, self._server.errors))
            if not found:
                self._indexes.at(partial(self._begin, connection))
                found = self._indexes.findings(SharedDatabase(connection))
            return found

    def discard(self, wait: float = 0.0) -> None:
        """Remove the index, known vectors included."""
        with suppress(StampMismatch), self._server.writing(wait) as connection:
            self._indexes.discard(connection)
        self._server.drop()


class _Writing(SqlWriter):
    """The writer of an index, or of one part of it."""

    database = SharedDatabase

    def __init__(
        self,
        connection: PostgresConnection,
        server: PostgresSchema,
        analyzer: Analyzer,
        indexes: Replicas | EngineIndexes,
        part: str = "",
    ) -> None:
        self._indexes = indexes
        # A part leaves the indexes of this machine to the run that finishes them.
        self._follows = indexes.are_shared or not part
        self.is_whole = True  # whether the transaction of a batch is its own
        super().__init__(connection, server.errors, analyzer, indexes)
        if self._follows:
            indexes.catch_up(SharedDatabase(connection), repair=True)

    def publish(self, fresh: Fresh | None = None) -> None:
        """Let readers see what was written, and this machine's indexes follow."""
        self._connection.execute("COMMIT")
        if self._follows and not self._indexes.are_shared:
            self._indexes.catch_up(SharedDatabase(self._connection, fresh), repair=True)

    def _begin(self) -> TableWriter:
        if self.is_whole:
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
            self._set_pending(self.pending() | {"tidy"})  # also to ready them for searches
            self._indexes.catch_up(SharedDatabase(self._connection, change.fresh), repair=True)
        if self.is_whole:
            self.publish(change.fresh)


# ── Search by PostgreSQL itself ───────────────────────────────────────────

_EXTENSION = 1  # the number of the lock of those who make the extension
_INDEXED = 20_000  # vectors from which on a graph is worth its memory; fewer are all compared
_LONGEST = 4000  # dimensions that a graph of half floats can have


class PgVector:
    """Rows in tables of the schema that holds the truth: they change in one transaction with it."""

    most = 1_000_000

    def __init__(self, connection: PostgresConnection) -> None:
        self._connection = connection

    def create(self, name: str, dimensions: int) -> None:
        """Make the tables of an index."""
        known = self._connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'")
        if known.fetchone() is None:  # two indexes of one database may be made at once
            self._connection.script(
                f"SELECT pg_advisory_xact_lock({_EXTENSION}, 3);"
                "CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public"
            )
        self._connection.script(
            f"CREATE TABLE {name} (chunk BIGINT PRIMARY KEY, vector halfvec({max(1, dimensions)}),"
            " facets BIGINT[] NOT NULL);"
            f"CREATE INDEX ON {name} USING gin (facets);"
            f"CREATE TABLE {name}_terms (field SMALLINT NOT NULL, term BIGINT NOT NULL,"
            " chunk BIGINT NOT NULL, weight REAL NOT NULL);"
            f"CREATE INDEX ON {name}_terms (field, term) INCLUDE (chunk, weight);"
            f"CREATE INDEX ON {name}_terms (chunk)"
        )

    def put(self, name: str, rows: Sequence[Row]) -> None:
        """Write rows."""
        self.remove(name, [row.key for row in rows])
        self._connection.copy(
            f"{name} (chunk, vector, facets)",
            (
                (
                    row.key,
                    row.vector if row.vector is None else str(row.vector.tolist()),
                    row.facets,
                )
                for row in rows
            ),
        )
        self._connection.copy(
            f"{name}_terms (field, term, chunk, weight)",
            (
                (field, term, row.key, weight)
                for row in rows
                for field, weights in enumerate((row.body, row.code))
                for term, weight in weights.items()
            ),
        )

    def remove(self, name: str, keys: Sequence[ChunkKey]) -> None:
        """Remove rows, as far as there are any."""
        for table in (name, f"{name}_terms"):
            self._connection.execute(f"DELETE FROM {table} WHERE chunk = ANY(?)", (list(keys),))

    def settle(self, name: str, chunks: int) -> None:
        """Build the graph once there are many vectors, and tell the planner what there is."""
        row = self._connection.execute(
            "SELECT atttypmod FROM pg_attribute"
            " WHERE attname = 'vector' AND attrelid = ?::regclass",
            (name,),
        ).fetchone()
        if chunks >= _INDEXED and row and row[0] <= _LONGEST:
            self._connection.script(
                "SET LOCAL maintenance_work_mem = '512MB';"
                f"CREATE INDEX IF NOT EXISTS {name}_near ON {name}"
                " USING hnsw (vector halfvec_ip_ops)"
            )
        self._connection.script(f"ANALYZE {name}; ANALYZE {name}_terms")

    def keys(self, name: str) -> set[ChunkKey]:
        """Return all rows."""
        return {key for (key,) in self._connection.execute(f"SELECT chunk FROM {name}")}

    def search(self, name: str, using: str, query: Query, limit: int, within: Filter) -> Scores:
        """Find the rows whose vectors have the highest inner products, best first."""
        where, values = _where(within)
        if isinstance(query, Mapping):
            among = f"AND chunk IN (SELECT chunk FROM {name} WHERE {where})" if where else ""
            return list(
                self._connection.execute(
                    "SELECT chunk, sum(t.weight * q.weight) AS score FROM"
                    " unnest(?::bigint[], ?::double precision[]) AS q(term, weight)"
                    f" JOIN {name}_terms t ON t.field = ? AND t.term = q.term {among}"
                    " GROUP BY chunk ORDER BY score DESC, chunk LIMIT ?",
                    (list(query), list(query.values()), SPARSE.index(using), *values, limit),
                )
            )
        self._connection.script(
            f"SET LOCAL hnsw.ef_search = {min(1000, max(WIDTH, limit))};"
            "SET LOCAL hnsw.iterative_scan = strict_order"
        )
        vector, among = str(query.tolist()), f"AND {where}" if where else ""
        return list(
            self._connection.execute(
                f"SELECT chunk, -(vector <#> ?::halfvec) FROM {name}"
                f" WHERE vector IS NOT NULL {among} ORDER BY vector <#> ?::halfvec LIMIT ?",
                (vector, *values, vector, limit),
            )
        )

    def names(self, prefix: str) -> list[str]:
        """Return the tables whose names begin so."""
        return [
            name
            for (name,) in self._connection.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = ? AND starts_with(tablename, ?)"
                " AND tablename NOT LIKE '%\\_terms'",
                (self._connection.address.schema, prefix),
            )
        ]

    def drop(self, name: str) -> None:
        """Remove the tables of an index."""
        self._connection.script(f"DROP TABLE IF EXISTS {name}, {name}_terms")

    def close(self) -> None:
        """Need nothing: the connection is that of the truth."""


def _where(within: Filter) -> tuple[str, list[list[int]]]:
    parts = ["chunk = ANY(?)"] * (within.keys is not None) + ["facets && ?::bigint[]"] * len(
        within.having
    )
    values = [] if within.keys is None else [list(within.keys)]
    values += map(list, within.having)
    if within.without:
        parts.append("NOT facets && ?::bigint[]")
        values.append(list(within.without))
    return " AND ".join(parts), values


# ── What the settings ask for ─────────────────────────────────────────────


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
        # The indexes of this machine are in the folder of the project.
        return PostgresStore(
            server, replicas_in(project / "search", analyzer, announce, follow=True), analyzer
        )
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
    return PostgresStore(
        server, EngineIndexes(options.search, lambda _: engine, analyzer, engine.close), analyzer
    )


def _key(option: str, options: StoreOptions) -> str:
    variable = str(getattr(options, option))
    if variable and not os.environ.get(variable):
        raise BadSettings(
            f"store.{option} names {variable}, which is not set in the environment.",
            f"Set it: export {variable}=KEY",
        )
    return os.environ[variable] if variable else ""
