"""Whether anything that was found is near enough to the query to be an answer.

Only the nearest passage counts, and how many passages there are: among more of them, one is near by
chance. Fitted like the confidence, on good answers against queries of other collections and
nonsense, so that 1 % of the good answers are called far. The share of rare words found, the rarest
word, the agreement of the rankings and the cosine above the query's own background were tried: on
left-out collections none was better. docs/quality.md has the tables.
"""

from __future__ import annotations

import math

from dowse.search_state import SearchState
from dowse.types import ModelFit

DEFAULT = ModelFit("dowse-docs-1")
"""The model that ships: the weights below are for its cosines."""

_MOST_TERMS = 8
_COSINE, _SIZE, _NEAR = 24.3, -1.6, -3.4  # of the best cosine, of ten times as many chunks
_SHARE, _CHUNKS, _TERMS, _CONSTANT = 13.8, -1.45, 6.2, -1.75  # where words rank alone


def is_far_by_meaning(cosine: float, chunks: int) -> bool:
    """Whether a query whose nearest passage has this cosine seems to have no answer."""
    return _COSINE * cosine + _SIZE * _magnitude(chunks) + _NEAR < 0


def is_far_by_words(share: float, chunks: int, terms: int) -> bool:
    """Whether a query seems to have no answer whose best passage has this share of its words."""
    length = min(_MOST_TERMS, terms) / _MOST_TERMS
    return _SHARE * share + _CHUNKS * _magnitude(chunks) + _TERMS * length + _CONSTANT < 0


def is_far(search: SearchState, fit: ModelFit | None) -> bool:
    """Whether nothing that was found is near; without the fit of a model, words decide."""
    if not search.candidates or not search.has_words or search.hypothesis:
        return False
    chunks = search.reading.keyword.size
    if fit is not None and (cosine := best_score(search, "semantic")) is not None:
        return is_far_by_meaning(fit.mapped(cosine), chunks)
    share = best_score(search, "keyword")
    most = max((one.ceiling for one in search.rankings if one.strategy == "keyword"), default=0.0)
    if share is None or not most or (search.vector is not None and fit is None):
        return False
    return is_far_by_words(min(1.0, share / most), chunks, len(set(search.query.terms)))


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
