"""BM25 as an inner product: what a chunk knows is in its vector, what the index knows in the query.

A chunk's weight of a term is `tf (k1 + 1) / (tf + k1 (1 - b + b length / average))` (Robertson and
Zaragoza, 2009): saturation, length and the weights of the fields, which the analyzer expresses by
listing a term more often. The query's weight is the rarity of the term.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from dowse._store.remote.tokens import ANYWHERE, dimension
from dowse._text.matching import rarity

_K1, _B = 1.2, 0.75
_NEVER = 1.0  # what a row without terms has in the dimension that nothing asks for
_EXACT = 24  # lengths below it are kept as they are
_BITS = 4  # of the rest of a length, with the leading one


class Lengths(NamedTuple):
    """How many terms some chunks have together."""

    chunks: int
    body: int  # each term as often as it is listed
    code: int


class Averages(NamedTuple):
    """How many terms a chunk of the index has on average; 0 when there are no chunks."""

    body: float = 0.0
    code: float = 0.0  # also over chunks without code


def averages_of(lengths: Iterable[Lengths]) -> Averages:
    """The average lengths of the chunks of some documents."""
    chunks = body = code = 0
    for one in lengths:
        chunks, body, code = chunks + one.chunks, body + one.body, code + one.code
    return Averages(body / chunks, code / chunks) if chunks else Averages()


def kept_length(length: int) -> int:
    """A length as coarse as the embedded store keeps it, so that both score alike.

    tantivy has one byte for it: four bits of what exceeds 24, and how far they are shifted.
    """
    rest = length - _EXACT
    shift = max(0, rest.bit_length() - _BITS)
    return length if rest <= 0 else _EXACT + (rest >> shift << shift)


def chunk_weights(terms: Sequence[str], average: float) -> dict[int, float]:
    """The sparse vector of a chunk with these terms, in an index of this average length."""
    if not terms:
        return {ANYWHERE: _NEVER}
    norm = _K1 * (1 - _B + _B * kept_length(len(terms)) / (average or 1.0))
    weights: dict[int, float] = {}
    for term, often in Counter(terms).items():
        place = dimension(term)
        weights[place] = weights.get(place, 0.0) + often * (_K1 + 1) / (often + norm)
    return weights


def query_weights(frequencies: Mapping[str, int], size: int) -> dict[int, float]:
    """The sparse vector of a query whose terms are in so many of `size` chunks."""
    weights: dict[int, float] = {}
    for term, held in frequencies.items():
        if held:
            weights[dimension(term)] = weights.get(dimension(term), 0.0) + rarity(held, size)
    return weights
