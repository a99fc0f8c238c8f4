"""Words of the documents that mean nearly what a query means."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from dowse.bounds import SHARE, check_bounds
from dowse.types import Matrix, Vector


@dataclass(frozen=True, slots=True)
class ExpandOptions:
    """Whether words near the query are appended to it for the semantic search."""

    enabled: Annotated[bool, "Append near words of the vocabulary to the query."] = False
    terms: Annotated[int, Meta(ge=1, le=50), "How many words at most, 1 to 50."] = 3
    similarity: Annotated[float, SHARE, "Least cosine between a word and the query, 0 to 1."] = 0.5

    def __post_init__(self) -> None:
        """Rejects what no query could be expanded by."""
        check_bounds(self, "expand")


def nearest_words(
    query_vector: Vector,
    words: Sequence[str],
    vectors: Matrix,
    query_words: Collection[str],
    options: ExpandOptions,
) -> list[str]:
    """The words nearest to the query that are not in it, nearest first; equals go by the alphabet.

    `vectors` holds one row for each of `words`.
    """
    if not words:
        return []
    asked = {word.casefold() for word in query_words}
    cosines = (vectors @ query_vector).tolist()
    near = [
        (-cosine, word)
        for cosine, word in zip(cosines, words, strict=True)
        if cosine >= options.similarity and word.casefold() not in asked
    ]
    return [word for _, word in sorted(near)[: options.terms]]
