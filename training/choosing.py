"""Which candidates of a search are wrong answers that a model can learn from."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from training.corpus import Chunk, Query

WRONG = 16
"""How many wrong answers a query keeps."""

_SAME = 0.93  # cosine at or above which two chunks say the same
_KEY = 6  # characters a heading needs to recognise other answers by it


class Candidate(NamedTuple):
    """A chunk that the search found."""

    chunk: int
    score: float
    near: float  # its cosine with the answer


def wrong_answers(
    query: Query,
    answer: Candidate,
    found: Sequence[Candidate],
    *,
    chunks: Sequence[Chunk],
    headings: Sequence[str],
    rng: Random,
) -> list[int]:
    """The first candidates that are certainly no answers."""
    chosen: list[int] = []
    for one in found:
        doubtful = (
            query.first <= one.chunk < query.last
            or one.near >= _SAME
            or one.score > 1.2 * answer.score + 0.12
            or (len(query.key) > _KEY and query.key in headings[one.chunk])
            or _belongs(query, answer, one, chunks, rng)
        )
        if not doubtful:
            chosen.append(one.chunk)
        if len(chosen) == WRONG:
            break
    return chosen


def _belongs(
    query: Query, answer: Candidate, one: Candidate, chunks: Sequence[Chunk], rng: Random
) -> bool:
    """Whether a chunk may share the answer, being in its document; the far ones only sometimes."""
    if chunks[one.chunk].document != chunks[answer.chunk].document:
        return False
    return query.last - query.first > 1 or abs(one.chunk - answer.chunk) == 1 or rng.random() < 0.4
