"""The two flows of dowse as ordered tables of stages, and the loops that run and trace them.

`INDEX_FLOW` is in `dowse.flow.indexing`, which brings the parsers along; searching needs none.
"""

from dowse.flow.report import IndexReport
from dowse.flow.searching import SEARCH_FLOW, Searching, SearchOptions, run_search

__all__ = ["SEARCH_FLOW", "IndexReport", "SearchOptions", "Searching", "run_search"]
