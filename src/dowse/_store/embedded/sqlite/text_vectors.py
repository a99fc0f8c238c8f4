"""The vectors that were made of texts, by text key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dowse._model import ChunkKey, Vector
from dowse._store.embedded.failures import truth_damaged
from dowse._store.embedded.sqlite.statements import Statements
from dowse._store.embedded.sqlite.sums import is_sound
from dowse._store.vectors import decode_vector

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

    def waiting(self) -> dict[ChunkKey, str]:
        """The chunks without a vector, in the order of the text, each with its document's id."""
        return dict(
            self._sql.rows(
                tuple[int, str],
                "SELECT c.key, d.id FROM chunks c JOIN documents d ON d.key = c.document"
                " WHERE NOT EXISTS"
                " (SELECT 1 FROM embeddings e WHERE e.model = ? AND e.text_key = c.text_key)"
                " ORDER BY c.key",
                self._sql.model()[0],
            )
        )
