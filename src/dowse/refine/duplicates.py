"""Results that repeat a better one: the same text, nearly the same, or the same in other words.

Nearly the same is measured by the Jaccard similarity of character trigrams. Most pairs share so
little that a sketch of each text settles them: its trigrams, hashed into a few thousand bits.
Hashing can only make a union smaller, so the bits of two sketches together bound the union from
below and the similarity from above. What the bound leaves is counted exactly.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from dowse.bounds import SHARE, check_bounds
from dowse.refine.cosines import cosines, directions
from dowse.search_state import SearchState
from dowse.types import Vector

Grams = NDArray[np.uint64]
"""The distinct trigrams of a text as numbers, ascending."""

_CODE_BITS = np.uint64(21)  # hold every code point, and three times so many fit into 64
_FILLING = (1 << 21) - 1  # no code point
_SKETCH_BITS = 4096
_HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: spreads well (Knuth)
_HASH_SHIFT = np.uint64(64 - 12)  # leaves the upper 12 bits, a number below 4096


@dataclass(frozen=True, slots=True)
class ExactDedupOptions:
    """Whether a text is shown once only."""

    enabled: Annotated[bool, "Drop results with the same text as a better one."] = True


@dataclass(frozen=True, slots=True)
class NearDedupOptions:
    """Whether nearly the same text is shown once only."""

    enabled: Annotated[bool, "Drop results with nearly the same text as a better one."] = True
    similarity: Annotated[
        float,
        SHARE,
        "Jaccard similarity of character trigrams at or above which two texts count as duplicates"
        " (0–1).",
    ] = 0.9

    def __post_init__(self) -> None:
        """Rejects a share that cannot be."""
        check_bounds(self, "near_dedup")


@dataclass(frozen=True, slots=True)
class SemanticDedupOptions:
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
    found = near_duplicates(texts, search.of(NearDedupOptions).similarity)
    drop_repeats(search, "near_dedup", "nearly the same text as", found)


def drop_same_meaning(search: SearchState) -> None:
    """Leaves out what means the same as a better result."""
    found = semantic_duplicates(search.vectors(), search.of(SemanticDedupOptions).similarity)
    search.merged = len(set(found.values()))
    drop_repeats(search, "semantic_dedup", "means the same as", found)


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


def semantic_duplicates(vectors: Sequence[Vector | None], threshold: float) -> dict[int, int]:
    """The place of each vector that is close to a better placed one that stays, and of that one.

    What has no vector is never a duplicate.
    """
    rows = directions(vectors)
    stays = np.zeros(len(vectors), np.bool_)
    found: dict[int, int] = {}
    for place, vector in enumerate(vectors):
        if vector is None:
            continue
        close = (cosines(rows[:place], rows[place]) >= threshold) & stays[:place]
        if close.any():
            found[place] = int(np.argmax(close))
        else:
            stays[place] = True
    return found


def near_duplicates(texts: Sequence[str], threshold: float) -> dict[int, int]:
    """The place of each text that is nearly a better placed one that stays, and of that one."""
    grams = _trigrams([text.lower() for text in texts])
    sizes = np.array([len(each) for each in grams])
    sketches = _sketches(grams)
    found: dict[int, int] = {}
    for place in range(1, len(texts)):
        unions = sketches[:place] | sketches[place]
        possible = _at_most(unions, sizes[:place] + sizes[place]) >= threshold
        for other in np.flatnonzero(possible).tolist():
            if other not in found and _jaccard(grams[other], grams[place]) >= threshold:
                found[place] = other
                break
    return found


def _trigrams(texts: Sequence[str]) -> list[Grams]:
    """The trigrams of each text; a text too short for one is filled up to three characters."""
    ends = list(accumulate(max(3, len(text)) for text in texts))
    spans = list(zip([0, *ends], ends, strict=False))
    # One pass over all texts at once: a call per text would cost more than the work it does.
    whole = "".join(text.ljust(3) for text in texts).encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(whole, "<u4").astype(np.uint64)
    for text, (start, end) in zip(texts, spans, strict=True):
        codes[start + len(text) : end] = _FILLING  # nothing, but for a short text
    grams = (((codes[:-2] << _CODE_BITS) | codes[1:-1]) << _CODE_BITS) | codes[2:]
    return [_distinct(grams[start : end - 2]) for start, end in spans]


def _distinct(grams: Grams) -> Grams:
    grams.sort()
    first = np.ones(len(grams), np.bool_)
    np.not_equal(grams[1:], grams[:-1], out=first[1:])
    return grams[first]


def _sketches(grams: Sequence[Grams]) -> NDArray[np.uint64]:
    """One row of bits per text."""
    bits = np.zeros((len(grams), _SKETCH_BITS), np.bool_)
    for row, each in zip(bits, grams, strict=True):
        row[(each * _HASH_FACTOR) >> _HASH_SHIFT] = True
    return np.packbits(bits, axis=1).view(np.uint64)


def _at_most(unions: NDArray[np.uint64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """The Jaccard index that pairs cannot exceed, by their joined sketches and summed sizes."""
    least: NDArray[np.int32] = np.bitwise_count(unions).sum(axis=1, dtype=np.int32)
    return (sizes - least) / least


def _jaccard(one: Grams, other: Grams) -> float:
    both = np.concatenate((one, other))
    both.sort()
    shared = int(np.count_nonzero(both[1:] == both[:-1]))
    return shared / (len(both) - shared)
