"""How near the query is to what was found, and whether that is near enough for an answer.

The nearest passage counts, how many passages there are (among more of them, one is near by chance),
how near the query is to other documentation, and how usual its words are there and here. Fitted
like the confidence, on good answers against queries of other collections and nonsense, so that 1 %
of the good answers are called far. benchmarks/results/confidence.md has the tables, and what else
was tried.
"""

from __future__ import annotations

import math

from dowse._model import ModelFit, Nearness
from dowse._search.confidence.familiar import familiarity
from dowse._search.state import SearchState

DEFAULT = ModelFit("dowse-docs-1")
"""The model that ships: the weights below are for its cosines."""

_MOST_TERMS = 8
_BY_MEANING = (24.35, -1.32, -13.34, 2.03, 0.1)  # of the evidence in by_meaning, in its order
_BY_WORDS = (9.51, 6.74, -0.48, 3.14, -3.97)  # where words rank alone


def by_meaning(cosine: float, chunks: int, elsewhere: float, familiar: float) -> Nearness:
    """How near a query is whose nearest passage has this cosine."""
    return Nearness((cosine, _magnitude(chunks), elsewhere, familiar, 1.0), _BY_MEANING)


def by_words(share: float, terms: int, chunks: int, familiar: float) -> Nearness:
    """How near a query is whose best passage has this share of its words."""
    length = min(_MOST_TERMS, terms) / _MOST_TERMS
    return Nearness((share, length, _magnitude(chunks), familiar, 1.0), _BY_WORDS)


def nearness(search: SearchState, fit: ModelFit | None) -> Nearness | None:
    """How near the query is to what was found; without the fit of a model, words decide.

    None where nothing can be said.
    """
    if not search.candidates or not search.has_words or search.hypothesis:
        return None
    chunks = search.reading.keyword.size
    if fit is not None and (cosine := best_score(search, "semantic")) is not None:
        elsewhere = _elsewhere(search, fit)
        return by_meaning(fit.mapped(cosine), chunks, elsewhere, _familiar(search))
    share = best_score(search, "keyword")
    most = max((one.ceiling for one in search.rankings if one.strategy == "keyword"), default=0.0)
    if share is None or not most or (search.vector is not None and fit is None):
        return None
    terms = len(set(search.query.terms))
    return by_words(min(1.0, share / most), terms, chunks, _familiar(search))


def _elsewhere(search: SearchState, fit: ModelFit) -> float:
    from dowse._search.confidence.elsewhere import USUAL, elsewhere  # noqa: PLC0415  it loads numpy

    return elsewhere(search.vector) if fit is DEFAULT and search.vector is not None else USUAL


def _familiar(search: SearchState) -> float:
    put_in = search.query.put_in
    written = [term for term in search.query.terms if term not in put_in]
    held = _without_the_excluded(search, search.frequencies("body", written))
    length = sum(len(one.stored.text) for one in search.candidates) / len(search.candidates)
    return familiarity(held, search.reading.keyword.size, length, search.parts.analyzer.stamp)


def _without_the_excluded(search: SearchState, held: dict[str, int]) -> dict[str, int]:
    """The frequencies of terms, 0 for those that nothing has that meets the conditions.

    Looking each of them up would take as long as the search. So what was found is looked at, and
    the last letter of a term, which a stem may change, is left out.
    """
    if not search.conditions:
        return held
    stored = [one.stored for one in search.candidates]
    names = {name for one in stored for name in (one.document.fields.title, *one.chunk.header_path)}
    found = "\n".join((*names, *(one.text for one in stored))).casefold()
    return {term: n if term[:-1] in found else 0 for term, n in held.items()}


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
