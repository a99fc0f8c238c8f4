"""One generation of the truth, and of the replicas beside it, as a reader sees it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from dowse.store.embedded.failures import content_errors
from dowse.store.embedded.sqlite import records
from dowse.store.embedded.sqlite.records import CHUNK, EDGE_ORDER, EDGES, ENTRY, SECTION
from dowse.store.embedded.sqlite.searching import SqliteSearching
from dowse.store.vectors import decode_vector
from dowse.types import (
    Chunk,
    ChunkKey,
    Counts,
    DocumentEntry,
    Edge,
    FileState,
    StoredChunk,
    StoredDocument,
    Vector,
    embedding_text,
)

_T = TypeVar("_T")

_AT_ONCE = 500  # values bound to one statement: old builds of SQLite take 999


class SqliteReading(SqliteSearching):
    """The reading side of the embedded store, inside one transaction."""

    def files(self) -> dict[str, FileState]:
        """What is known of every file, by document id."""
        rows = self._rows("SELECT id, size, mtime_ns, digest, settled FROM documents")
        return {
            id_: FileState(size, mtime_ns, digest, bool(settled))
            for id_, size, mtime_ns, digest, settled in rows
        }

    def documents(self) -> list[DocumentEntry]:
        """All documents, by id."""
        return self._made(records.entry, f"SELECT {ENTRY} FROM documents d ORDER BY id")

    def document(self, document_id: str) -> StoredDocument | None:
        """One document, whole."""
        row = self._row(
            f"SELECT key, body, text, {ENTRY} FROM documents d WHERE id = ?", document_id
        )
        if row is None:
            return None
        key, body, text, *columns = row
        with content_errors():
            entry = records.entry(columns)
        sections = f"SELECT {SECTION} FROM sections WHERE document = ? ORDER BY key"
        chunks = f"SELECT {CHUNK} FROM chunks c WHERE document = ? ORDER BY key"
        return StoredDocument(
            entry,
            text,
            body,
            tuple(self._made(records.section, sections, key)),
            tuple(self._made(records.chunk, chunks, key)),
        )

    def find(self, short: str) -> list[tuple[str, int, int]]:
        """What an abbreviated id can mean: document id, first and last line."""
        ends = (short, short + "g")  # after every hex digit
        whole = self._rows("SELECT id, text FROM documents WHERE short >= ? AND short < ?", *ends)
        parts = self._rows(
            "SELECT d.id, p.first_line, p.last_line FROM"
            " (SELECT document, first_line, last_line FROM sections WHERE id >= ? AND id < ?"
            " UNION SELECT document, first_line, last_line FROM chunks WHERE id >= ? AND id < ?) p"
            " JOIN documents d ON d.key = p.document",
            *ends,
            *ends,
        )
        return sorted({*((id_, 1, text.count("\n") + 1) for id_, text in whole), *parts})

    def chunks(self, keys: Sequence[ChunkKey]) -> list[StoredChunk]:
        """Chunks by key, in the order asked for; unknown keys are passed over."""
        wanted: dict[int, list[tuple[ChunkKey, Chunk]]] = {}
        for key, document, chunk in self._made(
            _keyed_chunk,
            f"SELECT c.key, c.document, {CHUNK} FROM chunks c"
            " WHERE c.key IN (SELECT value FROM json_each(?))",
            json.dumps([int(key) for key in keys]),
        ):
            wanted.setdefault(document, []).append((key, chunk))

        def cut(row: Sequence[Any]) -> list[StoredChunk]:
            document, text, *columns = row
            entry = records.entry(columns)
            return [
                StoredChunk(key, chunk, text[chunk.start : chunk.end], entry)
                for key, chunk in wanted[document]
            ]

        stored = self._of_documents(cut, f"d.key, d.text, {ENTRY}", wanted)
        found = {one.key: one for some in stored for one in some}
        return [found[key] for key in keys if key in found]

    def edges(self) -> list[Edge]:
        """All links, by source and line."""
        return [records.edge(row) for row in self._rows(f"{EDGES} {EDGE_ORDER}")]

    def communities(self) -> dict[str, int]:
        """The community of each document that has one, by id."""
        query = "SELECT d.id, c.community FROM communities c JOIN documents d ON d.key = c.document"
        return dict(self._rows(query))

    def counts(self) -> Counts:
        """How much the index holds."""
        row = self._row(
            "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM sections),"
            " (SELECT count(*) FROM chunks), (SELECT count(*) FROM code_blocks),"
            " (SELECT count(*) FROM edges), (SELECT count(*) FROM edges WHERE leads IS NULL),"
            " (SELECT count(*) FROM chunks c JOIN embeddings e USING (text_key) WHERE e.model = ?),"
            " (SELECT count(*) FROM terms), (SELECT count(DISTINCT community) FROM communities)",
            self._model[0],
        )
        return Counts(*row)

    def vocabulary(self, size: int) -> list[str]:
        """The most frequent words, most frequent first."""
        query = "SELECT term FROM terms ORDER BY count DESC, term LIMIT ?"
        return [row[0] for row in self._rows(query, max(0, size))]

    def vectors(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors that are known for these text keys."""
        query = "SELECT vector FROM embeddings WHERE model = ? AND text_key = ?"
        model, _ = self._model
        found = {}
        for key in keys:
            row = self._row(query, model, key)
            if row is not None:
                found[key] = decode_vector(row[0])
        return found

    def without_vector(self, keys: Sequence[bytes]) -> list[bytes]:
        """Those of these text keys for which no vector is known, in their order."""
        model, known = self._model[0], set[bytes]()
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            marks = ", ".join("?" * len(some))
            query = f"SELECT text_key FROM embeddings WHERE model = ? AND text_key IN ({marks})"
            known.update(row[0] for row in self._rows(query, model, *some))
        return [key for key in keys if key not in known]

    def unembedded(self) -> list[str]:
        """The embedding texts of chunks that have no vector yet."""
        rows = self._made(
            _keyed_chunk,
            f"SELECT c.key, c.document, {CHUNK} FROM chunks c WHERE NOT EXISTS"
            " (SELECT 1 FROM embeddings e WHERE e.model = ? AND e.text_key = c.text_key)"
            " ORDER BY c.key",
            self._model[0],
        )
        texts = dict(self._of_documents(tuple, "d.key, d.text", {owner for _, owner, _ in rows}))
        return [_embedding_text(texts[document], chunk) for _, document, chunk in rows]

    def _of_documents(
        self, make: Callable[[Sequence[Any]], _T], columns: str, documents: Iterable[int]
    ) -> list[_T]:
        """What is made of each of some documents."""
        query = f"SELECT {columns} FROM documents d WHERE d.key IN (SELECT value FROM json_each(?))"
        return self._made(make, query, json.dumps(list(documents)))


def _embedding_text(text: str, chunk: Chunk) -> str:
    return embedding_text(chunk.header_path, text[chunk.start : chunk.end])


def _keyed_chunk(row: Sequence[Any]) -> tuple[ChunkKey, int, Chunk]:
    return row[0], row[1], records.chunk(row[2:])
