"""Text → the terms that the keyword index holds, and what is computed over the whole index."""

from dowse.analyze.analyzer import TextAnalyzer
from dowse.analyze.communities import find_communities
from dowse.analyze.options import KeywordOptions, VocabularyOptions

__all__ = ["KeywordOptions", "TextAnalyzer", "VocabularyOptions", "find_communities"]
