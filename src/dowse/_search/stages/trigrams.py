"""Texts that are nearly the same, by the Jaccard similarity of their character trigrams.

Most pairs share so little that a sketch of each text settles them: its trigrams, hashed into a few
thousand bits. Hashing can only make a union smaller, so the bits of two sketches together bound the
union from below and the similarity from above. What the bound leaves is counted exactly.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

from dowse._util.arrays import is_loaded, np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Grams: TypeAlias = "NDArray[np.uint64]"
"""The distinct trigrams of a text as numbers, ascending."""

_CODE_BITS = 21  # hold every code point, and three times so many fit into 64
_FILLING = (1 << 21) - 1  # no code point
_SKETCH_BITS = 4096
_HASH_FACTOR = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: spreads well (Knuth)
_HASH_SHIFT = 64 - 12  # leaves the upper 12 bits, a number below 4096


def near_duplicates(
    texts: Sequence[str], threshold: float, kept: Collection[int] = ()
) -> dict[int, int]:
    """The place of each text that is nearly a better placed one that stays, and of that one.

    What is at a place to be `kept` is never a duplicate.
    """
    if len(texts) < 2:
        return {}
    lowered = [text.lower() for text in texts]
    # Of 30 passages, arrays take 2 ms and sets 10 ms, but to load numpy takes 100 ms.
    return (_by_arrays if is_loaded() else _by_sets)(lowered, threshold, kept)


def _by_sets(texts: Sequence[str], threshold: float, kept: Collection[int]) -> dict[int, int]:
    grams = [{text[at : at + 3] for at in range(max(1, len(text) - 2))} for text in texts]
    found: dict[int, int] = {}
    for place, own in enumerate(grams):
        for other in range(0 if place in kept else place):
            fewer, more = sorted((len(own), len(grams[other])))
            if other in found or fewer < threshold * more:
                continue
            shared = len(own & grams[other])
            if shared / (fewer + more - shared) >= threshold:
                found[place] = other
                break
    return found


def _by_arrays(texts: Sequence[str], threshold: float, kept: Collection[int]) -> dict[int, int]:
    grams = _trigrams(texts)
    sizes = np.array([len(each) for each in grams])
    sketches = _sketches(grams, sizes)
    found: dict[int, int] = {}
    for place in (place for place in range(1, len(texts)) if place not in kept):
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
    bits = np.uint64(_CODE_BITS)
    grams = (((codes[:-2] << bits) | codes[1:-1]) << bits) | codes[2:]
    return [_distinct(grams[start : end - 2]) for start, end in spans]


def _distinct(grams: Grams) -> Grams:
    grams.sort()
    first = np.ones(len(grams), np.bool_)
    np.not_equal(grams[1:], grams[:-1], out=first[1:])
    return grams[first]


def _sketches(grams: Sequence[Grams], sizes: NDArray[np.int64]) -> NDArray[np.uint64]:
    """One row of bits per text."""
    bits = np.zeros((len(grams), _SKETCH_BITS), np.bool_)
    hashed = (np.concatenate(grams) * np.uint64(_HASH_FACTOR)) >> np.uint64(_HASH_SHIFT)
    rows = np.repeat(np.arange(len(grams)) * _SKETCH_BITS, sizes)
    bits.ravel()[rows + hashed.astype(np.int64)] = True
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
