"""Connections are shared out, taken back clean, and the database is made only once."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from documents import PlainAnalyzer
from dowse._model import Counts
from dowse._store.sql.sqlite import Connections, create
from dowse._store.store import EmbeddedStore


@pytest.fixture
def connections(tmp_path: Path) -> Iterator[Connections]:
    connections = Connections(tmp_path / "deep" / "index.db")
    yield connections
    connections.close()


def test_a_connection_is_kept_for_the_next(connections: Connections) -> None:
    with connections.borrow() as first, connections.borrow() as second:
        assert second is not first
    with connections.borrow() as third:
        assert third is first


def test_what_is_open_is_rolled_back(connections: Connections) -> None:
    with connections.borrow() as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO meta VALUES ('x', 'y')")
    with connections.borrow() as again:
        assert again is connection
        assert not again.in_transaction
        assert again.execute("SELECT * FROM meta WHERE name = 'x'").fetchone() is None


def test_a_connection_that_saw_a_failure_is_not_used_again(connections: Connections) -> None:
    def fail() -> sqlite3.Connection:
        with connections.borrow() as connection:
            connection.execute("BEGIN IMMEDIATE")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    with connections.borrow() as connection:
        connection.execute("BEGIN IMMEDIATE")


def test_the_database_is_as_the_design_relies_on(connections: Connections) -> None:
    with connections.borrow() as connection:
        pragmas = {
            name: connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "foreign_keys", "synchronous")
        }
    assert pragmas == {"journal_mode": "wal", "foreign_keys": 1, "synchronous": 2}


def test_making_it_twice_is_making_it_once(tmp_path: Path) -> None:
    create(tmp_path / "index.db")
    with sqlite3.connect(tmp_path / "index.db") as connection:
        before = connection.execute("SELECT * FROM meta").fetchall()
    connection.close()
    create(tmp_path / "index.db")
    with sqlite3.connect(tmp_path / "index.db") as connection:
        assert connection.execute("SELECT * FROM meta").fetchall() == before
    connection.close()


def test_many_may_open_a_new_index_at_once(tmp_path: Path) -> None:
    start = threading.Barrier(8)

    def open_new(_: int) -> Counts:
        store = EmbeddedStore(tmp_path / "index", PlainAnalyzer())
        start.wait()
        with store.read() as reading:
            counts = reading.catalogue.counts()
        store.close()
        return counts

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(open_new, range(8))) == {Counts(0, 0, 0, 0, 0, 0, 0, 0, 0)}
