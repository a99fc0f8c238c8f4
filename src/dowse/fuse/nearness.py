"""How near the query is to what was found, and whether that is near enough for an answer.

The nearest passage counts, how many passages there are (among more of them, one is near by chance),
and how near the query is to other documentation. Fitted like the confidence, on good answers
against queries of other collections and nonsense, so that 1 % of the good answers are called far.
docs/quality.md has the tables, and what else was tried.
"""

from __future__ import annotations

import math

from dowse.search_state import SearchState
from dowse.types import ModelFit

DEFAULT = ModelFit("dowse-docs-1")
"""The model that ships: the weights below are for its cosines."""

_MOST_TERMS = 8
_COSINE, _SIZE, _ELSEWHERE, _NEAR = 29.1, -1.73, -21.8, 2.8
_SHARE, _TERMS, _CHUNKS, _CONSTANT = 13.3, 6.4, -1.14, -2.9  # where words rank alone


def odds_by_meaning(cosine: float, chunks: int, elsewhere: float) -> float:
    """How near a query is whose nearest passage has this cosine; below 0 it is far."""
    return _COSINE * cosine + _SIZE * _magnitude(chunks) + _ELSEWHERE * elsewhere + _NEAR


def odds_by_words(share: float, chunks: int, terms: int) -> float:
    """How near a query is whose best passage has this share of its words; below 0 it is far."""
    length = min(_MOST_TERMS, terms) / _MOST_TERMS
    return _SHARE * share + _TERMS * length + _CHUNKS * _magnitude(chunks) + _CONSTANT


def odds(search: SearchState, fit: ModelFit | None) -> float | None:
    """How near the query is to what was found; without the fit of a model, words decide.

    None where nothing can be said.
    """
    if not search.candidates or not search.has_words or search.hypothesis:
        return None
    chunks = search.reading.keyword.size
    if fit is not None and (cosine := best_score(search, "semantic")) is not None:
        return odds_by_meaning(fit.mapped(cosine), chunks, _elsewhere(search, fit))
    share = best_score(search, "keyword")
    most = max((one.ceiling for one in search.rankings if one.strategy == "keyword"), default=0.0)
    if share is None or not most or (search.vector is not None and fit is None):
        return None
    return odds_by_words(min(1.0, share / most), chunks, len(set(search.query.terms)))


def _elsewhere(search: SearchState, fit: ModelFit) -> float:
    from dowse.fuse.elsewhere import USUAL, elsewhere  # noqa: PLC0415  it loads numpy

    return elsewhere(search.vector) if fit is DEFAULT and search.vector is not None else USUAL


def best_score(search: SearchState, strategy: str) -> float | None:
    """The best raw score of a strategy."""
    scores = (
        place.score
        for one in search.candidates
        for place in one.places
        if place.strategy == strategy
    )
    return max(scores, default=None)


def _magnitude(chunks: int) -> float:
    return math.log10(max(1, chunks))
