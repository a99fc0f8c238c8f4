"""Ranking by the identifiers of code."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from dowse._model import Keys, Ranking
from dowse._search.stages.keyword import most_bm25
from dowse._search.state import SearchState


class CodeOptions(Struct, frozen=True):
    """Whether code blocks are a strategy of their own."""

    enabled: Annotated[
        bool, "Hybrid search also ranks code blocks by the identifiers in the query."
    ] = False


def rank_by_code(search: SearchState, limit: int, among: Keys | None = None) -> Ranking:
    """Chunks whose code holds any identifier of the query, whole or in parts."""
    reading, terms = search.reading, search.query.code_terms
    most = most_bm25(search.rarity("code", terms))
    return Ranking("code", reading.keyword.search("code", terms, limit, among), most)
