"""Text → the terms that the keyword index holds, and what is computed over the whole index."""

from dowse.analyze.analyzer import TextAnalyzer
from dowse.analyze.communities import find_communities
from dowse.analyze.options import KeywordOptions

__all__ = ["KeywordOptions", "TextAnalyzer", "find_communities"]
