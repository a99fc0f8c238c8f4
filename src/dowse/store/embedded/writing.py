"""Changing the truth: one batch, one transaction."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from dowse.ports import Analyzer
from dowse.store.embedded.keyword_replica import KeywordIndex
from dowse.store.embedded.reading import SqliteReading, encode_vector
from dowse.store.embedded.vector_replica import VectorIndex
from dowse.store.resolve import Name, choose, name_of_target, names_of
from dowse.types import (
    Batch,
    Chunk,
    ChunkedDocument,
    ChunkKey,
    CodeBlock,
    IndexedDocument,
    Link,
    Stamp,
    Vector,
    short_id,
    text_key,
)

_KEPT_WORDS = 10_000  # the vocabulary whose vectors are kept
_PARTS = ("code_blocks", "chunks", "sections", "links", "names")


class SqliteWriting(SqliteReading):
    """The writing side of the embedded store; only the holder of the lock has one."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        analyzer: Analyzer,
        catch_up: Callable[[], tuple[KeywordIndex, VectorIndex]],
    ) -> None:
        self._analyzer = analyzer
        self._catch_up = catch_up
        super().__init__(connection, *catch_up())

    def start(self, stamp: Stamp) -> None:
        """Empties the index and stamps it; known vectors are kept."""
        with self._transaction():
            self._journal(row[0] for row in self._rows("SELECT key FROM chunks"))
            for table in ("documents", "terms"):  # all the rest goes with the documents
                self._connection.execute(f"DELETE FROM {table}")
            self._set_meta("stamp", json.dumps(stamp, sort_keys=True))
        self._publish()

    def apply(self, batch: Batch) -> None:
        """Takes a batch in one transaction: after a crash all of it is there, or nothing."""
        with self._transaction():
            self._keep(batch.vectors)
            changed: set[str] = set()
            for document_id in batch.gone:
                changed |= self._remove(document_id)
            for document in batch.put:
                changed |= self._put(document)
            self._connection.executemany(
                "UPDATE documents SET size = ?, mtime_ns = ?, digest = ? WHERE id = ?",
                [(s.size, s.mtime_ns, s.digest, document_id) for document_id, s in batch.touched],
            )
            self._resolve(changed, [document.chunked.document.id for document in batch.put])
            self._connection.execute("DELETE FROM terms WHERE count <= 0")
        self._publish()

    def remember(self, vectors: Mapping[bytes, Vector]) -> None:
        """Keeps vectors by text key; chunks that were waiting for one of them get it."""
        with self._transaction():
            self._keep(vectors)
            for key in vectors:
                rows = self._rows("SELECT key FROM chunks WHERE text_key = ?", key)
                self._journal(row[0] for row in rows)
        self._publish()

    def set_communities(self, communities: Mapping[str, int]) -> None:
        """Replaces the communities."""
        with self._transaction():
            self._connection.execute("DELETE FROM communities")
            self._connection.executemany(
                "INSERT INTO communities SELECT key, ? FROM documents WHERE id = ?",
                [(community, document_id) for document_id, community in communities.items()],
            )
        self._publish()

    def tidy(self) -> None:
        """Forgets vectors of texts that are gone once they outnumber those in use."""
        self._connection.execute("CREATE TEMP TABLE used (text_key BLOB PRIMARY KEY)")
        self._connection.execute("INSERT OR IGNORE INTO used SELECT text_key FROM chunks")
        words = [(text_key(word),) for word in self.vocabulary(_KEPT_WORDS)]
        self._connection.executemany("INSERT OR IGNORE INTO used VALUES (?)", words)
        idle, busy = self._connection.execute(
            "SELECT count(*) FILTER (WHERE u.text_key IS NULL), count(u.text_key)"
            " FROM embeddings e LEFT JOIN used u ON u.text_key = e.text_key"
        ).fetchone()
        if idle > busy:
            with self._transaction():
                self._connection.execute(
                    "DELETE FROM embeddings WHERE text_key NOT IN (SELECT text_key FROM used)"
                )
            self._publish()
        self._connection.execute("DROP TABLE used")
        self._connection.execute("PRAGMA optimize")

    # ── Inside a transaction ─────────────────────────────────────────────────

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            before = self.generation
            self._connection.execute("DELETE FROM journal WHERE generation <= ?", (before,))
            self._set_meta("journal_from", str(before))
            self._set_meta("generation", str(before + 1))
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _publish(self) -> None:
        self._keyword, self._vectors = self._catch_up()

    def _remove(self, document_id: str) -> set[str]:
        """Deletes a document; returns the names that no longer lead to it."""
        row = self._row("SELECT key, body, text FROM documents WHERE id = ?", document_id)
        if row is None:
            return set()
        names = self._clear(*row)
        self._connection.execute("DELETE FROM documents WHERE key = ?", (row[0],))
        return names

    def _clear(self, key: int, body: int, text: str) -> set[str]:
        """Deletes what hangs on a document; returns the names it had."""
        self._journal(
            row[0] for row in self._rows("SELECT key FROM chunks WHERE document = ?", key)
        )
        names = {row[0] for row in self._rows("SELECT name FROM names WHERE document = ?", key)}
        self._count_words(text[body:], -1)
        for part in _PARTS:
            column = "source" if part == "links" else "document"
            self._connection.execute(f"DELETE FROM {part} WHERE {column} = ?", (key,))
        return names

    def _put(self, indexed: IndexedDocument) -> set[str]:
        """Inserts or replaces a document; returns the names whose meaning may have changed."""
        document, state = indexed.chunked.document, indexed.state
        old = self._row("SELECT key, body, text FROM documents WHERE id = ?", document.id)
        names_before = self._clear(*old) if old else set()
        key = self._row(
            "INSERT INTO documents"
            " (id, short, size, mtime_ns, digest, modified, fields, body, text) VALUES"
            " (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
            " size = excluded.size, mtime_ns = excluded.mtime_ns, digest = excluded.digest,"
            " modified = excluded.modified, fields = excluded.fields, body = excluded.body,"
            " text = excluded.text RETURNING key",
            document.id,
            short_id(document.id),
            state.size,
            state.mtime_ns,
            state.digest,
            indexed.modified,
            msgspec.json.encode(document.fields).decode(),
            document.body,
            document.text,
        )[0]
        self._put_parts(key, indexed)
        self._count_words(document.text[document.body :], +1)
        names = names_of(document.id, document.fields.aliases)
        self._connection.executemany(
            "INSERT INTO names VALUES (?, ?, ?, ?)",
            [(key, name.name, name.kind, name.spelled) for name in names],
        )
        return names_before ^ {name.name for name in names}

    def _put_parts(self, key: int, indexed: IndexedDocument) -> None:
        chunked, document = indexed.chunked, indexed.chunked.document
        self._connection.executemany(
            'INSERT INTO sections (document, id, header_path, start, "end", first_line, last_line)'
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (key, s.id, json.dumps(s.header_path), s.start, s.end, s.first_line, s.last_line)
                for s in chunked.sections
            ],
        )
        keys = [self._put_chunk(key, chunked, chunk) for chunk in chunked.chunks]
        self._journal(keys)
        blocks = [
            (key, keys[place], b.language, b.text, b.start, b.end, b.first_line, b.last_line)
            for b in document.code_blocks
            if (place := _place_of(chunked, b)) is not None
        ]
        self._connection.executemany(
            "INSERT INTO code_blocks VALUES (?, ?, ?, ?, ?, ?, ?, ?)", blocks
        )
        self._connection.executemany(
            "INSERT INTO links (source, kind, target, anchor, label, line, name)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (key, k.kind, k.target, k.anchor, k.label, k.line, name_of_target(document.id, k))
                for k in document.links
            ],
        )

    def _put_chunk(self, document: int, chunked: ChunkedDocument, chunk: Chunk) -> ChunkKey:
        return int(
            self._row(
                'INSERT INTO chunks (document, id, section, header_path, start, "end", overlap,'
                " first_line, last_line, text_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
                " RETURNING key",
                document,
                chunk.id,
                chunk.section,
                json.dumps(chunk.header_path),
                chunk.start,
                chunk.end,
                chunk.overlap,
                chunk.first_line,
                chunk.last_line,
                text_key(chunked.embedding_text(chunk)),
            )[0]
        )

    def _resolve(self, changed: set[str], documents: list[str]) -> None:
        """Finds anew where links lead: those of changed documents, and those to changed names."""
        links = self._rows(
            "SELECT l.key, s.id, l.kind, l.target, l.anchor, l.label, l.line, l.name FROM links l"
            " JOIN documents s ON s.key = l.source"
            " WHERE l.name IN (SELECT value FROM json_each(?))"
            " OR s.id IN (SELECT value FROM json_each(?))",
            json.dumps(sorted(changed)),
            json.dumps(documents),
        )
        named: dict[str, list[Name]] = {name: [] for *_, name in links}
        for row in self._rows(
            "SELECT n.name, d.id, n.kind, n.spelled FROM names n JOIN documents d"
            " ON d.key = n.document WHERE n.name IN (SELECT value FROM json_each(?))",
            json.dumps(sorted(named)),
        ):
            named[row[0]].append(Name(row[1], row[0], row[2], row[3]))
        leads = [
            (choose(source, Link(*link), named[name]), key) for key, source, *link, name in links
        ]
        self._connection.executemany(
            "UPDATE links SET leads = (SELECT key FROM documents WHERE id = ?) WHERE key = ?", leads
        )

    def _count_words(self, text: str, sign: int) -> None:
        counts = Counter(self._analyzer.vocabulary(text))
        self._connection.executemany(
            "INSERT INTO terms VALUES (?, ?)"
            " ON CONFLICT (term) DO UPDATE SET count = count + excluded.count",
            [(term, sign * count) for term, count in counts.items()],
        )

    def _keep(self, vectors: Mapping[bytes, Vector]) -> None:
        self._connection.executemany(
            "INSERT OR REPLACE INTO embeddings VALUES (?, ?, ?)",
            [(self._model, key, encode_vector(vector)) for key, vector in vectors.items()],
        )

    def _journal(self, keys: Iterable[ChunkKey]) -> None:
        generation = self.generation
        self._connection.executemany(
            "INSERT INTO journal VALUES (?, ?)", [(generation, key) for key in keys]
        )

    def _set_meta(self, name: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def _row(self, query: str, *values: object) -> Any:
        return self._connection.execute(query, values).fetchone()


def _place_of(chunked: ChunkedDocument, block: CodeBlock) -> int | None:
    """The place of the chunk in which a code block begins."""
    places = (place for place, chunk in enumerate(chunked.chunks) if block.start < chunk.end)
    return next(places, None)
