"""Looking at every part of an index, and saying which command fixes what is wrong."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from dowse._model import Finding
from dowse._store.files import REPAIR, database_errors, writer_lock
from dowse._store.replicas import Replicas
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
from dowse._store.sql.sqlite import FORMAT, Connections, complaints, format_of
from dowse.errors import DowseError, IndexUnusable

REBUILD = "dowse index --rebuild"
"""What builds an index again from the documents."""

_PATIENCE = 5.0  # seconds for a living writer to finish publishing a batch

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


def check(folder: Path, database: Path, replicas: Replicas) -> list[Finding]:
    """Look at the database, then at the replicas, then whether they agree.

    The replicas must be ones that trust no file yet.
    """
    connections = Connections(database)
    errors = partial(database_errors, database)
    findings: list[Finding] = []
    try:
        with errors(), connections.borrow() as connection:
            findings += [Finding(complaint, REBUILD) for complaint in complaints(connection)]
            is_newest = format_of(connection) == str(FORMAT)
            findings += check_tables(connection, errors, is_newest=is_newest)
            if not findings:  # otherwise they have to be built again in any case
                findings += _check_replicas(connection, folder, replicas)
    except DowseError as error:
        repair = REBUILD if isinstance(error, IndexUnusable) else error.hint
        findings.append(Finding(error.message, repair))
    except _UNREADABLE as error:
        findings.append(_unreadable(error))
    finally:
        connections.close()
    return findings


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


def _check_replicas(
    connection: sqlite3.Connection, folder: Path, replicas: Replicas
) -> list[Finding]:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            with writer_lock(folder, wait=0):
                return _compare(connection, replicas)
        except DowseError:  # somebody is writing, so a disagreement may be a passing one
            findings = _compare(connection, replicas)
            if not findings or time.monotonic() > deadline:
                return findings
        time.sleep(0.05)


def _compare(connection: sqlite3.Connection, replicas: Replicas) -> list[Finding]:
    connection.execute("BEGIN")
    try:
        return replicas.findings(Database(connection))
    except DowseError as error:
        return [Finding(error.message, REPAIR if error.hint.endswith(REPAIR) else REBUILD)]
    finally:
        connection.rollback()
