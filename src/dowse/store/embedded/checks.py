"""Looking at every part of an index, and saying which command mends what is wrong."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from dowse.errors import DowseError
from dowse.store.embedded.database import check_format, connect, translated
from dowse.store.embedded.replicas import Replicas
from dowse.store.embedded.truth import Truth
from dowse.types import Finding

_REBUILD = "dowse index --rebuild"
_REPAIR = "dowse doctor --repair"

# Each counts rows that must not exist, whatever was interrupted.
_HOLES = {
    "chunks outside any section": (
        "SELECT count(*) FROM chunks c WHERE NOT EXISTS"
        " (SELECT 1 FROM sections s WHERE s.document = c.document AND s.id = c.section)"
    ),
    "documents with text but without chunks": (
        "SELECT count(*) FROM documents d WHERE trim(substr(text, body + 1), char(9, 10, 32)) != ''"
        " AND NOT EXISTS (SELECT 1 FROM chunks c WHERE c.document = d.key)"
    ),
    "documents that links cannot name": (
        "SELECT count(*) FROM documents d WHERE NOT EXISTS"
        " (SELECT 1 FROM names n WHERE n.document = d.key)"
    ),
    "words counted less than once": "SELECT count(*) FROM terms WHERE count < 1",
}


def check(database: Path, replicas: Replicas) -> list[Finding]:
    """Looks at the database, then at the replicas, then whether they agree."""
    try:
        with translated(database):
            connection = connect(database)
            try:
                check_format(connection)
                return [*_check_database(connection), *_check_replicas(connection, replicas)]
            finally:
                connection.close()
    except DowseError as error:
        return [Finding(error.message, _REBUILD)]


def _check_database(connection: sqlite3.Connection) -> Iterator[Finding]:
    for (complaint,) in connection.execute("PRAGMA integrity_check(3)"):
        if complaint != "ok":
            yield Finding(f"The database is damaged: {complaint}.", _REBUILD)
    for table, *_ in connection.execute("PRAGMA foreign_key_check"):
        yield Finding(f"The table {table} refers to rows that are gone.", _REBUILD)
    for what, query in _HOLES.items():
        count = connection.execute(query).fetchone()[0]
        if count:
            yield Finding(f"There are {count} {what}.", _REBUILD)


def _check_replicas(connection: sqlite3.Connection, replicas: Replicas) -> Iterator[Finding]:
    try:
        opened = replicas.open(connection)
    except DowseError as error:
        yield Finding(error.message, _REPAIR)
        return
    if opened is None:
        yield Finding("The keyword or vector index is behind the database.", _REPAIR)
        return
    truth = Truth(connection)
    keyword, vectors = opened
    if keyword.keys() != truth.chunk_keys():
        yield Finding("The keyword index does not hold the chunks of the database.", _REPAIR)
    if vectors.keys() != {key for key, _ in truth.vector_rows()}:
        yield Finding("The vector index does not hold the vectors of the database.", _REPAIR)
