"""The one writer: each change is a transaction, after which the replicas follow."""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

from dowse._model import Batch, ChunkedDocument, ChunkKey, Debt, Stamp, Vector, text_key
from dowse._model.ports import Analyzer, DocumentTable, Links, TextVectors, Vocabulary
from dowse._store.embedded.failures import database_errors
from dowse._store.embedded.replicas import Replicas
from dowse._store.embedded.sqlite.catalogue import SqliteCatalogue
from dowse._store.embedded.sqlite.change import TableWriter
from dowse._store.embedded.sqlite.database import upgrade
from dowse._store.embedded.sqlite.links import SqliteLinks
from dowse._store.embedded.sqlite.roots import ROOTS
from dowse._store.embedded.sqlite.statements import Statements
from dowse._store.embedded.sqlite.structure import check_structure
from dowse._store.embedded.sqlite.sums import communities_sum, sum_of
from dowse._store.embedded.sqlite.text_vectors import SqliteTextVectors
from dowse._store.embedded.sqlite.truth import Truth
from dowse._store.embedded.sqlite.vocabulary import SqliteVocabulary

_EMBEDDED = "embedded"
"""Under this name `meta` has the last generation in which every chunk had a vector."""

_IDLE = "idle"
"""Under this name `meta` has how many vectors were unused and used, and how many chunks had been
deleted, when they were last counted."""


class _WriterVectors(SqliteTextVectors):
    """Remembers that no chunk waits for a vector: to find that out takes a look at all chunks."""

    def __init__(self, sql: Statements, note: Callable[[str, str], None]) -> None:
        super().__init__(sql)
        self._note = note

    def waiting(self) -> dict[ChunkKey, str]:
        """The chunks without a vector, in the order of the text, each with its document's id."""
        known = _all_embedded(self._sql.generation(), self._sql.model()[0])
        if self._sql.meta(_EMBEDDED) == known:
            return {}
        found = super().waiting()
        if not found:
            self._note(_EMBEDDED, known)
        return found


def _all_embedded(generation: int, model: str) -> str:
    """Says that in a generation every chunk has a vector of a model.

    The generation is part of it: an older version of dowse may have stored chunks since.
    """
    return f"{generation} {model}"


class SqliteWriting:
    """The writing side of the embedded store; only the holder of the lock has one."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        database: Path,
        analyzer: Analyzer,
        replicas: Replicas,
    ) -> None:
        self._connection = connection
        self._database = database
        self._analyzer = analyzer
        self._replicas = replicas
        self._sql = Statements(connection, database)
        self.catalogue: DocumentTable = SqliteCatalogue(self._sql)
        self.links: Links = SqliteLinks(self._sql)
        self.vocabulary: Vocabulary = SqliteVocabulary(self._sql)
        self.text_vectors: TextVectors = _WriterVectors(self._sql, self._set_meta)
        with database_errors(database):
            upgrade(connection)
        replicas.catch_up(Truth(connection), repair=True)

    def start(self, stamp: Stamp) -> None:
        """Empties the index and stamps it; known vectors are kept.

        Raises `Damaged` when the database cannot be relied on, even emptied.
        """
        with database_errors(self._database):
            check_structure(self._connection)
        with self._change() as change:
            change.clear()
            text = json.dumps(stamp, sort_keys=True)
            self._set_meta("stamp", text)
            self._set_meta("stamp_sum", str(sum_of(text.encode())))

    def note_roots(self, roots: Sequence[str]) -> None:
        """Notes which folders the index is made of."""
        if self.catalogue.roots() != list(roots):
            with database_errors(self._database):
                self._set_meta(ROOTS, json.dumps(list(roots)))

    def expect(self, documents: Iterable[ChunkedDocument]) -> None:
        """Needs nothing: terms are weighed when they are searched for."""

    def apply(self, batch: Batch) -> None:
        """Takes a batch in one transaction: after a crash all of it is there, or nothing."""
        with self._change() as change:
            change.keep(*self._sql.model(), batch.vectors)
            for document_id in batch.gone:
                change.remove(document_id)
            for document in batch.put:
                change.put(document)
            for document_id, state in batch.touched:
                change.touch(document_id, state)

    def remember(self, vectors: Mapping[bytes, Vector]) -> None:
        """Keeps vectors by text key; chunks that were waiting for one of them get it."""
        with self._change() as change:
            change.keep(*self._sql.model(), vectors)

    def owed(self) -> frozenset[Debt]:
        """What has not been done since documents last changed, also when that run was killed."""
        found = self._sql.meta("owed")
        if found is None:  # of a version that did not write it down
            return frozenset(get_args(Debt))
        return frozenset(debt for debt in get_args(Debt) if debt in found.split())

    def set_communities(self, communities: Mapping[str, int]) -> None:
        """Replaces the communities."""
        if dict(communities) == self.links.communities():
            self._pay("communities")
            return
        with self._change():
            self._set_owed(self.owed() - {"communities"})
            self._set_meta("communities", communities_sum(communities))
            self._connection.execute("DELETE FROM communities")
            self._connection.executemany(
                "INSERT INTO communities SELECT key, ? FROM documents WHERE id = ?",
                [(community, document_id) for document_id, community in communities.items()],
            )

    def tidy(self, vocabulary: int, *, thorough: bool = False) -> None:
        """Forgets unused vectors once they outnumber the used; rebuilds a worn keyword index."""
        self._forget_vectors(vocabulary)
        self._replicas.renew(Truth(self._connection), thorough=thorough)
        self._pay("tidy")

    def _forget_vectors(self, vocabulary: int) -> None:
        with database_errors(self._database):
            if not vocabulary and self._has_few_idle():
                return
            self._list_used_texts(vocabulary)
            ((idle, busy),) = self._sql.rows(
                tuple[int, int],
                "SELECT count(*) FILTER (WHERE u.text_key IS NULL), count(u.text_key)"
                " FROM embeddings e LEFT JOIN used u ON u.text_key = e.text_key",
            )
            if idle > busy:
                with self._change():
                    self._connection.execute(
                        "DELETE FROM embeddings WHERE text_key NOT IN (SELECT text_key FROM used)"
                    )
                idle = 0
            self._set_meta(_IDLE, f"{idle} {busy} {self._deleted_chunks()}")
            self._connection.execute("DROP TABLE temp.used")
            self._connection.execute("PRAGMA optimize")

    def _has_few_idle(self) -> bool:
        """Whether unused vectors cannot outnumber the used, by how many chunks were deleted since.

        To count them takes a look at all vectors. A deleted chunk leaves one unused at most.
        """
        noted = (self._sql.meta(_IDLE) or "").split()
        if len(noted) != 3 or not all(map(str.isdecimal, noted)):
            return False
        idle, busy, deleted = map(int, noted)
        since = self._deleted_chunks() - deleted
        return since >= 0 and idle + since <= busy - since

    def _deleted_chunks(self) -> int:
        """How many chunks were ever deleted; keys are never given out twice."""
        ((given, kept),) = self._sql.rows(
            tuple[int, int],
            "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'chunks'), 0),"
            " (SELECT count(*) FROM chunks)",
        )
        return given - kept

    def _list_used_texts(self, vocabulary: int) -> None:
        words = [(text_key(word),) for word in self.vocabulary.most_frequent(vocabulary)]
        self._connection.execute("DROP TABLE IF EXISTS temp.used")
        self._connection.execute("CREATE TEMP TABLE used (text_key BLOB PRIMARY KEY)")
        self._connection.execute("INSERT OR IGNORE INTO used SELECT text_key FROM chunks")
        self._connection.executemany("INSERT OR IGNORE INTO used VALUES (?)", words)

    def _pay(self, debt: Debt) -> None:
        """Notes that nothing of a kind is owed any more; for readers nothing changes."""
        with database_errors(self._database):
            self._set_owed(self.owed() - {debt})

    def _set_owed(self, debts: frozenset[Debt]) -> None:
        if self._sql.meta("owed") != (text := " ".join(sorted(debts))):
            self._set_meta("owed", text)

    @contextmanager
    def _change(self) -> Iterator[TableWriter]:
        """A transaction that makes the next generation; the replicas follow once it is kept."""
        with database_errors(self._database):
            try:
                change = self._begin()
                yield change
                change.finish()
                self._keep_embedded(change)
                self._set_owed(self.owed() | change.debts)
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.rollback()
                raise
            self._replicas.catch_up(Truth(self._connection, change.fresh), repair=True)

    def _keep_embedded(self, change: TableWriter) -> None:
        """Where every chunk had a vector before a change, notes whether that is still so."""
        generation, model = self.catalogue.generation, self._sql.model()[0]
        before = _all_embedded(generation - 1, model)
        if self._sql.meta(_EMBEDDED) == before and not change.leaves_waiting(model):
            self._set_meta(_EMBEDDED, _all_embedded(generation, model))

    def _begin(self) -> TableWriter:
        self._connection.execute("BEGIN IMMEDIATE")
        before = self.catalogue.generation
        self._connection.execute("DELETE FROM journal WHERE generation <= ?", (before,))
        self._set_meta("journal_from", str(before))
        self._set_meta("journal_from_id", self._sql.meta("generation_id") or "")
        self._set_meta("generation", str(before + 1))
        self._set_meta("generation_id", uuid.uuid4().hex)
        return TableWriter(self._connection, self._analyzer, before + 1)

    def _set_meta(self, name: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
