"""dowse as one of the peers: it makes the vectors that all of them get."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from benchmarks.speed.figures import Clock, p50

from dowse import Dowse
from dowse._model import EmbeddedBatch, Model, Vector
from dowse._model.ports import Embedder

_WARM = 5

WEIGHTS = "all-MiniLM-L6-v2"
"""The folder of the model that a peer makes vectors with."""


class Known:
    """Keeps the vectors that a model makes, and does not make one twice."""

    def __init__(self, real: Embedder) -> None:
        self._real = real
        self.vectors: dict[str, Vector] = {}  # of passages
        self.asked: dict[str, Vector] = {}  # of queries

    @property
    def model(self) -> Model:
        return self._real.model

    def passages(self, texts: Sequence[str]) -> Iterator[EmbeddedBatch]:
        for batch in self._real.passages(texts):
            for place, vector in zip(batch.positions, batch.vectors, strict=True):
                self.vectors[texts[place]] = vector
            yield batch

    def query(self, text: str) -> Vector:
        if text not in self.asked:
            self.asked[text] = self._real.query(text)
        return self.asked[text]


def measure_dowse(folder: Path, known: Known, asked: Sequence[str]) -> dict[str, dict[str, float]]:
    """Rows with the model, with vectors that are known, and for words alone."""
    rows: dict[str, dict[str, float]] = {}
    docs, home = folder / "docs", folder / "home"
    with Dowse(docs, home=home, embedder=known) as project:
        rows["with the model"] = _indexing(project, rebuild=False)
        rows["hybrid"] = _indexing(project, rebuild=True)
    words = {"embed.provider": "none"}
    with Dowse(docs, home=folder / "words", settings=words) as project:
        rows["keyword"] = _indexing(project, rebuild=False) | _asking(project, asked)
    with Dowse(docs, home=home) as project:
        rows["with the model"] |= _asking(project, asked)
    for query in asked:
        known.query(query)
    with Dowse(docs, home=home, embedder=known) as project:
        rows["hybrid"] |= _asking(project, asked)
    return rows


def _indexing(project: Dowse, *, rebuild: bool) -> dict[str, float]:
    clock = Clock()
    report = project.index(rebuild=rebuild)
    if report.notices:
        raise SystemExit(" ".join(report.notices))
    return {"index": clock.elapsed, "index CPU": clock.cpu}


def _asking(project: Dowse, asked: Sequence[str]) -> dict[str, float]:
    times, used = list[float](), list[float]()
    for query in asked:
        clock = Clock()
        project.search(query)
        times.append(clock.elapsed)
        used.append(clock.cpu)
    return {"query": p50(times[_WARM:]), "query CPU": p50(used[_WARM:])}


def write_material(folder: Path, known: Known, asked: Sequence[str]) -> None:
    """What peer.py reads."""
    weights = str(folder / WEIGHTS)
    texts = {"texts": list(known.vectors), "queries": list(asked), "weights": weights}
    (folder / "texts.json").write_text(json.dumps(texts), "utf-8")
    np.save(folder / "texts.npy", np.stack(list(known.vectors.values())).astype(np.float32))
    np.save(folder / "queries.npy", np.stack([known.asked[one] for one in asked]))
