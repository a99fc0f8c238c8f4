"""Ask the database that keeps the truth: SQLite's or PostgreSQL's, by the same statements.

Both have the tables of the `SCHEMA_FILES`, the journal and the generations.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec
import xxhash

from dowse._model import ChunkKey, Fields, Keys, Stamp, Stream, Vector
from dowse._model.ports import Analyzer
from dowse._store.files import content_errors, database_damaged
from dowse._util.arrays import np
from dowse.errors import EmbedError, StampMismatch

if TYPE_CHECKING:
    from dowse._store.replicas import ReplicaManifest


SCHEMA_FILES = ("schema.sql", "schema-3.sql")
"""What makes the tables, in this order; written for SQLite."""

ROOTS = "roots"
"""The row of the table `meta` that lists the folders which the index was made of, as JSON."""

Errors = Callable[[], AbstractContextManager[None]]
"""A context that translates what a database raises."""

KeywordRow = tuple[ChunkKey, Stream, Stream]
"""A chunk, the terms of its text, the terms of its code."""

Fresh = Mapping[ChunkKey, tuple[Stream, Stream]]
"""The terms of the text and those of the code, by chunk."""

_AT_ONCE = 100  # rows: each may hold much code

VectorRow = tuple[ChunkKey, bytes]
"""A chunk and its vector as it is kept."""

_T = TypeVar("_T")
_R = TypeVar("_R")


headings = msgspec.json.Decoder(tuple[str, ...]).decode
"""Read the headings in a column."""


class SqlConnection(Protocol):
    """What the store asks of a connection: SQLite's has it, and so has that to PostgreSQL."""

    def execute(self, query: str, values: Sequence[Any] = ..., /) -> Any:
        """Run one statement; return a cursor over its rows."""

    def executemany(self, query: str, rows: Iterable[Sequence[Any]], /) -> Any:
        """Run one statement for each of some rows."""

    def rollback(self) -> None:
        """End a transaction that is open, and what it has done."""


class Statements:
    """Ask the database through one connection, which several threads may share."""

    def __init__(self, connection: SqlConnection, errors: Errors) -> None:
        self._connection = connection
        self._one_at_a_time = threading.Lock()  # threads may share a reading, not a statement
        self._errors = errors

    def meta(self, name: str) -> str | None:
        """Read what the index says about itself under a name."""
        rows = self.rows(tuple[str], "SELECT value FROM meta WHERE name = ?", name)
        return rows[0][0] if rows else None

    def generation(self) -> int:
        """Count the batches that the index has taken."""
        with content_errors():
            return int(self.meta("generation") or 0)

    def stamp(self) -> Stamp | None:
        """Read what the index was built with; None while it is new."""
        stamp = self.meta("stamp")
        with content_errors():
            return None if stamp is None else msgspec.json.decode(stamp, type=dict[str, Any])

    def model(self) -> tuple[str, int]:
        """Read the key and the dimensions of the model whose vectors the index takes."""
        with content_errors():
            return model_of(self.stamp())

    def row(self, shape: type[_T], query: str, *values: object) -> _T | None:
        """Read the first row, or None."""
        return next(iter(self.rows(shape, query, *values)), None)

    def rows(self, shape: type[_T], query: str, *values: object) -> list[_T]:
        """Read all rows; raise `Damaged` when one has a value of another kind than its shape."""
        with self._errors(), self._one_at_a_time:
            found = self._connection.execute(query, values).fetchall()
        return checked(shape, found)

    def keys(self, query: str, *values: object) -> Keys:
        """Read the keys that the first column lists, ascending."""
        rows = self.rows(tuple[int], query, *values)
        return np.sort(np.fromiter((row[0] for row in rows), np.int64, len(rows)))

    def columns(self, names: Sequence[str], query: str, *values: object) -> list[Keys]:
        """Read columns of whole numbers, in the order of the rows.

        As one string each: to hand over a million rows takes twice as long.
        """
        joined = ", ".join(f"group_concat({name})" for name in names)
        ((*texts,),) = self.rows(tuple[str | None, ...], f"SELECT {joined} FROM ({query})", *values)
        numbers: list[Keys] = []
        with content_errors():
            for text in texts:
                if text and text.strip("0123456789,"):
                    raise ValueError(f"{text[:20]!r} is not a list of whole numbers")
                numbers.append(np.fromstring(text or "", np.int64, sep=","))
        return numbers

    def made(
        self, make: Callable[[_T], _R], shape: Any, query: str, *values: object, hold: int = 50
    ) -> list[_R]:
        """Make something of each row, which has the shape that it takes; few are held at once."""
        made: list[_R] = []
        with self._errors(), self._one_at_a_time, content_errors():
            cursor = self._connection.execute(query, values)
            while rows := cursor.fetchmany(hold):
                made += map(make, checked(shape, rows))
        return made


def checked(shape: type[_T], rows: Sequence[Any]) -> list[_T]:
    """Check that rows have values of the kinds that a shape names; raise `Damaged` otherwise.

    SQLite keeps any value in any column, so a damaged file can hold text where a number is meant.
    """
    with content_errors():
        return msgspec.convert(rows, list[shape], builtin_types=(bytes,))  # type: ignore[valid-type]


class Database:
    """The database as the replicas see it.

    Of `fresh` chunks, which the last change has added, the terms are known and need not be made.
    """

    def __init__(self, connection: SqlConnection, fresh: Fresh | None = None) -> None:
        self.connection = connection
        self._fresh: Fresh = fresh or {}
        meta = dict(
            checked(tuple[str, str], connection.execute("SELECT name, value FROM meta").fetchall())
        )
        try:
            self.generation = int(meta["generation"])
            self.model, self.dimensions = model_of(json.loads(meta.get("stamp", "{}")))
            # A replica of another index, or of vectors of another model, is a stranger.
            self.identity = f"{meta['index']}/{self.model}/{self.dimensions}"
            self.generation_id = meta.get("generation_id", "")
            self.id = self.identity, self.generation_id or self.generation
            # The generations that the journal leads on from. A number alone does not name one:
            # a generation that a power cut took is followed by another of the same number.
            self._extendable = {
                (self.generation, self.generation_id),
                (int(meta.get("journal_from", 0)), meta.get("journal_from_id", "")),
            }
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise database_damaged(f"The database does not say what it is: {error}.") from error

    def reached_by(self, manifest: ReplicaManifest | None) -> bool:
        """Tell whether a replica is at this very generation."""
        return (
            manifest is not None
            and manifest.index == self.identity
            and manifest.generation == self.generation
            and manifest.generation_id == self.generation_id
        )

    def can_extend(self, manifest: ReplicaManifest | None) -> bool:
        """Tell whether the journal reaches back to the generation of a replica."""
        return (
            manifest is not None
            and manifest.index == self.identity
            and (manifest.generation, manifest.generation_id) in self._extendable
        )

    def changed_since(self, generation: int, *, terms_only: bool) -> list[ChunkKey]:
        """List the chunks that came or went after a generation, or only got another vector."""
        query = "SELECT DISTINCT chunk FROM journal WHERE generation > ? AND terms >= ? ORDER BY 1"
        return [key for (key,) in self.connection.execute(query, (generation, int(terms_only)))]

    def chunk_count(self) -> int:
        """Count the chunks."""
        return int(self.connection.execute("SELECT count(*) FROM chunks").fetchone()[0])

    def is_empty(self) -> bool:
        """Tell whether there is no chunk."""
        return self.connection.execute("SELECT 1 FROM chunks LIMIT 1").fetchone() is None

    def chunk_keys(self) -> set[ChunkKey]:
        """List all chunks."""
        return {row[0] for row in self.connection.execute("SELECT key FROM chunks")}

    def keyword_rows(
        self, analyzer: Analyzer, among: Iterable[ChunkKey] | None = None
    ) -> Iterator[KeywordRow]:
        """Make what the keyword index holds of all chunks, or of some, by key."""
        if among is None:
            yield from self._analyzed(analyzer, None)
            return
        among = sorted(among)
        if stored := [key for key in among if key not in self._fresh]:
            yield from self._analyzed(analyzer, stored)
        # No key is given out twice, so those of fresh chunks are the largest.
        yield from ((key, *self._fresh[key]) for key in among if key in self._fresh)

    def _analyzed(
        self, analyzer: Analyzer, among: Sequence[ChunkKey] | None
    ) -> Iterator[KeywordRow]:
        rows = self._select(
            'c.key, c.document, c.header_path, c.start, c."end",'
            " (SELECT group_concat(b.text, char(10)) FROM code_blocks b WHERE b.chunk = c.key)",
            "",
            among,
        )
        document, text, fields, language = -1, "", Fields(), ""
        while some := rows.fetchmany(_AT_ONCE):
            for key, owner, path, start, end, code in checked(
                tuple[int, int, str, int, int, str | None], some
            ):
                if owner != document:  # once a document, however many chunks it has
                    query, document = "SELECT text, fields FROM documents WHERE key = ?", owner
                    found = self.connection.execute(query, (owner,)).fetchall()
                    with content_errors():
                        ((text, encoded),) = checked(tuple[str, str], found)
                        fields = msgspec.json.decode(encoded, type=Fields)
                    language = analyzer.language(text)
                with content_errors():
                    above = headings(path)
                body = analyzer.chunk_stream(fields, above, text[start:end], language)
                yield key, body, analyzer.code_stream(code) if code else ""

    def vector_rows(self, among: Iterable[ChunkKey] | None = None) -> Iterator[VectorRow]:
        """Read the vectors of all chunks that have one, or of some."""
        # A cross join begins with the chunks; SQLite would go through all vectors for a few chunks.
        join = "CROSS JOIN embeddings e ON e.model = ? AND e.text_key = c.text_key"
        for key, vector in self._select("c.key, e.vector", join, among, self.model):
            if not isinstance(vector, bytes) or len(vector) != 2 * self.dimensions:
                raise database_damaged(f"The vector of chunk {key} is not as it was written.")
            yield key, vector

    def _select(
        self, columns: str, join: str, among: Iterable[ChunkKey] | None, *values: object
    ) -> Any:
        query = f"SELECT {columns} FROM chunks c {join}"
        if among is not None:
            query += " WHERE c.key IN (SELECT CAST(value AS INTEGER) FROM json_each(?))"
            values += (json.dumps(list(among)),)
        return self.connection.execute(f"{query} ORDER BY c.key", values)


def schema_file(name: str) -> str:
    """Read one of the `SCHEMA_FILES`."""
    return Path(__file__).with_name(name).read_text("utf-8")


def decoded_roots(value: str | None) -> list[str]:
    """Read the roots in a row; nothing when it holds anything else."""
    try:
        return msgspec.json.decode(value or "[]", type=list[str])
    except msgspec.MsgspecError:
        return []


def model_of(stamp: Stamp | None) -> tuple[str, int]:
    """Read the key and the dimensions of the model whose vectors an index takes."""
    stamp = stamp or {}
    return str(stamp.get("model", "")), int(stamp.get("dimensions", 0))


def encode_vector(vector: Vector, dimensions: int) -> bytes:
    """Write a vector as it is kept: half floats, little endian."""
    if vector.shape != (dimensions,):
        raise StampMismatch(
            f"The index takes vectors of {dimensions} dimensions, not of shape {vector.shape}.",
            "Rebuild it with: dowse index --rebuild",
        )
    if not np.isfinite(vector).all():
        raise EmbedError(
            "The embedding model gave a vector that is not made of numbers.",
            "Look at the model with: dowse doctor",
        )
    return vector.astype("<f2").tobytes()


def decode_vector(kept: bytes) -> Vector:
    """Read a kept vector, to calculate with."""
    return np.frombuffer(kept, dtype="<f2").astype(np.float32)


# ── Checksums: SQLite has none, and a flipped bit must not go unseen ─────────


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
    parts = [connection.execute(query, (key,)).fetchall() for query in _DOCUMENT]
    return sum_of(msgspec.msgpack.encode(parts))


def keep_document_sums(connection: SqlConnection, keys: Iterable[int]) -> None:
    """Note the checksums of some documents."""
    connection.executemany(
        "UPDATE documents SET checksum = ? WHERE key = ?",
        [(document_sum(connection, key), key) for key in keys],
    )


def communities_sum(communities: Mapping[str, int]) -> str:
    """Compute the checksum of all communities."""
    return str(sum_of(msgspec.msgpack.encode(sorted(communities.items()))))
