"""Results that repeat a better one: the same text, nearly the same, or the same in other words."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Annotated

from msgspec import Struct

from dowse._model import Vector
from dowse._search.stages.cosines import cosines, directions
from dowse._search.stages.trigrams import near_duplicates
from dowse._search.state import SearchState
from dowse._util.arrays import np
from dowse._util.bounds import SHARE, check_bounds


class ExactDedupOptions(Struct, frozen=True):
    """Whether a text is shown once only."""

    enabled: Annotated[bool, "Drop results with the same text as a better one."] = True


class NearDedupOptions(Struct, frozen=True):
    """Whether nearly the same text is shown once only."""

    enabled: Annotated[
        bool,
        "Drop results with nearly the same text as a better one. A passage whose title, alias or"
        " heading is the query stays.",
    ] = True
    similarity: Annotated[
        float,
        SHARE,
        "Jaccard similarity of character trigrams at or above which two texts count as duplicates"
        " (0–1).",
    ] = 0.9

    def __post_init__(self) -> None:
        """Rejects a share that cannot be."""
        check_bounds(self, "near_dedup")


class SemanticDedupOptions(Struct, frozen=True):
    """Whether what means the same is shown once only."""

    enabled: Annotated[bool, "Drop results that mean the same as a better one."] = False
    similarity: Annotated[
        float, SHARE, "Cosine similarity at or above which two passages count as duplicates (0–1)."
    ] = 0.85

    def __post_init__(self) -> None:
        """Rejects a cosine out of range."""
        check_bounds(self, "semantic_dedup")


def drop_exact(search: SearchState) -> None:
    """Leaves out texts that a better result has."""
    texts = [fold_whitespace(candidate.stored.text) for candidate in search.candidates]
    drop_repeats(search, "exact_dedup", "same text as", repeats(texts))


def drop_near(search: SearchState) -> None:
    """Leaves out texts that a better result nearly has."""
    texts = [candidate.stored.text for candidate in search.candidates]
    found = near_duplicates(texts, search.settings.near_dedup.similarity, _named(search))
    drop_repeats(search, "near_dedup", "nearly the same text as", found)


def drop_same_meaning(search: SearchState) -> None:
    """Leaves out what means the same as a better result."""
    similarity = search.settings.semantic_dedup.similarity
    found = semantic_duplicates(search.vectors(), similarity, _named(search))
    search.merged = len(set(found.values()))
    drop_repeats(search, "semantic_dedup", "means the same as", found)


def _named(search: SearchState) -> set[int]:
    """The places of passages that are called like the query; they stay, whatever they resemble."""
    candidates = enumerate(search.candidates)
    return {place for place, one in candidates if one.stored.key in search.named}


def drop_repeats(search: SearchState, stage: str, what: str, found: Mapping[int, int]) -> None:
    """Leaves out results, each with the place of the better one that it repeats."""
    better = [one.stored for one in search.candidates]
    reasons = {
        place: f"{what} {better[first].document.id}:{better[first].chunk.first_line}"
        for place, first in found.items()
    }
    search.drop(stage, reasons)


def repeats(keys: Sequence[Hashable]) -> dict[int, int]:
    """The place of each key that came before, and the place where it came first."""
    first: dict[Hashable, int] = {}
    for place, key in enumerate(keys):
        first.setdefault(key, place)
    return {place: first[key] for place, key in enumerate(keys) if first[key] != place}


def fold_whitespace(text: str) -> str:
    """The text with every stretch of white space as one space, and none at its ends."""
    return " ".join(text.split())


def semantic_duplicates(
    vectors: Sequence[Vector | None], threshold: float, kept: Collection[int] = ()
) -> dict[int, int]:
    """The place of each vector that is close to a better placed one that stays, and of that one.

    What has no vector is never a duplicate, nor is what is at a place to be `kept`.
    """
    rows = directions(vectors)
    stays = np.zeros(len(vectors), np.bool_)
    found: dict[int, int] = {}
    for place, vector in enumerate(vectors):
        if vector is None:
            continue
        close = (cosines(rows[:place], rows[place]) >= threshold) & stays[:place]
        if close.any() and place not in kept:
            found[place] = int(np.argmax(close))
        else:
            stays[place] = True
    return found
