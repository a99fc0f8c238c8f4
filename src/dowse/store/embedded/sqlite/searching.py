"""What a search asks of one generation: rankings, conditions, neighbours, words."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dowse.store.embedded.replicas import Indexes
from dowse.store.embedded.sqlite.conditions import chunks_with, documents_with
from dowse.store.embedded.sqlite.records import EDGE_ORDER, EDGES, edge
from dowse.store.embedded.sqlite.spelling import SEPARATOR, nearly, slips_in
from dowse.store.embedded.sqlite.statements import Statements
from dowse.store.fold import fold_word
from dowse.types import ChunkKey, Condition, Edge, Keys, Scores, Vector

_AFTER_ALL = "\U0010ffff"  # sorts behind every letter


class SqliteSearching(Statements):
    """The searching side of the embedded store."""

    def __init__(
        self, connection: sqlite3.Connection, database: Path, indexes: Callable[[], Indexes]
    ) -> None:
        super().__init__(connection, database)
        self._indexes = indexes

    def links_of(self, document_ids: Collection[str]) -> list[Edge]:
        """The links that begin or end at any of these documents, by source and line."""
        rows = self._rows(
            "WITH wanted AS (SELECT key FROM documents WHERE id IN"
            f" (SELECT value FROM json_each(?))) {EDGES} WHERE l.key IN"
            " (SELECT key FROM links WHERE source IN wanted"
            f" UNION SELECT key FROM links WHERE leads IN wanted) {EDGE_ORDER}",
            json.dumps(list(document_ids)),
        )
        return [edge(row) for row in rows]

    def keys_of(self, document_ids: Collection[str]) -> Keys:
        """The chunks of these documents."""
        return self._keys(
            "SELECT key FROM chunks WHERE document IN (SELECT key FROM documents WHERE id IN"
            " (SELECT value FROM json_each(?)))",
            json.dumps(list(document_ids)),
        )

    def matching(self, conditions: Sequence[Condition]) -> Keys:
        """The chunks for which every condition holds."""
        keys, owners = self._indexes().owners.get(
            lambda: self._rows("SELECT key, document FROM chunks")
        )
        kept = np.ones(len(keys), dtype=bool)
        for condition in conditions:
            kept &= self._meets(condition, keys, owners) != condition.negated
        return keys[kept]

    def keyword(self, terms: Sequence[str], limit: int, among: Keys | None = None) -> Scores:
        """Chunks that hold any of the terms, best first; only `among` these keys, if given."""
        return self._indexes().keyword.search("body", terms, limit, among)

    def code(self, terms: Sequence[str], limit: int, among: Keys | None = None) -> Scores:
        """Chunks whose code holds any of the terms, best first; promises as `keyword` does."""
        return self._indexes().keyword.search("code", terms, limit, among)

    def nearest(self, vector: Vector, limit: int, among: Keys | None = None) -> Scores:
        """Chunks by cosine to the vector, best first; only `among` these keys, if given."""
        return self._indexes().vectors.search(vector, limit, among)

    def chunk_vectors(self, keys: Sequence[ChunkKey]) -> dict[ChunkKey, Vector]:
        """The vectors of these chunks; those without one are passed over."""
        return self._indexes().vectors.vectors(keys)

    @property
    def size(self) -> int:
        """How many chunks the keyword index holds."""
        return self._indexes().keyword.size

    def frequencies(self, terms: Sequence[str], *, code: bool = False) -> dict[str, int]:
        """In about how many chunks each term stands, or in the code of how many."""
        return self._indexes().keyword.frequencies("code" if code else "body", terms)

    def words(self, prefix: str, limit: int) -> list[str]:
        """Words of the documents that begin so, most frequent first."""
        begin = fold_word(prefix)
        rows = self._rows(
            "SELECT term FROM terms WHERE term >= ? AND term < ? ORDER BY count DESC, term LIMIT ?",
            begin,
            begin + _AFTER_ALL,
            max(0, limit),
        )
        return [row[0] for row in rows]

    def spellings(self, word: str, limit: int) -> list[str]:
        """Words of the documents that are spelled nearly so, nearest first, then most frequent."""
        folded = fold_word(word)
        slips = slips_in(folded)
        if not slips:
            return []
        # As one string: to hand over a hundred thousand rows takes longer than to compare them.
        (together,) = self._row(
            f"SELECT group_concat(term, '{SEPARATOR}') FROM terms"
            " WHERE length(term) BETWEEN ? AND ?",
            len(folded) - slips,
            len(folded) + slips,
        )
        distances = nearly(folded, (together or "").split(SEPARATOR))
        counted = self._rows(
            "SELECT term, count FROM terms WHERE term IN (SELECT value FROM json_each(?))",
            json.dumps(list(distances)),
        )
        counted.sort(key=lambda row: (distances[row[0]], -row[1], row[0]))
        return [term for term, _ in counted[: max(0, limit)]]

    def _meets(self, condition: Condition, keys: Keys, owners: Keys) -> NDArray[np.bool_]:
        """For which of some chunks a condition holds, negation aside."""
        if condition.kind == "phrase":
            return np.isin(keys, self._indexes().keyword.phrase("body", condition.values))
        if condition.kind == "language":
            query, values = chunks_with(condition)
            return np.isin(keys, self._keys(query, *values))
        query, values = documents_with(condition)
        return np.isin(owners, self._keys(query, *values))

    def _keys(self, query: str, *values: object) -> Keys:
        rows = self._rows(query, *values)
        return np.sort(np.fromiter((row[0] for row in rows), np.int64, len(rows)))
