"""Ranking by words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dowse.search_state import SearchState
from dowse.types import Keys, Ranking

_SATURATION = 2.2  # BM25's k1 + 1, which no number of occurrences exceeds


def rank_by_keyword(search: SearchState, limit: int, among: Keys | None = None) -> Ranking:
    """Chunks that hold any of the query's terms; a missing term costs score, not the result."""
    reading, query = search.reading, search.query
    held = reading.keyword.frequencies("body", query.terms)
    most = most_bm25(query.terms, query.alternatives, held, reading.keyword.size)
    return Ranking("keyword", reading.keyword.search("body", query.terms, limit, among), most)


def most_bm25(
    terms: Sequence[str],
    alternatives: Sequence[Sequence[str]],
    frequencies: Mapping[str, int],
    size: int,
) -> float:
    """The highest possible score: that of a chunk which repeats every term without end.

    A term that nothing holds counts too, so that a query that is mostly unknown stays weak. Of
    alternatives only the rarest counts.
    """
    rarity = {term: _rarity(frequencies.get(term, 0), size) for term in terms}
    groups = [[rarity.pop(term, 0.0) for term in group] for group in alternatives]
    return _SATURATION * math.fsum([*rarity.values(), *(max(group) for group in groups if group)])


def _rarity(held: int, size: int) -> float:
    return math.log(1 + (max(size, held) - held + 0.5) / (held + 0.5))
