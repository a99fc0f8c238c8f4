"""Ranking by the identifiers of code."""

from __future__ import annotations

from typing import Annotated

from dowse.frozen import dataclass
from dowse.retrieve.keyword import most_bm25
from dowse.search_state import SearchState
from dowse.types import Keys, Ranking


@dataclass(frozen=True, slots=True)
class CodeOptions:
    """Whether code blocks are a strategy of their own."""

    enabled: Annotated[
        bool, "Hybrid search also ranks code blocks by the identifiers in the query."
    ] = False


def rank_by_code(search: SearchState, limit: int, among: Keys | None = None) -> Ranking:
    """Chunks whose code holds any identifier of the query, whole or in parts."""
    reading, terms = search.reading, search.query.code_terms
    most = most_bm25(search.rarity("code", terms))
    return Ranking("code", reading.keyword.search("code", terms, limit, among), most)
