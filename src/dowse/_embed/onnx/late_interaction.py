"""Reranking with the embedding model's own token vectors: no further weights are needed.

Every token of the query looks for the token of the passage that it fits best (MaxSim of ColBERT,
Khattab and Zaharia, 2020). The passage's score is the mean of these cosines.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

from dowse._embed.onnx.embedder import TokenVectors
from dowse._model import Matrix, text_key
from dowse._util.arrays import np

_REMEMBERED = 1000  # passages; each takes about 100 kB


class ReadsTokens(Protocol):
    """An embedder that gives the vector of every token."""

    def token_vectors(self, text: str, *, query: bool = False) -> TokenVectors:
        """A text's tokens, each with its own vector."""
        ...


class LateInteraction:
    """Scores passages by how well their tokens fit those of the query."""

    def __init__(self, embedder: ReadsTokens) -> None:
        self._embedder = embedder
        self._seen: OrderedDict[bytes, Matrix] = OrderedDict()
        self._lock = threading.Lock()

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """How well each passage answers the query, from 0 to 1."""
        wanted = self._embedder.token_vectors(query, query=True).vectors
        return [_fit(wanted, self._tokens(passage)) for passage in passages]

    def _tokens(self, passage: str) -> Matrix:
        key = text_key(passage)
        with self._lock:
            known = self._seen.get(key)
        if known is None:
            known = self._embedder.token_vectors(passage).vectors
            with self._lock:
                self._seen[key] = known
                if len(self._seen) > _REMEMBERED:
                    self._seen.popitem(last=False)
        return known


def _fit(wanted: Matrix, offered: Matrix) -> float:
    best = (wanted @ offered.T).max(axis=1)
    return float(np.clip(best.mean(), 0.0, 1.0))
