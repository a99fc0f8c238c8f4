"""The vectors that were made of texts, by text key."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dowse.store.embedded.failures import truth_damaged
from dowse.store.embedded.sqlite.records import CHUNK, KeyedChunkRow, keyed_chunk, of_documents
from dowse.store.embedded.sqlite.statements import Statements
from dowse.store.embedded.sqlite.sums import is_sound
from dowse.store.vectors import decode_vector
from dowse.types import Vector, context_of, embedding_text

_AT_ONCE = 500  # values bound to one statement: old builds of SQLite take 999


class SqliteTextVectors:
    """The vectors of the model that the index was built with."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql

    def known(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors of these text keys, as far as there are any."""
        query = "SELECT vector FROM embeddings WHERE model = ? AND text_key = ?"
        model, dimensions = self._sql.model()
        found = {}
        for key in keys:
            row = self._sql.row(tuple[bytes], query, model, key)
            if row is not None and len(row[0]) != 2 * dimensions:
                raise truth_damaged("A vector is not as it was written.")
            if row is not None:
                found[key] = decode_vector(row[0])
        return found

    def missing(self, keys: Sequence[bytes]) -> list[bytes]:
        """Those of these text keys that have no vector, or a damaged one, in their order."""
        model, sound = self._sql.model()[0], set[bytes]()
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            rows = self._sql.rows(
                tuple[bytes, Any, Any],  # a damaged vector is made again
                "SELECT text_key, vector, checksum FROM embeddings"
                f" WHERE model = ? AND text_key IN ({', '.join('?' * len(some))})",
                model,
                *some,
            )
            sound.update(key for key, *kept in rows if is_sound(*kept))
        return [key for key in keys if key not in sound]

    def waiting(self) -> list[str]:
        """The embedding texts of chunks that have no vector yet."""
        rows = self._sql.made(
            keyed_chunk,
            KeyedChunkRow,
            f"SELECT c.key, c.document, {CHUNK} FROM chunks c WHERE NOT EXISTS"
            " (SELECT 1 FROM embeddings e WHERE e.model = ? AND e.text_key = c.text_key)"
            " ORDER BY c.key",
            self._sql.model()[0],
        )
        owners = json.dumps(sorted({owner for _, owner, _ in rows}))
        wanted = of_documents("d.key, json_extract(d.fields, '$.title'), d.text")
        found = self._sql.rows(tuple[int, str, str], wanted, owners)
        documents = {key: (title, text) for key, title, text in found}
        context = context_of(self._sql.stamp())
        return [
            embedding_text(title, chunk.header_path, text[chunk.start : chunk.end], context)
            for _, owner, chunk in rows
            if owner in documents
            for title, text in [documents[owner]]
        ]
