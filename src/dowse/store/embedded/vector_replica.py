"""The vector index: immutable segments of half floats, memory-mapped, scanned flat.

Small indexes are searched exactly. Above `EXACT_ROWS` a scan over one bit per dimension (signs
after a random rotation, compared by Hamming distance) picks candidates, which are then scored
exactly; no graph has to be built, and a filter cannot starve the search.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dowse.errors import Damaged
from dowse.store.embedded.manifest import Manifest, sum_files
from dowse.store.embedded.truth import Truth, VectorRow
from dowse.types import ChunkKey, Matrix, Scores, Vector

EXACT_ROWS = 20_000
"""Up to so many vectors every one is scored exactly."""

_RESCORED = 1000  # candidates of the bit scan that are scored exactly
_SEED = 384
_PARTS = ("keys", "vectors", "codes")


class VectorIndex:
    """One generation of the vector index, open for reading."""

    def __init__(self, folder: Path, segments: Sequence[int], exact_rows: int) -> None:
        self._segments = [_load(folder, segment) for segment in segments]
        self._rotation = _map(folder / "rotation.npy")
        dead = _map(folder / f"dead-{max(segments, default=0)}.npy")
        self._keys = np.concatenate([keys for keys, _, _ in self._segments] or [_no_keys()])
        self._alive = ~np.isin(self._keys, dead)
        self._exact = len(self._keys) <= exact_rows

    def search(self, vector: Vector, limit: int) -> Scores:
        """Chunks by cosine to the vector, best first."""
        if not self._alive.any() or limit < 1:
            return []
        rows = np.flatnonzero(self._alive) if self._exact else self._candidates(vector, limit)
        scores = (self._matrix if self._exact else self._gather(rows)) @ vector
        scores = scores[rows] if self._exact else scores
        best = _top(-scores, limit)
        keys, scores = self._keys[rows[best]], scores[best]
        order = np.lexsort((keys, -scores))[:limit]
        return [(int(keys[place]), float(scores[place])) for place in order]

    def keys(self) -> set[ChunkKey]:
        """All the chunks it holds a vector of."""
        return set(self._keys[self._alive].tolist())

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
        code = _codes_of(vector[None, :].astype(np.float32), self._rotation)
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

    def __init__(self, base: Path, exact_rows: int = EXACT_ROWS) -> None:
        self._base = base
        self._exact_rows = exact_rows

    def create(self, truth: Truth) -> Manifest:
        """An empty index, in a folder of its own."""
        folder = self._base / f"{self.name}-{uuid.uuid4().hex[:12]}"
        folder.mkdir(parents=True)
        np.save(folder / "rotation.npy", _rotation(truth.dimensions))
        return Manifest(truth.identity, -1, folder.name)

    def take(self, manifest: Manifest, truth: Truth, changed: list[ChunkKey] | None) -> Manifest:
        """The index with the changed chunks, or all; doing it twice is doing it once."""
        folder = self._base / manifest.folder
        segments = _segments(manifest)
        number = max(segments, default=0) + 1
        dead = _map(folder / f"dead-{number - 1}.npy") if segments else _no_keys()
        parts = [_stack(truth.vector_rows(changed), folder)]
        dead = np.union1d(dead, np.array(changed or (), dtype=np.int64))
        dead = np.setdiff1d(dead, parts[0][0])  # a waiting chunk that has got its vector
        # Segments grow like a binary counter: a few of them, and each row is rewritten rarely.
        while segments and manifest.detail[str(segments[-1])] <= 2 * _length(parts):
            parts.insert(0, _alive(_load(folder, segments.pop()), dead))
        _save(folder, number, parts, dead if segments else _no_keys())
        detail = {str(segment): manifest.detail[str(segment)] for segment in segments}
        detail[str(number)] = _length(parts)
        names = [f"{name}-{segment}.npy" for segment in detail for name in _PARTS]
        names += ["rotation.npy", f"dead-{number}.npy"]
        files = sum_files(folder, names, manifest.files)
        return Manifest(truth.identity, truth.generation, manifest.folder, files, detail)

    def is_current(self, manifest: Manifest) -> bool:  # noqa: ARG002  (segments are never rewritten)
        """Whether the files are those that the manifest lists."""
        return True

    def open(self, manifest: Manifest) -> VectorIndex:
        """The index that a manifest describes."""
        folder = self._base / manifest.folder
        try:
            return VectorIndex(folder, _segments(manifest), self._exact_rows)
        except (OSError, ValueError) as error:
            raise Damaged(f"The vector index cannot be opened: {error}.") from error


Segment = tuple[NDArray[np.int64], NDArray[np.float16], NDArray[np.uint64]]
"""The keys, the vectors and the sign codes of some rows."""


def _segments(manifest: Manifest) -> list[int]:
    return sorted(int(number) for number in manifest.detail)


def _length(parts: Sequence[Segment]) -> int:
    return sum(len(keys) for keys, _, _ in parts)


def _save(folder: Path, number: int, parts: Sequence[Segment], dead: NDArray[np.int64]) -> None:
    for place, name in enumerate(_PARTS):
        np.save(folder / f"{name}-{number}.npy", np.concatenate([part[place] for part in parts]))
    np.save(folder / f"dead-{number}.npy", dead)


def _load(folder: Path, segment: int) -> Segment:
    keys, vectors, codes = (_map(folder / f"{name}-{segment}.npy") for name in _PARTS)
    return keys, vectors, codes


def _map(path: Path) -> Any:
    """An array whose type the file name tells; the manifest vouches for its content."""
    return np.load(path, mmap_mode="r", allow_pickle=False)


def _alive(segment: Segment, dead: NDArray[np.int64]) -> Segment:
    kept = ~np.isin(segment[0], dead)
    return segment[0][kept], segment[1][kept], segment[2][kept]


def _stack(rows: Iterable[VectorRow], folder: Path) -> Segment:
    rotation = _map(folder / "rotation.npy")
    listed = list(rows)
    keys = np.array([key for key, _ in listed], dtype=np.int64)
    raw = np.frombuffer(b"".join(blob for _, blob in listed), dtype="<f2")
    vectors = raw.reshape(len(listed), len(rotation))
    return keys, vectors, _codes_of(vectors.astype(np.float32), rotation)


def _codes_of(vectors: Matrix, rotation: Matrix) -> NDArray[np.uint64]:
    bits = np.packbits(vectors @ rotation > 0, axis=1)
    padding = -bits.shape[1] % 8
    return np.ascontiguousarray(np.pad(bits, ((0, 0), (0, padding)))).view(np.uint64)


def _rotation(dimensions: int) -> Matrix:
    normal = np.random.default_rng(_SEED).standard_normal((dimensions, dimensions))
    return np.ascontiguousarray(np.linalg.qr(normal)[0], dtype=np.float32)


def _top(values: NDArray[np.generic], count: int) -> NDArray[np.intp]:
    if count >= len(values):
        return np.arange(len(values))
    # Everything level with the last one that fits is kept, so that ties are broken by key.
    last = np.partition(values, count - 1)[count - 1]
    return np.flatnonzero(values <= last)


def _no_keys() -> NDArray[np.int64]:
    return np.zeros(0, dtype=np.int64)
