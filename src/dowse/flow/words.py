"""The words of the documents with their vectors, kept for as long as the index stays the same."""

from __future__ import annotations

import threading

import numpy as np

from dowse.ports import Reading
from dowse.types import Matrix, text_key


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
        self._vectors: Matrix = np.zeros((0, 0), dtype=np.float32)

    def of(self, reading: Reading) -> tuple[list[str], Matrix]:
        """The words that have a vector, and the vectors."""
        with self._lock:
            if (reading.catalogue.generation, reading.keyword.size) != self._of:
                self._load(reading)
                self._of = (reading.catalogue.generation, reading.keyword.size)
            return self._words, self._vectors

    def _load(self, reading: Reading) -> None:
        keys = {text_key(word): word for word in reading.vocabulary.most_frequent(self._size)}
        known = reading.text_vectors.known(list(keys))
        self._words = [word for key, word in keys.items() if key in known]
        vectors = [known[key] for key in keys if key in known]
        self._vectors = np.stack(vectors) if vectors else np.zeros((0, 0), dtype=np.float32)
