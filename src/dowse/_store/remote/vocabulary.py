"""The words of all documents, and the vectors of texts, read from an engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dowse._model import ChunkKey, Vector
from dowse._store.remote.coding import decode
from dowse._store.remote.documents import FoundChunk
from dowse._store.remote.rows import In
from dowse._store.remote.schema import CHUNK_SCALARS
from dowse._store.remote.texts import read_vectors, vector_keys
from dowse._store.sql.reader import nearly, slips_in
from dowse._text.fold import fold_word

if TYPE_CHECKING:
    from dowse._store.remote.catalogue import Viewing

_AT_ONCE = 500  # vectors that are asked for in one call


class RemoteVocabulary:
    """The words of all documents."""

    def __init__(self, of: Viewing) -> None:
        self._of = of

    def most_frequent(self, size: int) -> list[str]:
        """The most frequent words, most frequent first."""
        return self.beginning("", size)

    def beginning(self, prefix: str, limit: int) -> list[str]:
        """Words that begin so, most frequent first."""
        words, begin = self._words(), fold_word(prefix)
        found = [word for word in words if word.startswith(begin)]
        return sorted(found, key=lambda word: (-words[word], word))[: max(0, limit)]

    def spelled_like(self, word: str, limit: int) -> list[str]:
        """Words that are spelled nearly so, nearest first, then most frequent."""
        folded, words = fold_word(word), self._words()
        slips = slips_in(folded)
        if not slips:
            return []
        near = [one for one in words if abs(len(one) - len(folded)) <= slips]
        distances = nearly(folded, near)
        found = sorted(distances, key=lambda one: (distances[one], -words[one], one))
        return found[: max(0, limit)]

    def _words(self) -> Counter[str]:
        view = self._of.view
        if view.is_new:
            return Counter()
        return view.shared.words(view.rows, view.head.epoch, view.head.generation)


class RemoteTextVectors:
    """The vectors that were made of texts."""

    def __init__(self, of: Viewing) -> None:
        self._of = of

    def known(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors of these text keys, as far as there are any."""
        view = self._of.view
        if view.is_new:
            return {}
        return read_vectors(view.rows, view.records, view.head.model[0], keys)

    def missing(self, keys: Sequence[bytes]) -> list[bytes]:
        """Those of these text keys that have no vector, in their order."""
        view = self._of.view
        if view.is_new:
            return list(keys)
        names = vector_keys(view.head.model[0], keys)
        known: set[object] = set()
        for start in range(0, len(names), _AT_ONCE):
            known |= view.rows.get(view.records, names[start : start + _AT_ONCE], ["kind"]).keys()
        return [key for key, name in zip(keys, names, strict=True) if name not in known]

    def waiting(self) -> dict[ChunkKey, str]:
        """The chunks without a vector, in the order of the text, each with its document's id."""
        view = self._of.view
        if view.is_new:
            return {}
        rows = view.rows.scan(view.chunks, In("embedded", [0]), CHUNK_SCALARS)
        found = [
            (entry.id, decode(row["data"], FoundChunk).chunk.start, row["key"])
            for row, entry in view.current(rows)
        ]
        return {key: document for document, _, key in sorted(found)}
