"""Searching one generation of the vector index: segments, scanned flat.

Small indexes are searched exactly. Above `EXACT_ROWS` a scan over one bit per dimension (signs
after a random rotation, compared by Hamming distance) picks many candidates. The same bits against
the query itself, not only its signs, order them well enough to read few vectors from the disk,
which are then scored exactly. No graph has to be built, and a filter cannot starve the search: of
the rows that it leaves, only these are scanned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from dowse._model import ChunkKey, Keys, Matrix, Scores, Vector
from dowse._store.embedded.vectors.file import HeldFile
from dowse._store.embedded.vectors.held import HeldSegment
from dowse._store.embedded.vectors.scan import Codes, Rows, distances, estimates, smallest
from dowse._store.embedded.vectors.segments import codes_of, no_keys
from dowse._util.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXACT_ROWS = 20_000
"""Up to so many vectors every one is scored exactly."""

# To gather rows takes longer than to scan: 4,000 take three times as long as a search of 20,000,
# 12,500 as long as one of a million. Of 5,000 real vectors the scan finds all of the first 30.
_GATHERED = 1500  # rows of a large index that are scored exactly when no others are allowed
_SHARE = 80  # or one of so many rows
# On 15,699 passages of real documentation, these find .996 of the first 30. Without the estimate,
# reading the 1,000 nearest of the scan finds .993.
_SCANNED = 3000  # candidates of the bit scan whose scores are estimated
_RESCORED = 500  # of these, those that are read and scored exactly
_PICKED = 4  # to pick the codes of a row takes so many times as long as to scan one of all
_ROUNDING = 1e-5  # more than a sum of single floats can be off


class VectorIndex:
    """One generation of the vector index, open for reading.

    Rows are counted through all segments.
    """

    def __init__(
        self,
        segments: Sequence[HeldSegment],
        rotation: HeldFile,
        dead: HeldFile | None,
        exact_rows: int,
    ) -> None:
        self._segments = list(segments)
        self._held_rotation, self._held_dead = rotation, dead
        self._exact_rows = exact_rows

    @property
    def is_whole(self) -> bool:
        """Whether the vectors that are still on disk can be read."""
        return all(segment.is_whole for segment in self._segments)

    def nearest(self, vector: Vector, limit: int, among: Keys | None = None) -> Scores:
        """Chunks by cosine to the vector, best first; only `among` these keys, if given."""
        rows = None if among is None else self._allowed(among)
        count = self._size - len(self._dead) if rows is None else len(rows)
        if limit < 1 or not count:
            return []
        if not self._small and count > self._few:
            rows = self._candidates(vector, rows, limit)
        elif rows is None:
            rows = self._alive
        best = rows[smallest(-self._scores(rows, vector), limit, slack=_ROUNDING)]
        # Equal vectors must score equally in every row, which sums in single floats do not.
        exact = self._gather(best).astype(np.float64) @ vector.astype(np.float64)
        keys, scores = self._keys_of(best), exact.astype(np.float32)
        order = np.lexsort((keys, -scores))[:limit]
        return [(int(keys[place]), float(scores[place])) for place in order]

    def of(self, keys: Sequence[ChunkKey]) -> dict[ChunkKey, Vector]:
        """The vectors of these chunks; those without one are passed over."""
        rows = np.setdiff1d(self._rows_of(np.array(keys, np.int64)), self._dead)
        if not len(rows):
            return {}
        known = dict(zip(self._keys_of(rows).tolist(), self._gather(rows), strict=True))
        return {int(key): known[key] for key in keys if key in known}

    def keys(self) -> set[ChunkKey]:
        """All the chunks it holds a vector of."""
        return set(self._keys_of(self._alive).tolist())

    @cached_property
    def _starts(self) -> list[int]:
        """The first row of each segment, and the number of all rows."""
        return [0, *np.cumsum([len(segment.keys) for segment in self._segments]).tolist()]

    @property
    def _size(self) -> int:
        return self._starts[-1]

    @property
    def _small(self) -> bool:
        return self._size <= self._exact_rows

    @property
    def _few(self) -> int:
        return min(self._exact_rows, max(_GATHERED, self._size // _SHARE))

    @cached_property
    def _rotation(self) -> Matrix:
        rotation: Matrix = self._held_rotation.array()
        return rotation

    @cached_property
    def _dead(self) -> Rows:
        """The rows whose chunks are no more."""
        return self._rows_of(self._held_dead.array() if self._held_dead else no_keys())

    @property
    def _alive(self) -> Rows:
        return np.delete(np.arange(self._size), self._dead)

    @cached_property
    def _matrix(self) -> Matrix:
        vectors = [block for one in self._segments for block in one.vectors.blocks()]
        return np.concatenate(vectors).astype(np.float32)

    def _rows_of(self, keys: Keys) -> Rows:
        found = [
            start + segment.rows_of(keys)
            for start, segment in zip(self._starts, self._segments, strict=False)
        ]
        return np.concatenate([np.zeros(0, np.intp), *found])

    def _keys_of(self, rows: Rows) -> Keys:
        found = [segment.keys[places] for segment, places in self._places(rows)]
        return np.concatenate([no_keys(), *found])

    def _allowed(self, among: Keys) -> Rows:
        """The rows of some keys, ascending."""
        ordered = among if bool((among[1:] > among[:-1]).all()) else np.unique(among)
        allowed = [np.zeros(0, np.bool_), *(one.allowed(ordered) for one in self._segments)]
        mask = np.concatenate(allowed)
        mask[self._dead] = False
        return np.flatnonzero(mask)

    def _places(self, rows: Rows) -> Iterator[tuple[HeldSegment, Rows]]:
        """The segments, each with the places in it of some rows, which must ascend."""
        cuts = np.searchsorted(rows, self._starts).tolist()
        for segment, start, (begin, end) in zip(
            self._segments, self._starts, pairwise(cuts), strict=False
        ):
            yield segment, rows[begin:end] - start

    def _candidates(self, vector: Vector, rows: Rows | None, limit: int) -> Rows:
        (code,) = codes_of(vector[None, :], self._rotation)
        likely = self._nearest_codes(code, rows, max(_SCANNED, 60 * limit))
        nearness = estimates(self._codes_of(likely), vector @ self._rotation)
        return likely[smallest(-nearness, max(_RESCORED, 10 * limit))]

    def _nearest_codes(self, code: NDArray[np.uint64], rows: Rows | None, count: int) -> Rows:
        """Of some rows, or of all, those whose codes are nearest to one."""
        if rows is not None and _PICKED * len(rows) < self._size:
            return rows[smallest(distances(self._codes_of(rows), code), count)]
        distance = np.concatenate([distances(one.codes, code) for one in self._segments])
        if rows is not None:
            return rows[smallest(distance[rows], count)]
        distance[self._dead] = np.iinfo(np.uint16).max
        return np.setdiff1d(smallest(distance, count), self._dead, assume_unique=True)

    def _codes_of(self, rows: Rows) -> Codes:
        """The codes of some rows, which must ascend."""
        picked = [segment.codes[:, places] for segment, places in self._places(rows)]
        return np.concatenate(picked, axis=1)

    def _scores(self, rows: Rows, vector: Vector) -> NDArray[np.float32]:
        if self._small and 4 * len(rows) > self._size:  # otherwise gathering them is cheaper
            scores: NDArray[np.float32] = np.vecdot(self._matrix, vector)[rows]
            return scores
        found: NDArray[np.float32] = np.vecdot(self._gather(rows), vector)
        return found

    def _gather(self, rows: Rows) -> Matrix:
        """The vectors of some rows, which must ascend."""
        gathered = [segment.vectors.rows(places) for segment, places in self._places(rows)]
        return np.concatenate(gathered).astype(np.float32)
