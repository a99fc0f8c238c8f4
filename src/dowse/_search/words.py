"""The words of the documents with their vectors, kept for as long as the index stays the same."""

from __future__ import annotations

import threading

from dowse._model import Matrix, text_key
from dowse._model.ports import IndexReader
from dowse._util.arrays import np


class KnownWords:
    """Remembers the vocabulary of the generation that was asked for last."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._of = (
            -1,
            -1,
        )  # generation and size: a discarded index counts generations from 0
        self._words: list[str] = []
        self._vectors: Matrix | None = None

    def of(self, reading: IndexReader) -> tuple[list[str], Matrix]:
        """The words that have a vector, and the vectors."""
        with self._lock:
            wanted = (reading.catalogue.generation, reading.keyword.size)
            if self._vectors is None or self._of != wanted:
                self._words, self._vectors = self._load(reading)
                self._of = wanted
            return self._words, self._vectors

    def _load(self, reading: IndexReader) -> tuple[list[str], Matrix]:
        keys = {text_key(word): word for word in reading.vocabulary.most_frequent(self._size)}
        known = reading.text_vectors.known(list(keys))
        words = [word for key, word in keys.items() if key in known]
        vectors = [known[key] for key in keys if key in known]
        return words, np.stack(vectors) if vectors else np.zeros((0, 0), dtype=np.float32)
