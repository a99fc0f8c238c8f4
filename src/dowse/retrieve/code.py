"""Ranking by the identifiers of code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from dowse.ports import Reading
from dowse.retrieve.keyword import most_bm25
from dowse.types import Keys, Query, Ranking


@dataclass(frozen=True, slots=True)
class CodeOptions:
    """Whether code blocks are a strategy of their own."""

    enabled: Annotated[bool, "Rank code blocks by the identifiers in the query."] = False


def rank_by_code(reading: Reading, query: Query, top_k: int, among: Keys | None = None) -> Ranking:
    """Chunks whose code holds any identifier of the query, whole or in parts."""
    terms = query.code_terms
    most = most_bm25(terms, (), reading.frequencies(terms, code=True), reading.size)
    return Ranking("code", reading.code(terms, top_k, among), most)
