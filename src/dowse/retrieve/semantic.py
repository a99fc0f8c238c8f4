"""Ranking by meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

from dowse.ports import Reading
from dowse.types import ChunkKey, Keys, Ranking, Scores, Vector

_AFTER_LATIN = "\u0250"  # the first character that no Latin alphabet in use has


@dataclass(frozen=True, slots=True)
class ReadableOptions:
    """Whether vectors count only as far as the model can read the script of a text."""

    enabled: Annotated[
        bool, "Trust a model of Latin letters less, the more a text is in other letters."
    ] = True


def rank_by_meaning(
    reading: Reading, vector: Vector, top_k: int, among: Keys | None = None
) -> Ranking:
    """Chunks by the cosine of their vector to the query's."""
    return Ranking("semantic", reading.nearest(vector, top_k, among), ceiling=1.0)


def trusted(ranking: Ranking, trust: Mapping[ChunkKey, float]) -> Ranking:
    """The ranking with every score as far as it can be trusted, from 0 to 1."""

    def lowered(scores: Scores) -> Scores:
        lower = [(key, score * trust[key]) for key, score in scores]
        return sorted(lower, key=lambda pair: (-pair[1], pair[0]))

    return replace(ranking, scores=lowered(ranking.scores), others=lowered(ranking.others))


def latin_share(text: str) -> float:
    """The share of a text's letters that are Latin; 1 when it has no letters."""
    if text.isascii():
        return 1.0
    letters = [character for character in text if character.isalpha()]
    latin = sum(character < _AFTER_LATIN for character in letters)
    return latin / len(letters) if letters else 1.0
