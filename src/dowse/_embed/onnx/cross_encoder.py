"""A model that reads a query and a text together and says how well they fit."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dowse._embed.models.folder import WEIGHTS
from dowse._embed.models.local_model import LocalModel
from dowse._embed.onnx.architecture import read_architecture
from dowse._embed.onnx.encoder import BUILDER_VERSION, build_cross_encoder
from dowse._embed.onnx.graph import Graph, Precision
from dowse._embed.onnx.session import Session
from dowse._embed.onnx.tensors import read_tensors
from dowse._embed.onnx.tokenize import TextTokenizer
from dowse._embed.parallel import run_parallel
from dowse._util.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
        logits = session.run("logits", {"ids": pair.ids, "types": pair.type_ids})
        return place, _probability(logits.astype(np.float64))

    def _parts(self) -> tuple[TextTokenizer, Session]:
        with self._loading:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> tuple[TextTokenizer, Session]:
        identity = self._source.identity()
        precision: Precision = "int8" if identity.recipe.int8_is_as_good else "fp32"

        def build(folder: Path) -> Graph:
            tensors = read_tensors(folder / WEIGHTS)
            return build_cross_encoder(read_architecture(folder), tensors, precision)

        version = f"v{BUILDER_VERSION}-{identity.weights[:12]}"
        graph = self._source.graph(f"cross-{precision}", version, build)
        tokenizer = TextTokenizer(self._source.tokenizer(), identity.recipe.max_tokens)
        return tokenizer, Session(graph)


def _probability(logits: NDArray[np.float64]) -> float:
    # One label: its logistic. Several: the chance of the last, which means "relevant".
    logits = logits if len(logits) > 1 else np.array([0.0, logits[0]])
    weights = np.exp(logits - logits.max())
    return float(weights[-1] / weights.sum())
