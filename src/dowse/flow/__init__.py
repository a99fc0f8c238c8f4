"""The two flows of dowse as ordered tables of stages, and the loops that run and trace them."""

from dowse.flow.indexing import INDEX_FLOW, Indexing, IndexReport, run_indexing
from dowse.flow.searching import SEARCH_FLOW, Searching, SearchOptions, run_search

__all__ = [
    "INDEX_FLOW",
    "SEARCH_FLOW",
    "IndexReport",
    "Indexing",
    "SearchOptions",
    "Searching",
    "run_indexing",
    "run_search",
]
