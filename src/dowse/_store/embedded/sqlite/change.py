"""What one batch does to the tables, inside the transaction of its writer."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import count
from typing import Any

import msgspec

from dowse._model import (
    ChunkedDocument,
    ChunkKey,
    Debt,
    Document,
    Fields,
    FileState,
    IndexedDocument,
    Stream,
    Vector,
    modified,
    short_id,
    text_key,
)
from dowse._model.ports import Analyzer
from dowse._store.embedded.sqlite.facets import facets_of
from dowse._store.embedded.sqlite.links import resolve_links
from dowse._store.embedded.sqlite.sums import keep_document_sums, sum_of
from dowse._store.vectors import encode_vector
from dowse._text.analyzer import terms_of
from dowse._text.fold import fold, fold_name
from dowse._text.links import names_of, names_of_target

_PARTS = ("code_blocks", "chunk_names", "chunks", "sections", "links", "names", "facets")
_LATEST = 2**63 - 1  # nanoseconds: the year 2262, the last that SQLite's integers reach

_Spelling = tuple[str, str, str]
"""A name, its kind, and how it is spelled out."""

_as_json = lru_cache(1000)(json.dumps)  # neighbouring chunks are under the same headings


class TableWriter:
    """Changes the tables document by document; `finish` does what is cheaper done at once."""

    def __init__(self, connection: sqlite3.Connection, analyzer: Analyzer, generation: int) -> None:
        self._connection = connection
        self._analyzer = analyzer
        self._generation = generation
        self._names: set[str] = set()  # whose meaning may have changed
        self._put: list[str] = []  # ids
        self._words: Counter[str] = Counter()
        self._deleted = False
        self._led: dict[int, set[int]] = {}  # by changed document: where its links led before
        self._links_changed = False
        self.fresh: dict[ChunkKey, tuple[Stream, Stream]] = {}  # the terms of what was put
        # A key is never given out twice, also when its chunk is gone.
        given = self._column("SELECT seq FROM sqlite_sequence WHERE name = 'chunks'")
        self._chunk_keys = count(max(given, default=0) + 1)

    @property
    def debts(self) -> frozenset[Debt]:
        """What has to be done once more after this change."""
        debts: set[Debt] = set()
        if self._links_changed:
            debts.add("communities")
        if self._deleted:
            debts.add("tidy")
        return frozenset(debts)

    def clear(self) -> None:
        """Deletes all documents, and what hangs on them."""
        self._deleted = self._links_changed = True
        self._journal(self._column("SELECT key FROM chunks"))
        self.fresh.clear()
        self._connection.execute("DELETE FROM documents")
        self._connection.execute("DELETE FROM terms")

    def remove(self, document_id: str) -> None:
        """Deletes a document."""
        row = self._row("SELECT key, body, text FROM documents WHERE id = ?", document_id)
        if row is not None:
            self._names |= {name for name, *_ in self._clear_parts(*row)}
            self._connection.execute("DELETE FROM documents WHERE key = ?", (row[0],))

    def put(self, indexed: IndexedDocument) -> None:
        """Inserts or replaces a document."""
        document = indexed.chunked.document
        old = self._row("SELECT key, body, text FROM documents WHERE id = ?", document.id)
        if old:
            self._led.setdefault(old[0], self._leads(old[0]))
        before = self._clear_parts(*old) if old else set()
        key = self._put_document(indexed)
        keys = self._put_parts(key, indexed.chunked)
        terms = indexed.terms or terms_of(indexed.chunked, self._analyzer)
        self.fresh.update(zip(keys, terms.chunks, strict=True))
        self._words.update(terms.words)
        after = {
            (name.name, name.kind, name.spelled)
            for name in names_of(document.id, document.fields.aliases)
        }
        self._connection.executemany(
            "INSERT INTO names VALUES (?, ?, ?, ?)",
            [(key, *spelling) for spelling in sorted(after)],
        )
        keep_document_sums(self._connection, [key])
        self._names |= {name for name, *_ in before ^ after}
        self._put.append(document.id)

    def touch(self, document_id: str, state: FileState) -> None:
        """Notes a file's new time."""
        self._connection.execute(
            "UPDATE documents SET size = ?, mtime_ns = ?, digest = ?, settled = ?, modified ="
            " CASE WHEN json_extract(fields, '$.modified') IS NULL THEN ? ELSE modified END"
            " WHERE id = ?",
            (*_state_columns(state), _modified(Fields(), state), document_id),
        )

    def keep(self, model: str, dimensions: int, vectors: Mapping[bytes, Vector]) -> None:
        """Keeps vectors by text key, and gives them to the chunks that have such a text."""
        for key, vector in vectors.items():
            kept = encode_vector(vector, dimensions)
            changed = self._connection.execute(
                "INSERT INTO embeddings (model, text_key, vector, checksum) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (model, text_key) DO UPDATE SET vector = excluded.vector,"
                " checksum = excluded.checksum WHERE vector != excluded.vector",
                (model, key, kept, sum_of(kept)),
            ).rowcount
            if changed:
                chunks = self._column("SELECT key FROM chunks WHERE text_key = ?", key)
                self._journal(chunks, terms=False)

    def finish(self) -> None:
        """Resolves the links that the change concerns, and counts words up and down."""
        resolve_links(self._connection, self._names, self._put)
        # Names that came or went may lead links of any document elsewhere. Otherwise only the
        # links of the documents that changed can lead elsewhere, and most edits change none.
        self._links_changed = (
            self._links_changed
            or bool(self._names)
            or any(self._leads(key) != led for key, led in self._led.items())
        )
        self._connection.executemany(
            "INSERT INTO terms VALUES (?, ?)"
            " ON CONFLICT (term) DO UPDATE SET count = count + excluded.count",
            ((term, count) for term, count in self._words.items() if count),
        )
        self._connection.execute("DELETE FROM terms WHERE count <= 0")

    def leaves_waiting(self, model: str) -> bool:
        """Whether a chunk that it stored has no vector of a model."""
        row = self._row(
            "SELECT 1 FROM journal j JOIN chunks c ON c.key = j.chunk WHERE j.generation = ?"
            " AND NOT EXISTS"
            " (SELECT 1 FROM embeddings e WHERE e.model = ? AND e.text_key = c.text_key)",
            self._generation,
            model,
        )
        return row is not None

    def _leads(self, document: int) -> set[int]:
        """The documents that the links of a document lead to."""
        query = "SELECT DISTINCT leads FROM links WHERE source = ? AND leads IS NOT NULL"
        return set(self._column(query, document))

    def _clear_parts(self, key: int, body: int, text: str) -> set[_Spelling]:
        """Deletes what hangs on a document; returns the names it had."""
        self._deleted = True
        names = self._connection.execute(
            "SELECT name, kind, spelled FROM names WHERE document = ?", (key,)
        ).fetchall()
        keys = self._column("SELECT key FROM chunks WHERE document = ?", key)
        self._journal(keys)
        for chunk in keys:
            self.fresh.pop(chunk, None)
        self._words.subtract(self._analyzer.vocabulary(text[body:]))
        for part in _PARTS:
            column = "source" if part == "links" else "document"
            self._connection.execute(f"DELETE FROM {part} WHERE {column} = ?", (key,))
        return set(names)

    def _put_document(self, indexed: IndexedDocument) -> int:
        document = indexed.chunked.document
        row = self._row(
            "INSERT INTO documents"
            " (id, short, size, mtime_ns, digest, settled, modified, fields, body, text) VALUES"
            " (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
            " size = excluded.size, mtime_ns = excluded.mtime_ns, digest = excluded.digest,"
            " settled = excluded.settled, modified = excluded.modified, fields = excluded.fields,"
            " body = excluded.body, text = excluded.text RETURNING key",
            document.id,
            short_id(document.id),
            *_state_columns(indexed.state),
            _modified(document.fields, indexed.state),
            msgspec.json.encode(document.fields).decode(),
            document.body,
            document.text,
        )
        return int(row[0])

    def _put_parts(self, key: int, chunked: ChunkedDocument) -> list[ChunkKey]:
        document = chunked.document
        self._connection.executemany(
            'INSERT INTO sections (document, id, header_path, start, "end", first_line, last_line)'
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (key, s.id, _as_json(s.header_path), s.start, s.end, s.first_line, s.last_line)
                for s in chunked.sections
            ],
        )
        keys = self._put_chunks(key, chunked)
        self._journal(keys)
        self._connection.executemany(
            "INSERT INTO code_blocks VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (key, chunk, fold(b.language), b.text, b.start, b.end, b.first_line, b.last_line)
                for chunk, blocks in zip(keys, chunked.code_by_chunk(), strict=True)
                for b in blocks
            ],
        )
        self._put_names(key, chunked, keys)
        self._connection.executemany(
            "INSERT INTO facets VALUES (?, ?, ?)", [(key, *facet) for facet in facets_of(document)]
        )
        self._put_links(key, document)
        return keys

    def _put_names(self, document: int, chunked: ChunkedDocument, keys: Sequence[ChunkKey]) -> None:
        key_of = dict(zip((chunk.id for chunk in chunked.chunks), keys, strict=True))
        self._connection.executemany(
            "INSERT INTO chunk_names VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    document,
                    key_of[chunk.id],
                    name.kind,
                    fold_name(name.path[-1]),
                    _as_json(name.path),
                    name.start,
                    name.line,
                )
                for chunk, name in chunked.names()
            ],
        )

    def _put_links(self, source: int, document: Document) -> None:
        first = self._column("SELECT coalesce(max(key), 0) + 1 FROM links")[0]
        links = list(enumerate(document.links, first))
        self._connection.executemany(
            "INSERT INTO links (key, source, kind, target, anchor, label, line)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (key, source, link.kind, link.target, link.anchor, link.label, link.line)
                for key, link in links
            ],
        )
        self._connection.executemany(
            "INSERT INTO link_names VALUES (?, ?)",
            [(key, name) for key, link in links for name in names_of_target(document.id, link)],
        )

    def _put_chunks(self, document: int, chunked: ChunkedDocument) -> list[ChunkKey]:
        keys = [next(self._chunk_keys) for _ in chunked.chunks]
        self._connection.executemany(
            'INSERT INTO chunks (key, document, id, section, header_path, start, "end", overlap,'
            " first_line, last_line, text_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    key,
                    document,
                    chunk.id,
                    chunk.section,
                    _as_json(chunk.header_path),
                    chunk.start,
                    chunk.end,
                    chunk.overlap,
                    chunk.first_line,
                    chunk.last_line,
                    text_key(chunked.embedding_text(chunk)),
                )
                for key, chunk in zip(keys, chunked.chunks, strict=True)
            ],
        )
        return keys

    def _journal(self, keys: Iterable[ChunkKey], *, terms: bool = True) -> None:
        self._connection.executemany(
            "INSERT INTO journal VALUES (?, ?, ?)",
            [(self._generation, key, terms) for key in keys],
        )

    def _row(self, query: str, *values: object) -> Any:
        return self._connection.execute(query, values).fetchone()

    def _column(self, query: str, *values: object) -> list[int]:
        return [row[0] for row in self._connection.execute(query, values)]


def _state_columns(state: FileState) -> tuple[int, int, str, bool]:
    return state.size, _mtime_ns(state), state.digest, state.settled


def _modified(fields: Fields, state: FileState) -> float:
    return modified(fields, _mtime_ns(state))


def _mtime_ns(state: FileState) -> int:
    return max(-_LATEST, min(_LATEST, state.mtime_ns))
