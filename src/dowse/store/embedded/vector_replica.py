"""The vector index: immutable segments of half floats, memory-mapped, scanned flat.

Small indexes are searched exactly. Above `EXACT_ROWS` a scan over one bit per dimension (signs
after a random rotation, compared by Hamming distance) picks candidates, which are then scored
exactly; no graph has to be built, and a filter cannot starve the search.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dowse.store.embedded.manifest import FileSum, Manifest, sum_files
from dowse.store.embedded.segments import (
    ROTATION,
    Keys,
    codes_of,
    file_names,
    load,
    map_array,
    random_rotation,
    save,
    save_array,
    stack,
    without,
)
from dowse.store.embedded.truth import Truth
from dowse.types import ChunkKey, Matrix, Scores, Vector

EXACT_ROWS = 20_000
"""Up to so many vectors every one is scored exactly."""

_RESCORED = 1000  # candidates of the bit scan that are scored exactly
_ROUNDING = 1e-5  # more than a sum of single floats can be off


class VectorIndex:
    """One generation of the vector index, open for reading."""

    def __init__(self, folder: Path, segments: Sequence[int], exact_rows: int) -> None:
        self._segments = [load(folder, segment) for segment in segments]
        self._rotation: Matrix = map_array(folder / ROTATION)
        self._dead = _dead_keys(folder, segments)
        self._exact = sum(len(keys) for keys, _, _ in self._segments) <= exact_rows

    def search(self, vector: Vector, limit: int) -> Scores:
        """Chunks by cosine to the vector, best first."""
        if limit < 1 or not self._alive.any():
            return []
        rows = np.flatnonzero(self._alive) if self._exact else self._candidates(vector, limit)
        scores = (self._matrix @ vector)[rows] if self._exact else self._gather(rows) @ vector
        best = rows[_top(-scores, limit, slack=_ROUNDING)]
        # Equal vectors must score equally wherever they lie, which sums in single floats do not.
        exact = self._gather(best).astype(np.float64) @ vector.astype(np.float64)
        keys, scores = self._keys[best], exact.astype(np.float32)
        order = np.lexsort((keys, -scores))[:limit]
        return [(int(keys[place]), float(scores[place])) for place in order]

    def keys(self) -> set[ChunkKey]:
        """All the chunks it holds a vector of."""
        return set(self._keys[self._alive].tolist())

    @cached_property
    def _keys(self) -> Keys:
        return np.concatenate([keys for keys, _, _ in self._segments] or [_no_keys()])

    @cached_property
    def _alive(self) -> NDArray[np.bool_]:
        return ~np.isin(self._keys, self._dead)

    @cached_property
    def _matrix(self) -> Matrix:
        return np.concatenate([vectors for _, vectors, _ in self._segments]).astype(np.float32)

    @cached_property
    def _codes(self) -> NDArray[np.uint64]:
        return np.concatenate([codes for _, _, codes in self._segments])

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.cumsum([0] + [len(keys) for keys, _, _ in self._segments])

    def _candidates(self, vector: Vector, limit: int) -> NDArray[np.intp]:
        code = codes_of(vector[None, :], self._rotation)
        distance = np.bitwise_count(self._codes ^ code).sum(axis=1, dtype=np.int32)
        distance[~self._alive] = np.iinfo(np.int32).max
        rows = np.sort(_top(distance, max(_RESCORED, 20 * limit)))
        return rows[self._alive[rows]]

    def _gather(self, rows: NDArray[np.intp]) -> Matrix:
        gathered = [
            vectors[rows[(rows >= start) & (rows < end)] - start]
            for (start, end), (_, vectors, _) in zip(
                pairwise(self._starts), self._segments, strict=True
            )
        ]
        return np.concatenate(gathered).astype(np.float32)


class VectorReplica:
    """Makes and extends the vector index."""

    name = "vectors"
    terms_only = False

    def __init__(self, base: Path, exact_rows: int = EXACT_ROWS) -> None:
        self._base = base
        self._exact_rows = exact_rows

    def create(self, truth: Truth) -> Manifest:
        """An empty index, in a folder of its own."""
        folder = self._base / f"{self.name}-{uuid.uuid4().hex[:12]}"
        folder.mkdir(parents=True)
        save_array(folder / ROTATION, random_rotation(truth.dimensions))
        return Manifest(truth.identity, -1, folder.name)

    def take(self, manifest: Manifest, truth: Truth, changed: list[ChunkKey] | None) -> Manifest:
        """The index with the changed chunks, or all; doing it twice is doing it once."""
        folder, rows_of = self._base / manifest.folder, dict(manifest.detail)
        segments = _segments(manifest)
        number = max(segments, default=0) + 1
        new = stack(truth.vector_rows(changed), map_array(folder / ROTATION))
        dead, first = _superseded(folder, segments, np.array(changed or (), dtype=np.int64), new[0])
        parts = [new]
        while segments and (
            segments[-1] >= first
            # Segments grow like a binary counter: a few of them, each row rewritten rarely.
            or rows_of[str(segments[-1])] <= 2 * sum(len(keys) for keys, _, _ in parts)
            or 2 * len(dead) > sum(rows_of[str(segment)] for segment in segments)
        ):
            parts.insert(0, without(load(folder, segments.pop()), dead))
        save(folder, number, parts)
        save_array(
            folder / _dead_name(number), np.setdiff1d(dead, new[0]) if segments else _no_keys()
        )
        detail = {str(segment): rows_of[str(segment)] for segment in segments}
        detail[str(number)] = sum(len(keys) for keys, _, _ in parts)
        names = [name for segment in detail for name in file_names(int(segment))]
        files = sum_files(folder, [*names, ROTATION, _dead_name(number)], manifest.files)
        return Manifest(truth.identity, truth.generation, manifest.folder, files, detail)

    def is_current(self, manifest: Manifest) -> bool:  # noqa: ARG002  (segments are never rewritten)
        """Whether the files are those that the manifest lists."""
        return True

    def left_of(self, manifest: Manifest) -> Mapping[str, FileSum]:
        """The files of a manifest that are still in use: all, since it is always current."""
        return manifest.files

    def open(self, manifest: Manifest) -> VectorIndex:
        """The index that a manifest describes."""
        return VectorIndex(self._base / manifest.folder, _segments(manifest), self._exact_rows)


def _segments(manifest: Manifest) -> list[int]:
    return sorted(int(number) for number in manifest.detail)


def _dead_name(number: int) -> str:
    return f"dead-{number}.npy"


def _dead_keys(folder: Path, segments: Sequence[int]) -> Keys:
    """The keys that lie in a segment but are no more, as the newest segment knows."""
    dead: Keys = map_array(folder / _dead_name(max(segments))) if segments else _no_keys()
    return dead


def _superseded(
    folder: Path, segments: Sequence[int], changed: Keys, new: Keys
) -> tuple[Keys, float]:
    """The keys whose rows in the segments are no more, and the first segment to be rewritten.

    A key must not be both dead and alive, so a segment that holds one of the new keys has to go.
    """
    dead, first = _dead_keys(folder, segments), float("inf")
    for segment in reversed(segments):
        keys = load(folder, segment)[0]
        dead = np.union1d(dead, changed[np.isin(changed, keys)])
        if np.isin(new, keys).any():
            first = segment
    return dead, first


def _top(values: NDArray[Any], count: int, slack: float = 0) -> NDArray[np.intp]:
    if count >= len(values):
        return np.arange(len(values))
    # Everything level with the last one that fits is kept, so that ties are broken by key.
    last = np.partition(values, count - 1)[count - 1]
    return np.flatnonzero(values <= last + slack)


def _no_keys() -> Keys:
    return np.zeros(0, dtype=np.int64)
