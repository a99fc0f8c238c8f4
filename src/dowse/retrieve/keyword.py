"""Ranking by words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dowse.ports import Reading
from dowse.types import Keys, Ranking

_SATURATION = 2.2  # BM25's k1 + 1, which no number of occurrences exceeds


def rank_by_keyword(
    reading: Reading, terms: Sequence[str], top_k: int, among: Keys | None = None
) -> Ranking:
    """Chunks that hold any of the query's terms; one that is missing loses score, not the chunk."""
    return Ranking("keyword", reading.keyword(terms, top_k, among), most_bm25(reading, terms))


def most_bm25(reading: Reading, terms: Sequence[str]) -> float:
    """What a chunk would score at most: as if it held every term without end.

    A term that nothing holds counts too, so that a query that is mostly unknown stays weak.
    """
    size, known = reading.size, reading.frequencies(terms)
    held = [known.get(term, 0) for term in terms]
    return _SATURATION * sum(math.log(1 + (size - n + 0.5) / (n + 0.5)) for n in held)
