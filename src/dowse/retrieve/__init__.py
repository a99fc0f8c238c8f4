"""Query → rankings: what is asked, and how each strategy ranks the chunks in its own way."""

from dowse.retrieve.classify import ClassifyOptions, classify
from dowse.retrieve.code import CodeOptions, rank_by_code
from dowse.retrieve.expand import ExpandOptions, nearest_words
from dowse.retrieve.filters import MOST_VALUES, Filters
from dowse.retrieve.graph import GraphOptions, one_per_document, rank_by_links
from dowse.retrieve.keyword import rank_by_keyword
from dowse.retrieve.query import understand
from dowse.retrieve.rewrite import rewrite
from dowse.retrieve.semantic import ReadableOptions, latin_share, rank_by_meaning, trusted

__all__ = [
    "MOST_VALUES",
    "ClassifyOptions",
    "CodeOptions",
    "ExpandOptions",
    "Filters",
    "GraphOptions",
    "ReadableOptions",
    "classify",
    "latin_share",
    "nearest_words",
    "one_per_document",
    "rank_by_code",
    "rank_by_keyword",
    "rank_by_links",
    "rank_by_meaning",
    "rewrite",
    "trusted",
    "understand",
]
