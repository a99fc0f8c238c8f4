"""Searching one generation of the vector index: segments, scanned flat.

Small indexes are searched exactly. Above `EXACT_ROWS` a scan over one bit per dimension (signs
after a random rotation, compared by Hamming distance) picks many candidates. The same bits against
the query itself, not only its signs, order them well enough to read few vectors from the disk,
which are then scored exactly. No graph has to be built, and a filter cannot starve the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dowse.arrays import np
from dowse.store.embedded.vectors.file import HeldFile
from dowse.store.embedded.vectors.segments import (
    ROTATION,
    HeldSegment,
    OpenSegment,
    codes_of,
    dead_name,
    no_keys,
)
from dowse.types import ChunkKey, Keys, Matrix, Scores, Vector

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXACT_ROWS = 20_000
"""Up to so many vectors every one is scored exactly."""

# Of 100,000 vectors of 384 dimensions, gathering 5,000 takes 6 ms, 20,000 take 35 ms.
_GATHERED = 5000  # rows of a large index that are scored exactly when no others are allowed
# On 15,699 passages of real documentation, these find .996 of the first 30. Without the estimate,
# reading the 1,000 nearest of the scan finds .993.
_SCANNED = 3000  # candidates of the bit scan whose scores are estimated
_RESCORED = 500  # of these, those that are read and scored exactly
_ROUNDING = 1e-5  # more than a sum of single floats can be off

Rows: TypeAlias = "NDArray[np.intp]"
"""Places of vectors, counted through all segments."""


class VectorIndex:
    """One generation of the vector index, open for reading."""

    def __init__(self, folder: Path, segments: Sequence[int], exact_rows: int) -> None:
        self._held = [HeldSegment(folder, segment) for segment in segments]
        self._held_rotation = HeldFile(folder / ROTATION)
        self._held_dead = HeldFile(folder / dead_name(max(segments))) if segments else None
        self._few, self._exact_rows = min(exact_rows, _GATHERED), exact_rows

    @property
    def is_whole(self) -> bool:
        """Whether the vectors that are still on disk can be read."""
        return all(segment.is_whole for segment in self._held)

    @cached_property
    def _segments(self) -> list[OpenSegment]:
        return [segment.open() for segment in self._held]

    @cached_property
    def _rotation(self) -> Matrix:
        rotation: Matrix = self._held_rotation.array()
        return rotation

    @cached_property
    def _dead(self) -> Keys:
        dead: Keys = self._held_dead.array() if self._held_dead else no_keys()
        return dead

    @cached_property
    def _small(self) -> bool:
        return sum(len(keys) for keys, _, _ in self._segments) <= self._exact_rows

    def nearest(self, vector: Vector, limit: int, among: Keys | None = None) -> Scores:
        """Chunks by cosine to the vector, best first; only `among` these keys, if given."""
        allowed = self._alive if among is None else self._alive & np.isin(self._keys, among)
        rows = np.flatnonzero(allowed)
        if limit < 1 or not len(rows):
            return []
        if not self._small and len(rows) > self._few:
            rows = self._candidates(vector, allowed, limit)
        best = rows[_top(-self._scores(rows, vector), limit, slack=_ROUNDING)]
        # Equal vectors must score equally wherever they lie, which sums in single floats do not.
        exact = self._gather(best).astype(np.float64) @ vector.astype(np.float64)
        keys, scores = self._keys[best], exact.astype(np.float32)
        order = np.lexsort((keys, -scores))[:limit]
        return [(int(keys[place]), float(scores[place])) for place in order]

    def of(self, keys: Sequence[ChunkKey]) -> dict[ChunkKey, Vector]:
        """The vectors of these chunks; those without one are passed over."""
        rows = np.flatnonzero(self._alive & np.isin(self._keys, np.array(keys, np.int64)))
        if not len(rows):
            return {}
        known = dict(zip(self._keys[rows].tolist(), self._gather(rows), strict=True))
        return {int(key): known[key] for key in keys if key in known}

    def keys(self) -> set[ChunkKey]:
        """All the chunks it holds a vector of."""
        return set(self._keys[self._alive].tolist())

    @cached_property
    def _keys(self) -> Keys:
        return np.concatenate([keys for keys, _, _ in self._segments] or [no_keys()])

    @cached_property
    def _alive(self) -> NDArray[np.bool_]:
        return ~np.isin(self._keys, self._dead)

    @cached_property
    def _matrix(self) -> Matrix:
        vectors = [vectors.all() for _, vectors, _ in self._segments]
        return np.concatenate(vectors).astype(np.float32)

    @cached_property
    def _codes(self) -> NDArray[np.uint64]:
        """The codes, word by word: adding up numbers of bits is four times as fast that way."""
        return np.concatenate([codes for _, _, codes in self._segments]).T.copy()

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.cumsum([0] + [len(keys) for keys, _, _ in self._segments])

    def _candidates(self, vector: Vector, allowed: NDArray[np.bool_], limit: int) -> Rows:
        (code,) = codes_of(vector[None, :], self._rotation)
        distance = np.zeros(len(self._keys), np.uint16)
        for words, asked in zip(self._codes, code, strict=True):
            distance += np.bitwise_count(words ^ asked)
        distance[~allowed] = np.iinfo(np.uint16).max
        rows = _top(distance, max(_SCANNED, 60 * limit))
        rows = rows[allowed[rows]]
        return rows[_top(-self._estimates(rows, vector), max(_RESCORED, 10 * limit))]

    def _estimates(self, rows: Rows, vector: Vector) -> NDArray[np.float32]:
        """About how near some rows are: the query against the signs of their dimensions."""
        rotated = vector @ self._rotation
        padded = np.zeros(64 * len(self._codes), np.float32)
        padded[: len(rotated)] = rotated
        by_byte = (padded.reshape(-1, 8) @ _signs().T).astype(np.float32)  # what each byte adds
        signs = np.ascontiguousarray(self._codes[:, rows].T).view(np.uint8)
        places = signs + np.arange(0, by_byte.size, 256)
        estimates: NDArray[np.float32] = by_byte.ravel().take(places).sum(axis=1)
        return estimates

    def _scores(self, rows: Rows, vector: Vector) -> NDArray[np.float32]:
        if self._small and 4 * len(rows) > len(self._keys):  # else gathering them is cheaper
            scores: NDArray[np.float32] = (self._matrix @ vector)[rows]
            return scores
        return self._gather(rows) @ vector

    def _gather(self, rows: Rows) -> Matrix:
        """The vectors at some rows, which must ascend."""
        gathered = [
            vectors.rows(rows[(rows >= start) & (rows < end)] - start)
            for (start, end), (_, vectors, _) in zip(
                pairwise(self._starts), self._segments, strict=True
            )
        ]
        return np.concatenate(gathered).astype(np.float32)


def _top(values: NDArray[Any], count: int, slack: float = 0) -> NDArray[np.intp]:
    if count >= len(values):
        return np.arange(len(values))
    # Everything equal to the last one that fits is kept, so that ties are broken by key.
    last = np.partition(values, count - 1)[count - 1]
    return np.flatnonzero(values <= last + slack)


@cache
def _signs() -> NDArray[Any]:
    """The signs that the bits of every byte stand for, a row each."""
    return 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) - 1
