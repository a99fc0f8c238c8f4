"""Fakes for the ports, so that tests of what is built on dowse need no weights and no patching."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from dowse._model import EmbeddedBatch, Matrix, Model, Vector
from dowse.errors import WeightsMissing

__all__ = ["HashEmbedder", "NoEmbedder", "OverlapReranker"]


class HashEmbedder:
    """An embedder that hashes words: texts that share words lie near each other.

    It counts what it reads, so that a test can tell whether anything was embedded at all.
    """

    def __init__(self, dimensions: int = 64, batch: int = 16) -> None:
        self._dimensions = dimensions
        self._batch = batch
        self.texts: list[str] = []  # every passage that was embedded, in order

    @property
    def model(self) -> Model:
        """Return the model behind the vectors."""
        return Model(f"hash/{self._dimensions}", self._dimensions, 100_000)

    def passages(self, texts: Sequence[str]) -> Iterator[EmbeddedBatch]:
        """Embed texts to be found, yielding batches as they are done."""
        for start in range(0, len(texts), self._batch):
            some = texts[start : start + self._batch]
            self.texts += some
            vectors: Matrix = np.stack([self.query(text) for text in some])
            yield EmbeddedBatch(tuple(range(start, start + len(some))), vectors)

    def query(self, text: str) -> Vector:
        """Embed a text to search with."""
        vector: Vector = np.full(self._dimensions, 1e-3, dtype=np.float32)
        for word in text.lower().split():
            digest = hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()
            vector[int.from_bytes(digest[:4], "big") % self._dimensions] += (
                1 if digest[4] & 1 else -1
            )
        return vector / np.linalg.norm(vector)


class NoEmbedder:
    """An embedder whose weights are nowhere to be had."""

    def __init__(self, dimensions: int = 64) -> None:
        self.model = Model(f"hash/{dimensions}", dimensions, 100_000)

    def passages(self, texts: Sequence[str]) -> Iterator[EmbeddedBatch]:
        """Fail, as a machine without weights or network does."""
        raise WeightsMissing("The weights are not here.", "Fetch them with: dowse models pull")

    def query(self, text: str) -> Vector:
        """Fail, as a machine without weights or network does."""
        raise WeightsMissing("The weights are not here.", "Fetch them with: dowse models pull")


class OverlapReranker:
    """A reranker that scores a passage by the share of the query's words that it has.

    It keeps what it was asked, so that a test can say whether anything was reranked.
    """

    def __init__(self) -> None:
        self.queries: list[str] = []  # in order

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """Return one score per passage, from 0 to 1."""
        self.queries.append(query)
        words = set(query.lower().split())
        return [len(words & set(one.lower().split())) / max(1, len(words)) for one in passages]
