"""Reranking: a query and each text are looked at together.

A cross-encoder is a model of its own that reads both. Without one, the embedding model's own token
vectors do: every token of the query looks for the token of the passage that it fits best (MaxSim of
ColBERT, Khattab and Zaharia, 2020), and the passage's score is the mean of these cosines.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from dowse._embed.models import LocalModel
from dowse._embed.onnx import Session, TextTokenizer, TokenVectors
from dowse._embed.parallel import run_parallel
from dowse._model import Matrix, text_key
from dowse._util.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_REMEMBERED = 1000  # passages; each takes about 100 kB


class CrossEncoder:
    """Scores pairs of texts; the model is loaded on first use."""

    def __init__(self, model: LocalModel, threads: int = 1) -> None:
        self._source = model
        self._threads = threads
        self._loading = threading.Lock()
        self._loaded: tuple[TextTokenizer, Session] | None = None

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """How well each passage answers the query, from 0 to 1, in their order."""
        scores = [0.0] * len(passages)
        if passages:
            self._parts()  # fails here rather than in a thread
        jobs = ((query, text, place) for place, text in enumerate(passages))
        for place, score in run_parallel(self._score, jobs, self._threads):
            scores[place] = score
        return scores

    def _score(self, job: tuple[str, str, int]) -> tuple[int, float]:
        query, text, place = job
        tokenizer, session = self._parts()
        pair = tokenizer.pair(query, text)
        logits = session.logits(pair.ids, pair.type_ids)
        return place, _probability(logits.astype(np.float64))

    def _parts(self) -> tuple[TextTokenizer, Session]:
        with self._loading:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> tuple[TextTokenizer, Session]:
        identity = self._source.identity("auto")
        recipe, graph = identity.recipe, self._source.graph(identity)
        session = Session(graph, recipe.pooling, is_fused=self._source.is_fused)
        return TextTokenizer(self._source.tokenizer(), recipe.max_tokens), session


def _probability(logits: NDArray[np.float64]) -> float:
    # One label: its logistic. Several: the chance of the last, which means "relevant".
    logits = logits if len(logits) > 1 else np.array([0.0, logits[0]])
    weights = np.exp(logits - logits.max())
    return float(weights[-1] / weights.sum())


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
