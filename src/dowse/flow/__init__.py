"""The two flows of dowse as ordered tables of stages, and the loops that run and trace them.

`INDEX_FLOW` is in `dowse.flow.indexing`, which brings the parsers along; searching needs none.
"""

from dowse.flow.answering import with_answer
from dowse.flow.candidates import Kit, Searching
from dowse.flow.explain import Explanation, Fate, Standing, explain
from dowse.flow.recipe import Mode, Recipe, SearchOptions
from dowse.flow.related import LinkGraph, Neighbour, Related, find_related, whole_graph
from dowse.flow.report import IndexReport
from dowse.flow.searching import SEARCH_FLOW, rank_documents, run_search
from dowse.flow.trial import Found, find
from dowse.flow.words import KnownWords

__all__ = [
    "SEARCH_FLOW",
    "Explanation",
    "Fate",
    "Found",
    "IndexReport",
    "Kit",
    "KnownWords",
    "LinkGraph",
    "Mode",
    "Neighbour",
    "Recipe",
    "Related",
    "SearchOptions",
    "Searching",
    "Standing",
    "explain",
    "find",
    "find_related",
    "rank_documents",
    "run_search",
    "whole_graph",
    "with_answer",
]
