"""Write the index: each change is a transaction, after which the replicas follow."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import count
from typing import Any, Protocol, get_args

import msgspec

from dowse._model import (
    Batch,
    ChunkedDocument,
    ChunkKey,
    Document,
    Fields,
    FileState,
    IndexedDocument,
    Link,
    Maintenance,
    Stamp,
    Stream,
    Vector,
    modified,
    short_id,
    text_key,
)
from dowse._model.ports import Analyzer, DocumentTable, Links, TextVectors, Vocabulary
from dowse._store.files import database_damaged
from dowse._store.sql.database import (
    ROOTS,
    Database,
    Errors,
    SqlConnection,
    Statements,
    communities_sum,
    encode_vector,
    keep_document_sums,
    sum_of,
)
from dowse._store.sql.reader import (
    SqlTables,
    facets_of,
)
from dowse._text.analyzer import terms_of
from dowse._text.links import LinkName, choose, names_of, names_of_target
from dowse._text.matching import fold, fold_name

_EMBEDDED = "embedded"
"""Under this name `meta` has the last generation in which every chunk had a vector."""


class Followers(Protocol):
    """What must keep up with the database: the replicas."""

    def catch_up(self, database: Database, *, repair: bool) -> None:
        """Bring them to the database's generation."""

    def renew(self, database: Database, *, thorough: bool) -> None:
        """Build those again that changes have worn."""


class SqlWriter:
    """The writing side of a store; only the holder of the lock has one."""

    database = Database

    def __init__(
        self,
        connection: SqlConnection,
        errors: Errors,
        analyzer: Analyzer,
        replicas: Followers,
        complaints: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self._complaints = complaints  # about the database itself
        self._connection = connection
        self._errors = errors
        self._analyzer = analyzer
        self._replicas = replicas
        self._sql = Statements(connection, errors)
        tables = _WriterTables(self._sql, self._set_meta)
        self.catalogue: DocumentTable = tables
        self.links: Links = tables
        self.vocabulary: Vocabulary = tables
        self.text_vectors: TextVectors = tables

    def start(self, stamp: Stamp) -> None:
        """Empty the index and stamp it; known vectors are kept.

        Raises `Damaged` when the database cannot be relied on, even emptied.
        """
        with self._errors():
            for complaint in self._complaints():
                raise database_damaged(complaint)
        with self._change() as change:
            change.clear()
            text = json.dumps(stamp, sort_keys=True)
            self._set_meta("stamp", text)
            self._set_meta("stamp_sum", str(sum_of(text.encode())))

    def note_roots(self, roots: Sequence[str]) -> None:
        """Note which folders the index is made of."""
        if self.catalogue.roots() != list(roots):
            with self._errors():
                self._set_meta(ROOTS, json.dumps(list(roots)))

    def apply(self, batch: Batch) -> None:
        """Take a batch in one transaction: after a crash all of it is there, or nothing."""
        with self._change() as change:
            change.keep(*self._sql.model(), batch.vectors)
            for document_id in batch.gone:
                change.remove(document_id)
            for document in batch.put:
                change.put(document)
            for document_id, state in batch.touched:
                change.touch(document_id, state)

    def remember(self, vectors: Mapping[bytes, Vector]) -> None:
        """Keep vectors by text key; chunks that were waiting for one of them get it."""
        with self._change() as change:
            change.keep(*self._sql.model(), vectors)

    @contextmanager
    def _change(self) -> Iterator[TableWriter]:
        """Make the next generation in a transaction; the replicas follow once it is kept."""
        with self._errors():
            try:
                change = self._begin()
                yield change
                change.finish()
                self._keep_embedded(change)
                self._set_pending(self.pending() | change.pending)
                self._commit(change)
            except BaseException:
                self._connection.rollback()
                raise

    def _begin(self) -> TableWriter:
        self._connection.execute("BEGIN IMMEDIATE")
        before = self.catalogue.generation
        self._connection.execute("DELETE FROM journal WHERE generation <= ?", (before,))
        self._set_meta("journal_from", str(before))
        self._set_meta("journal_from_id", self._sql.meta("generation_id") or "")
        self._set_meta("generation", str(before + 1))
        self._set_meta("generation_id", uuid.uuid4().hex)
        return TableWriter(self._connection, self._analyzer, before + 1)

    def _commit(self, change: TableWriter) -> None:
        self._connection.execute("COMMIT")
        self._replicas.catch_up(Database(self._connection, change.fresh), repair=True)

    def _keep_embedded(self, change: TableWriter) -> None:
        """Note whether every chunk still has a vector, where that was so before a change."""
        generation, model = self.catalogue.generation, self._sql.model()[0]
        was_so = self._sql.meta(_EMBEDDED) == _all_embedded(generation - 1, model)
        if was_so and not change.leaves_waiting(model):
            self._set_meta(_EMBEDDED, _all_embedded(generation, model))

    def pending(self) -> frozenset[Maintenance]:
        """List what has not been done since documents changed, also when that run was killed."""
        found = self._sql.meta("owed")
        if found is None:  # of a version that did not write it down
            return frozenset(get_args(Maintenance))
        return frozenset(one for one in get_args(Maintenance) if one in found.split())

    def set_communities(self, communities: Mapping[str, int]) -> None:
        """Replace the communities."""
        if dict(communities) == self.links.communities():
            self._done("communities")
            return
        with self._change():
            self._set_pending(self.pending() - {"communities"})
            self._set_meta("communities", communities_sum(communities))
            self._connection.execute("DELETE FROM communities")
            self._connection.executemany(
                "INSERT INTO communities SELECT key, ? FROM documents WHERE id = ?",
                [(community, document_id) for document_id, community in communities.items()],
            )

    def tidy(self, vocabulary: int, *, thorough: bool = False) -> None:
        """Forget unused vectors once they outnumber the used; rebuild a worn keyword index."""
        self._forget_vectors(vocabulary)
        self._replicas.renew(self.database(self._connection), thorough=thorough)
        self._done("tidy")

    def _forget_vectors(self, vocabulary: int) -> None:
        with self._errors():
            # To tell the used from the unused takes a look at all vectors, to count them does not.
            ((kept, chunks),) = self._sql.rows(
                tuple[int, int],
                "SELECT (SELECT count(*) FROM embeddings), (SELECT count(*) FROM chunks)",
            )
            if kept <= 2 * chunks:
                return
            self._connection.execute("DROP TABLE IF EXISTS temp.used")
            self._connection.execute("CREATE TEMP TABLE used (text_key BLOB PRIMARY KEY)")
            self._connection.execute("INSERT INTO used SELECT DISTINCT text_key FROM chunks")
            self._connection.executemany(
                "INSERT INTO used VALUES (?) ON CONFLICT DO NOTHING",
                [(text_key(word),) for word in self.vocabulary.most_frequent(vocabulary)],
            )
            ((used,),) = self._sql.rows(
                tuple[int], "SELECT count(*) FROM embeddings JOIN used USING (text_key)"
            )
            if kept > 2 * used:
                with self._change():
                    self._connection.execute(
                        "DELETE FROM embeddings WHERE text_key NOT IN (SELECT text_key FROM used)"
                    )
            self._connection.execute("DROP TABLE temp.used")
            self._connection.execute("PRAGMA optimize")

    def _done(self, kind: Maintenance) -> None:
        """Note that nothing of a kind is pending any more; for readers nothing changes."""
        with self._errors():
            self._set_pending(self.pending() - {kind})

    def _set_pending(self, pending: frozenset[Maintenance]) -> None:
        if self._sql.meta("owed") != (text := " ".join(sorted(pending))):
            self._set_meta("owed", text)

    def _set_meta(self, name: str, value: str) -> None:
        self._connection.execute(
            "INSERT INTO meta VALUES (?, ?)"
            " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (name, value),
        )


class _WriterTables(SqlTables, frozen=True):
    """Remembers that no chunk waits for a vector: to find that out takes a look at all chunks."""

    _note: Callable[[str, str], None]

    def waiting(self) -> dict[ChunkKey, str]:
        """List the chunks without a vector, in the order of the text, with their documents' ids."""
        known = _all_embedded(self._sql.generation(), self._sql.model()[0])
        if self._sql.meta(_EMBEDDED) == known:
            return {}
        found = super().waiting()
        if not found:
            self._note(_EMBEDDED, known)
        return found


def _all_embedded(generation: int, model: str) -> str:
    """Say that in a generation every chunk has a vector of a model.

    The generation is part of it: an older version of dowse may have stored chunks since.
    """
    return f"{generation} {model}"


# ── The tables ────────────────────────────────────────────────────────────

_PARTS = (
    "code_blocks WHERE document",
    "chunk_names WHERE document",
    "chunks WHERE document",
    "sections WHERE document",
    "links WHERE source",
    "names WHERE document",
    "facets WHERE document",
)
_LATEST = 2**63 - 1  # nanoseconds: the year 2262, the last that SQLite's integers reach

_Spelling = tuple[str, str, str]
"""A name, its kind, and how it is spelled out."""

_as_json = lru_cache(1000)(json.dumps)  # neighbouring chunks are under the same headings


class TableWriter:
    """Change the tables document by document; `finish` does what is cheaper done at once."""

    def __init__(self, connection: SqlConnection, analyzer: Analyzer, generation: int) -> None:
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
        self._chunk_keys = count(
            (self._row("SELECT seq FROM sqlite_sequence WHERE name = 'chunks'") or (0,))[0] + 1
        )

    @property
    def pending(self) -> frozenset[Maintenance]:
        """What has to be done once more after this change."""
        due: dict[Maintenance, bool] = {"communities": self._links_changed, "tidy": self._deleted}
        return frozenset(kind for kind, is_due in due.items() if is_due)

    def clear(self) -> None:
        """Delete all documents, and what hangs on them."""
        self._deleted = self._links_changed = True
        self._journal(self._column("SELECT key FROM chunks"))
        self.fresh.clear()
        self._connection.execute("DELETE FROM documents")
        self._connection.execute("DELETE FROM terms")

    def remove(self, document_id: str) -> None:
        """Delete a document."""
        row = self._row("SELECT key, body, text FROM documents WHERE id = ?", document_id)
        if row is not None:
            self._names |= {name for name, *_ in self._clear_parts(*row)}
            self._connection.execute("DELETE FROM documents WHERE key = ?", (row[0],))

    def put(self, indexed: IndexedDocument) -> None:
        """Insert or replace a document."""
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
        """Note a file's new time."""
        self._connection.execute(
            "UPDATE documents SET size = ?, mtime_ns = ?, digest = ?, settled = ?, modified ="
            " CASE WHEN json_extract(fields, '$.modified') IS NULL THEN ? ELSE modified END"
            " WHERE id = ?",
            (*_state_columns(state, Fields()), document_id),
        )

    def keep(self, model: str, dimensions: int, vectors: Mapping[bytes, Vector]) -> None:
        """Keep vectors by text key, and give them to the chunks that have such a text."""
        for key, vector in vectors.items():
            kept = encode_vector(vector, dimensions)
            if self._connection.execute(
                "INSERT INTO embeddings (model, text_key, vector, checksum) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (model, text_key) DO UPDATE SET vector = excluded.vector,"
                " checksum = excluded.checksum WHERE embeddings.vector != excluded.vector",
                (model, key, kept, sum_of(kept)),
            ).rowcount:
                self._journal(
                    self._column("SELECT key FROM chunks WHERE text_key = ?", key), terms=False
                )

    def finish(self) -> None:
        """Resolve the links that the change concerns, and count words up and down."""
        _resolve_links(self._connection, self._names, self._put)
        # Names that came or went may lead links of any document elsewhere. Otherwise only the
        # links of the documents that changed can lead elsewhere, and most edits change none.
        self._links_changed = (
            self._links_changed
            or bool(self._names)
            or any(self._leads(key) != led for key, led in self._led.items())
        )
        self._connection.executemany(
            "INSERT INTO terms VALUES (?, ?)"
            " ON CONFLICT (term) DO UPDATE SET count = terms.count + excluded.count",
            ((term, count) for term, count in self._words.items() if count),
        )
        self._connection.execute("DELETE FROM terms WHERE count <= 0")

    def leaves_waiting(self, model: str) -> bool:
        """Tell whether a chunk that it stored has no vector of a model."""
        return bool(
            self._row(
                "SELECT 1 FROM journal j JOIN chunks c ON c.key = j.chunk WHERE j.generation = ?"
                " AND NOT EXISTS"
                " (SELECT 1 FROM embeddings e WHERE e.model = ? AND e.text_key = c.text_key)",
                self._generation,
                model,
            )
        )

    def _leads(self, document: int) -> set[int]:
        """List the documents that the links of a document lead to."""
        return set(
            self._column("SELECT leads FROM links WHERE source = ? AND leads IS NOT NULL", document)
        )

    def _clear_parts(self, key: int, body: int, text: str) -> set[_Spelling]:
        """Delete what hangs on a document; return the names it had."""
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
            self._connection.execute(f"DELETE FROM {part} = ?", (key,))
        return set(names)

    def _put_document(self, indexed: IndexedDocument) -> int:
        document = indexed.chunked.document
        return int(
            self._row(
                "INSERT INTO documents"
                " (id, short, size, mtime_ns, digest, settled, modified, fields, body, text) VALUES"
                " (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
                " size = excluded.size, mtime_ns = excluded.mtime_ns, digest = excluded.digest,"
                " settled = excluded.settled, modified = excluded.modified,"
                " fields = excluded.fields, body = excluded.body, text = excluded.text"
                " RETURNING key",
                document.id,
                short_id(document.id),
                *_state_columns(indexed.state, document.fields),
                msgspec.json.encode(document.fields).decode(),
                document.body,
                document.text,
            )[0]
        )

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
        keys = [next(self._chunk_keys) for _ in chunked.chunks]
        self._connection.executemany(
            'INSERT INTO chunks (key, document, id, section, header_path, start, "end", overlap,'
            " first_line, last_line, text_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    chunk_key,
                    key,
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
                for chunk_key, chunk in zip(keys, chunked.chunks, strict=True)
            ],
        )
        self._journal(keys)
        self._connection.executemany(
            "INSERT INTO code_blocks VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (key, chunk, fold(b.language), b.text, b.start, b.end, b.first_line, b.last_line)
                for chunk, blocks in zip(keys, chunked.code_by_chunk(), strict=True)
                for b in blocks
            ],
        )
        key_of = dict(zip((chunk.id for chunk in chunked.chunks), keys, strict=True))
        self._connection.executemany(
            "INSERT INTO chunk_names VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    key,
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
        self._connection.executemany(
            "INSERT INTO facets VALUES (?, ?, ?)", [(key, *facet) for facet in facets_of(document)]
        )
        self._put_links(key, document)
        return keys

    def _put_links(self, source: int, document: Document) -> None:
        (first,) = self._row("SELECT coalesce(max(key), 0) + 1 FROM links")
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

    def _journal(self, keys: Iterable[ChunkKey], *, terms: bool = True) -> None:
        self._connection.executemany(
            "INSERT INTO journal VALUES (?, ?, ?)",
            [(self._generation, key, int(terms)) for key in keys],
        )

    def _row(self, query: str, *values: object) -> Any:
        return self._connection.execute(query, values).fetchone()

    def _column(self, query: str, *values: object) -> list[int]:
        return [row[0] for row in self._connection.execute(query, values)]


def _state_columns(state: FileState, fields: Fields) -> tuple[int, int, str, int, float]:
    mtime_ns = max(-_LATEST, min(_LATEST, state.mtime_ns))
    return state.size, mtime_ns, state.digest, int(state.settled), modified(fields, mtime_ns)


def _resolve_links(
    connection: SqlConnection, names: Collection[str], documents: Collection[str]
) -> None:
    """Find out where links lead: those of some documents, and those that look up some names."""
    links = connection.execute(
        "SELECT l.key, s.id, l.kind, l.target, l.anchor, l.label, l.line FROM links l"
        " JOIN documents s ON s.key = l.source WHERE l.key IN"
        # With OR instead of UNION, SQLite looks at all links.
        " (SELECT link FROM link_names WHERE name IN (SELECT value FROM json_each(?))"
        " UNION SELECT key FROM links WHERE source IN"
        " (SELECT key FROM documents WHERE id IN (SELECT value FROM json_each(?))))",
        (json.dumps(sorted(names)), json.dumps(sorted(documents))),
    ).fetchall()
    wanted = {key: names_of_target(source, Link(*link)) for key, source, *link in links}
    asked = sorted({name for some in wanted.values() for name in some})
    named: dict[str, list[LinkName]] = {}
    for name, document, kind, spelled in connection.execute(
        "SELECT n.name, d.id, n.kind, n.spelled FROM names n JOIN documents d"
        " ON d.key = n.document WHERE n.name IN (SELECT value FROM json_each(?))",
        (json.dumps(asked),),
    ):
        named.setdefault(name, []).append(LinkName(document, name, kind, spelled))
    leads = []
    for key, source, *link in links:
        bearers = [bearer for name in wanted[key] for bearer in named.get(name, ())]
        leads.append((choose(source, Link(*link), bearers), key))
    connection.executemany(
        "UPDATE links SET leads = (SELECT key FROM documents WHERE id = ?) WHERE key = ?", leads
    )
