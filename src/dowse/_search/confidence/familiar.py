"""How usual the words of a query are here, compared with other documentation.

A query that was meant for other documents has words that are usual there and rare here. How many of
50,000 passages of other documentation have a word ships with dowse for this; docs/models.md says
what they are of, and training/familiar.py counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

_PASSAGES = 100  # of other documentation that count as if they were here: few chunks say little
_MOST = 2.0  # of one word, so that no word decides alone


class UsualWords(msgspec.Struct, frozen=True):
    """How many passages have a term, for the terms that many of them have."""

    passages: int
    length: float  # characters of a passage, on average
    analyzer: dict[str, object]  # the settings that the terms depend on
    terms: dict[str, int]


def familiarity(
    held: Mapping[str, int], chunks: int, length: float, analyzer: Mapping[str, object]
) -> float:
    """How much more usual the terms of a query are here than elsewhere; below 0, less usual.

    `held` says in how many of the `chunks`, which are about so long, each term occurs. Terms that
    were made with other settings than those counted are as usual here as elsewhere.
    """
    counted = usual_words()
    if not held or not counted.analyzer.items() <= analyzer.items():
        return 0.0
    passages = chunks * length / counted.length  # a longer one has more words
    found = (_more_usual(here, passages, counted, term) for term, here in held.items())
    return math.fsum(found) / len(held)


def _more_usual(here: int, passages: float, counted: UsualWords, term: str) -> float:
    """The logarithm of how many times as usual one term is; 0 where nobody knows it."""
    there = counted.terms.get(term, 0)
    if not here and not there:
        return 0.0
    usual = (there + 1) / counted.passages
    share = (here + _PASSAGES * usual) / (passages + _PASSAGES)
    return max(-_MOST, min(_MOST, math.log(share / usual)))


@cache
def usual_words() -> UsualWords:
    """What was counted in other documentation."""
    return msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=UsualWords)
