"""How far two stores find the same, by a sample of searches for what one of them holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from dowse._model import Scores
from dowse._model.ports import IndexReader

FIRST = 10
"""Results of each search that are compared."""

_SAMPLES = 20  # documents whose titles and vectors are searched for on both sides
_FETCHED = 50  # results that are looked at: which of equal ones come first differs between stores
_ROUNDING = 1e-5  # share by which equal scores may differ


def agreement_of(one: IndexReader, other: IndexReader) -> float:
    """The share of the first results of one side that the other finds as well, on average."""
    shares = [share for search in _searches(one) for share in _shared(search, one, other)]
    return sum(shares) / len(shares) if shares else 1.0


_Found = list[tuple[str, float]]
_Search = Callable[[IndexReader], _Found]
"""Searches one side, and gives the ids of the chunks with their scores, best first."""


def _searches(reading: IndexReader) -> Iterator[_Search]:
    """Searches for the titles and the vectors of documents from all over the index."""
    listed = reading.catalogue.documents()
    step = max(1, len(listed) // _SAMPLES)
    for entry in listed[::step][:_SAMPLES]:
        terms = [word for word in entry.fields.title.lower().split() if word.isalnum()]
        yield lambda side, terms=terms: _found(  # type: ignore[misc]  # a default keeps its value
            side, side.keyword.search("body", terms, _FETCHED)
        )
        vectors = reading.vectors.of(reading.catalogue.keys_of([entry.id]).tolist()[:1])
        # A text that the model cannot read has a vector of zeros, which is as near to all others.
        for vector in filter(np.any, vectors.values()):
            yield lambda side, vector=vector: _found(  # type: ignore[misc]  # as above
                side, side.vectors.nearest(vector, _FETCHED)
            )


def _found(side: IndexReader, scores: Scores) -> _Found:
    score_of = dict(scores)
    chunks = side.catalogue.chunks(list(score_of))
    return [(one.chunk.id, score_of[one.key]) for one in chunks]


def _shared(search: _Search, one: IndexReader, other: IndexReader) -> list[float]:
    """The share of the first results that are the same; which of equal ones come first is not."""
    left, right = search(one), search(other)
    if not left or not right:
        return [0.0] if left or right else []
    last = right[:FIRST][-1][1]
    slack = _ROUNDING * abs(last)
    first = {found for found, score in right if score >= last - slack}
    # When everything that was fetched is as good as the last of the first, there may be more.
    more = len(right) >= _FETCHED and right[-1][1] >= last - slack
    same = sum(
        found in first or (more and abs(score - last) <= slack) for found, score in left[:FIRST]
    )
    return [same / max(len(left[:FIRST]), len(right[:FIRST]))]
