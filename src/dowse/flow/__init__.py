"""The two flows of dowse as ordered tables of stages, and the loops that run and trace them.

`INDEX_FLOW` is in `dowse.flow.indexing`, which brings the parsers along; searching needs none.
"""

from typing import TYPE_CHECKING

from dowse.late import late_names

if TYPE_CHECKING:
    from dowse.flow.answering import with_answer, with_written_answer
    from dowse.flow.explain import ChunkOutcome, Explanation, StrategyRank
    from dowse.flow.listing import (
        Counted,
        FieldValues,
        Filter,
        ListedDocument,
        Sort,
        list_documents,
        list_fields,
        list_values,
    )
    from dowse.flow.recipe import Recipe
    from dowse.flow.related import LinkGraph, Neighbour, Related, find_related, whole_graph
    from dowse.flow.replay import Retrieved, retrieve_only
    from dowse.flow.report import IndexReport
    from dowse.flow.search_flow import SEARCH_FLOW
    from dowse.flow.searching import rank_documents, run_search, start_search
    from dowse.flow.words import KnownWords
else:
    __getattr__ = late_names(
        __name__,
        {
            "answering": "with_answer with_written_answer",
            "explain": "ChunkOutcome Explanation StrategyRank",
            "listing": "Counted FieldValues Filter ListedDocument Sort"
            " list_documents list_fields list_values",
            "recipe": "Recipe",
            "related": "LinkGraph Neighbour Related find_related whole_graph",
            "replay": "Retrieved retrieve_only",
            "report": "IndexReport",
            "search_flow": "SEARCH_FLOW",
            "searching": "rank_documents run_search start_search",
            "words": "KnownWords",
        },
    )

__all__ = [
    "SEARCH_FLOW",
    "ChunkOutcome",
    "Counted",
    "Explanation",
    "FieldValues",
    "Filter",
    "IndexReport",
    "KnownWords",
    "LinkGraph",
    "ListedDocument",
    "Neighbour",
    "Recipe",
    "Related",
    "Retrieved",
    "Sort",
    "StrategyRank",
    "find_related",
    "list_documents",
    "list_fields",
    "list_values",
    "rank_documents",
    "retrieve_only",
    "run_search",
    "start_search",
    "whole_graph",
    "with_answer",
    "with_written_answer",
]
