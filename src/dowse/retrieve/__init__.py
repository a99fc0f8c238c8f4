"""Query → rankings: each strategy ranks the chunks in its own way."""

from dowse.retrieve.keyword import rank_by_keyword
from dowse.retrieve.semantic import rank_by_meaning

__all__ = ["rank_by_keyword", "rank_by_meaning"]
