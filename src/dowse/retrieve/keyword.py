"""Ranking by words."""

from __future__ import annotations

from collections.abc import Sequence

from dowse.ports import Reading
from dowse.types import Keys, Ranking


def rank_by_keyword(
    reading: Reading, terms: Sequence[str], top_k: int, among: Keys | None = None
) -> Ranking:
    """Chunks that hold any of the query's terms; one that is missing loses score, not the chunk."""
    return Ranking("keyword", reading.keyword(terms, top_k, among))
