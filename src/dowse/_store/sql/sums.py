"""Checksums of what the database holds, since SQLite has none: a flipped bit must not go unseen.

Columns that are in an index are compared with it by SQLite's own check; the sums cover the rest.
The state of a file (size, time, digest) is left out: a wrong one only makes dowse read it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import xxhash

from dowse._store.sql.database import SqlConnection

_DOCUMENT = (
    "SELECT id, short, fields, body, text FROM documents WHERE key = ?",
    (
        'SELECT id, header_path, start, "end", first_line, last_line FROM sections'
        " WHERE document = ? ORDER BY key"
    ),
    (
        'SELECT key, id, section, header_path, start, "end", overlap, first_line, last_line,'
        " text_key FROM chunks WHERE document = ? ORDER BY key"
    ),
    (
        'SELECT chunk, language, text, start, "end", first_line, last_line FROM code_blocks'
        " WHERE document = ? ORDER BY rowid"
    ),
    "SELECT kind, value FROM facets WHERE document = ? ORDER BY rowid",
    "SELECT key, kind, target, anchor, label, line FROM links WHERE source = ? ORDER BY key",
    "SELECT name, kind, spelled FROM names WHERE document = ? ORDER BY rowid",
    (
        "SELECT chunk, kind, folded, path, start, line FROM chunk_names"
        " WHERE document = ? ORDER BY rowid"
    ),
)


def sum_of(content: bytes) -> int:
    """Compute the checksum of some bytes, as SQLite's integers can hold it."""
    return xxhash.xxh3_64_intdigest(content) - 2**63


def is_sound(vector: object, checksum: int | None) -> bool:
    """Tell whether a vector is as it was written."""
    return isinstance(vector, bytes) and checksum == sum_of(vector)


def document_sum(connection: SqlConnection, key: int) -> int:
    """Compute the checksum of a document and all of its parts, as they are in the tables now."""
    rows = [connection.execute(query, (key,)).fetchall() for query in _DOCUMENT]
    return sum_of(msgspec.msgpack.encode(rows))


def keep_document_sums(connection: SqlConnection, keys: Iterable[int]) -> None:
    """Note the checksums of some documents."""
    connection.executemany(
        "UPDATE documents SET checksum = ? WHERE key = ?",
        [(document_sum(connection, key), key) for key in keys],
    )


def communities_sum(communities: Mapping[str, int]) -> str:
    """Compute the checksum of all communities."""
    return str(sum_of(msgspec.msgpack.encode(sorted(communities.items()))))
