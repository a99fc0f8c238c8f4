"""Whether a database is sound as SQLite sees it: its pages, its indexes, its tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from dowse._store.embedded.failures import truth_damaged
from dowse._store.embedded.sqlite.database import FORMAT, expected_schema, format_of, schema_of


def check_structure(connection: sqlite3.Connection) -> None:
    """Raises `Damaged` when a database must not be written to any more."""
    for complaint in complaints(connection):
        raise truth_damaged(complaint)


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
