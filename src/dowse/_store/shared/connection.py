"""PostgreSQL for the statements that SQLite takes: what the dialects disagree on is here.

The tables, the journal and the generations are those of `sql/schema.sql`. A connection has the
methods of `sqlite3.Connection` that the store uses, so that readers and writers need not know which
of the two databases keeps the truth.
"""

from __future__ import annotations

import json
import os
import re
import socket
import time
import uuid
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar

import psycopg
from msgspec import Struct
from psycopg import sql
from psycopg.adapt import Loader
from psycopg.types.numeric import Int8Dumper

from dowse._util.process import command_name

_REACH = 2.0  # seconds for a server to answer at all: a search must not wait longer for a dead one
_ROWS = 2000  # that are fetched at once of a long answer
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
        if not values:
            return self._raw.execute(_translated(query).encode())
        return self._raw.execute(_translated(query).encode(), _bound(query, values))

    def executemany(self, query: str, rows: Iterable[Sequence[object]]) -> None:
        """Run one statement for each of some rows, without waiting for each answer."""
        bound = [_bound(query, row) for row in rows]
        if bound:
            self._raw.cursor().executemany(_translated(query).encode(), bound)

    def script(self, text: str) -> None:
        """Run several statements that take no values."""
        self._raw.execute(text.encode())

    def stream(self, query: str, values: Sequence[object] = ()) -> psycopg.ServerCursor[Any]:
        """Run a statement inside a transaction whose answer is too long to be held at once."""
        cursor = self._raw.cursor(f"rows_{uuid.uuid4().hex}")
        cursor.itersize = _ROWS
        return cursor.execute(_translated(query).encode(), _bound(query, values))

    def copy(self, table: str, rows: Iterable[Sequence[object]]) -> None:
        """Append many rows to a table."""
        statement = sql.SQL("COPY {} FROM STDIN").format(sql.SQL(table))
        with self._raw.cursor().copy(statement) as copy:
            for row in rows:
                copy.write_row(row)

    def rollback(self) -> None:
        """End a transaction that is open, and what it has done."""
        if self.in_transaction:
            self._raw.execute("ROLLBACK")

    def close(self) -> None:
        """Close the connection; the locks that it holds are free again."""
        self._raw.close()

    def is_alive(self) -> bool:
        """Tell whether the server still answers; a dead one has two seconds to do so."""
        try:
            with self.within(_REACH):
                self._raw.execute("SELECT")
        except psycopg.Error:
            return False
        return True

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Limit how long each answer may take."""
        before, self._raw.patience = self._raw.patience, seconds
        try:
            yield
        finally:
            self._raw.patience = before

    def _begin(self, *, writable: bool) -> psycopg.Cursor[Any]:
        if not writable:  # one generation, from the first statement on
            return self._raw.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self._raw.execute("BEGIN")
        # Batches of several writers follow each other: each makes a generation of its own.
        return self._raw.execute("SELECT pg_advisory_xact_lock(%s, 1)", (self.lock_key,))


class _Bounded(psycopg.Connection[Any]):
    """A connection that gives up on a server that does not answer in time."""

    patience = 30.0

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


class _Whole(Loader):
    """Sums of whole numbers are whole numbers, and not decimals."""

    def load(self, data: Any) -> int:
        """Read one."""
        return int(bytes(data))


class _Text(Loader):
    """Texts, with the characters that PostgreSQL cannot hold."""

    def load(self, data: Any) -> str:
        """Read one."""
        return bytes(data).decode().replace(_KEPT_ZERO, _ZERO)


class _Flag(Int8Dumper):
    """Whether something holds is kept as 0 or 1."""

    def dump(self, obj: Any) -> Any:
        """Write one."""
        return super().dump(int(obj))


def _connect(address: Address) -> _Bounded:
    # A writer whose machine is gone holds its lock for half a minute, and no longer.
    alive: dict[str, Any] = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 4}
    raw = _Bounded.connect(
        autocommit=True,
        connect_timeout=int(_REACH),
        application_name=f"{command_name()} ({socket.gethostname()[:20]} {os.getpid()})",
        tcp_user_timeout=30_000,
        **alive,
        **address.parameters,
    )
    raw.patience = address.timeout
    raw.adapters.register_loader("numeric", _Whole)
    raw.adapters.register_loader("text", _Text)
    raw.adapters.register_dumper(bool, _Flag)
    raw.execute(
        "SELECT set_config('search_path', %s, false),"
        " set_config('tcp_keepalives_idle', '10', false),"
        " set_config('tcp_keepalives_interval', '5', false),"
        " set_config('tcp_keepalives_count', '4', false)",
        (f'"{address.schema}", public',),
    )
    return raw


@lru_cache(maxsize=1000)
def _translated(query: str) -> str:
    for sqlite, postgresql in _STATEMENTS:
        query = re.sub(sqlite, postgresql, query)
    return query


@lru_cache(maxsize=1000)
def _lists(query: str) -> frozenset[int]:
    """Return the values of a statement that are lists, by their places."""
    marks = re.findall(r"json_each\(\?\)|\?", query)
    return frozenset(place for place, mark in enumerate(marks) if mark != "?")


def _bound(query: str, values: Sequence[object]) -> list[object]:
    lists = _lists(query)
    bound: list[object] = []
    for place, value in enumerate(values):
        if place in lists:
            bound.append([_kept(str(one)) for one in json.loads(str(value))])
        else:
            bound.append(_kept(value) if isinstance(value, str) else value)
    return bound


def _kept(text: str) -> str:
    return text.replace(_ZERO, _KEPT_ZERO) if _ZERO in text else text
