"""Ranking by meaning."""

from __future__ import annotations

from dowse.ports import Reading
from dowse.types import Keys, Ranking, Vector


def rank_by_meaning(
    reading: Reading, vector: Vector, top_k: int, among: Keys | None = None
) -> Ranking:
    """Chunks by the cosine of their vector to the query's."""
    return Ranking("semantic", reading.nearest(vector, top_k, among), ceiling=1.0)
