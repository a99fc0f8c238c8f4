"""What the replicas need to know of the truth: its generation, its changes, its rows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from dowse._model import ChunkKey, Fields, Stream
from dowse._model.ports import Analyzer
from dowse._store.embedded.failures import content_errors, truth_damaged
from dowse._store.embedded.manifest import FileSum, ReplicaManifest
from dowse._store.embedded.sqlite.records import headings
from dowse._store.embedded.sqlite.statements import checked
from dowse._store.vectors import model_of

KeywordRow = tuple[ChunkKey, Stream, Stream]
"""A chunk, the terms of its text, the terms of its code."""

Fresh = Mapping[ChunkKey, tuple[Stream, Stream]]
"""The terms of the text and those of the code, by chunk."""

_TextRow = tuple[ChunkKey, int, str, int, int, str | None]
"""A chunk, its document, its header path, its start and end, its code."""

_AT_ONCE = 100  # rows: each may hold much code

VectorRow = tuple[ChunkKey, bytes]
"""A chunk and its vector as it is kept."""


class Truth:
    """The database as the replicas see it.

    Of `fresh` chunks, which the last change has added, the terms are known and need not be made.
    """

    def __init__(self, connection: sqlite3.Connection, fresh: Fresh | None = None) -> None:
        self._connection = connection
        self._fresh: Fresh = fresh or {}
        rows = connection.execute("SELECT name, value FROM meta").fetchall()
        meta = dict(checked(tuple[str, str], rows))
        try:
            self.generation = int(meta["generation"])
            self.model, self.dimensions = model_of(json.loads(meta.get("stamp", "{}")))
            # A replica of another index, or of vectors of another model, is a stranger.
            self.identity = f"{meta['index']}/{self.model}/{self.dimensions}"
            self.generation_id = meta.get("generation_id", "")
            # The generations that the journal leads on from. A number alone does not name one:
            # a generation that a power cut took is followed by another of the same number.
            self._extendable = {
                (self.generation, self.generation_id),
                (int(meta.get("journal_from", 0)), meta.get("journal_from_id", "")),
            }
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise truth_damaged(f"The database does not say what it is: {error}.") from error

    def reached_by(self, manifest: ReplicaManifest | None) -> bool:
        """Whether a replica is at this very generation."""
        return (
            manifest is not None
            and manifest.index == self.identity
            and manifest.generation == self.generation
            and manifest.generation_id == self.generation_id
        )

    def can_extend(self, manifest: ReplicaManifest | None) -> bool:
        """Whether the journal reaches back to the generation of a replica."""
        return (
            manifest is not None
            and manifest.index == self.identity
            and (manifest.generation, manifest.generation_id) in self._extendable
        )

    def changed_since(self, generation: int, *, terms_only: bool) -> list[ChunkKey]:
        """The chunks that came or went after a generation, or only got another vector."""
        condition = "AND terms" if terms_only else ""
        query = (
            f"SELECT DISTINCT chunk FROM journal WHERE generation > ? {condition} ORDER BY chunk"
        )
        return [row[0] for row in self._connection.execute(query, (generation,))]

    def chunk_count(self) -> int:
        """How many chunks there are."""
        return int(self._connection.execute("SELECT count(*) FROM chunks").fetchone()[0])

    def is_empty(self) -> bool:
        """Whether there is no chunk."""
        return self._connection.execute("SELECT 1 FROM chunks").fetchone() is None

    def chunk_keys(self) -> set[ChunkKey]:
        """All chunks."""
        return {row[0] for row in self._connection.execute("SELECT key FROM chunks")}

    def keyword_rows(
        self, analyzer: Analyzer, among: Iterable[ChunkKey] | None = None
    ) -> Iterator[KeywordRow]:
        """What the keyword index holds of all chunks, or of some, by key."""
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
        document, text, fields = -1, "", Fields()
        for key, owner, path, start, end, code in _checked_rows(rows):
            if owner != document:  # once a document, however many chunks it has
                document, (text, fields) = owner, self._document(owner)
            with content_errors():
                above = headings(path)
            body = analyzer.chunk_stream(fields, above, text[start:end])
            yield key, body, analyzer.code_stream(code) if code else ""

    def vector_rows(self, among: Iterable[ChunkKey] | None = None) -> Iterator[VectorRow]:
        """The vectors of all chunks that have one, or of some."""
        # A cross join begins with the chunks; SQLite would go through all vectors for a few chunks.
        join = "CROSS JOIN embeddings e ON e.model = ? AND e.text_key = c.text_key"
        for key, vector in self._select("c.key, e.vector", join, among, self.model):
            if not isinstance(vector, bytes) or len(vector) != 2 * self.dimensions:
                raise truth_damaged(f"The vector of chunk {key} is not as it was written.")
            yield key, vector

    def _select(
        self, columns: str, join: str, among: Iterable[ChunkKey] | None, *values: object
    ) -> sqlite3.Cursor:
        query = f"SELECT {columns} FROM chunks c {join}"
        if among is not None:
            query += " WHERE c.key IN (SELECT value FROM json_each(?))"
            values += (json.dumps(list(among)),)
        return self._connection.execute(f"{query} ORDER BY c.key", values)

    def _document(self, key: int) -> tuple[str, Fields]:
        query = "SELECT text, fields FROM documents WHERE key = ?"
        rows = self._connection.execute(query, (key,)).fetchall()
        with content_errors():
            ((text, fields),) = checked(tuple[str, str], rows)
            return text, msgspec.json.decode(fields, type=Fields)


def _checked_rows(rows: sqlite3.Cursor) -> Iterator[_TextRow]:
    while some := rows.fetchmany(_AT_ONCE):
        yield from checked(tuple[int, int, str, int, int, str | None], some)


def describe(
    truth: Truth, folder: str, files: Mapping[str, FileSum], detail: Mapping[str, int]
) -> ReplicaManifest:
    """The manifest of a replica that has reached the truth's generation."""
    identity, generation = truth.identity, truth.generation
    return ReplicaManifest(identity, generation, folder, files, detail, truth.generation_id)
