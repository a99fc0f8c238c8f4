"""Ranking by words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dowse._model import Keys, Ranking
from dowse._search.state import SearchState

_SATURATION = 2.2  # BM25's k1 + 1, which no number of occurrences exceeds


def rank_by_keyword(search: SearchState, limit: int, among: Keys | None = None) -> Ranking:
    """Chunks that hold any of the query's terms; a missing term costs score, not the result."""
    reading, query = search.reading, search.query
    most = most_bm25(search.rarity("body", query.terms), query.alternatives)
    return Ranking("keyword", reading.keyword.search("body", query.terms, limit, among), most)


def most_bm25(rarity: Mapping[str, float], alternatives: Sequence[Sequence[str]] = ()) -> float:
    """The highest possible score, by the rarity of each term: every term repeated without end.

    A term that nothing holds counts too, so that a query that is mostly unknown stays weak. Of
    alternatives only the rarest counts.
    """
    single = dict(rarity)
    groups = [[single.pop(term, 0.0) for term in group] for group in alternatives]
    return _SATURATION * math.fsum([*single.values(), *(max(group) for group in groups if group)])
