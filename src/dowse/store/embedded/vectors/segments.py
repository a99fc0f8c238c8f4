"""Segments of the vector index: files of keys, vectors and sign codes that never change."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dowse.arrays import np
from dowse.store.embedded.failures import replica_damaged
from dowse.store.embedded.sqlite.truth import VectorRow
from dowse.store.embedded.vectors.file import HeldFile, VectorFile
from dowse.types import Keys, Matrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

Segment: TypeAlias = "tuple[Keys, NDArray[np.float16], NDArray[np.uint64]]"
"""The keys, the vectors and the sign codes of some rows."""

OpenSegment: TypeAlias = "tuple[Keys, VectorFile, NDArray[np.uint64]]"
"""The same, with vectors that are read when they are needed."""

ROTATION = "rotation.npy"
_PARTS = ("keys", "vectors", "codes")
_SEED = 384
_BLOCK = 8192  # rows that are rotated at once, so that rebuilding a large index needs little memory


def file_names(number: int) -> list[str]:
    """The files of a segment."""
    return [f"{part}-{number}.npy" for part in _PARTS]


def load(folder: Path, number: int) -> Segment:
    """A segment, whole."""
    keys, vectors, codes = (load_array(folder / name) for name in file_names(number))
    return keys, vectors, codes


def load_keys(folder: Path, number: int) -> Keys:
    """The keys of a segment."""
    keys: Keys = load_array(folder / file_names(number)[0])
    return keys


class HeldSegment:
    """The files of a segment, open; they are read when they are first searched."""

    def __init__(self, folder: Path, number: int) -> None:
        keys, vectors, codes = (folder / name for name in file_names(number))
        self._keys, self._codes = HeldFile(keys), HeldFile(codes)
        self._vectors = VectorFile(vectors)

    @property
    def is_whole(self) -> bool:
        """Whether the vectors that are still on disk can be read."""
        return self._vectors.is_whole

    def open(self) -> OpenSegment:
        """The segment to search in, whose vectors stay on disk."""
        return self._keys.array(), self._vectors, self._codes.array()


def save(folder: Path, number: int, parts: Sequence[Segment]) -> None:
    """Writes some rows as one segment."""
    for place, name in enumerate(file_names(number)):
        save_array(folder / name, np.concatenate([part[place] for part in parts]))


def stack(rows: Iterable[VectorRow], rotation: Matrix) -> Segment:
    """A segment of rows as the database keeps them."""
    keys: list[int] = []
    content = bytearray()
    for key, vector in rows:
        keys.append(key)
        content += vector
    vectors = np.frombuffer(content, dtype="<f2").reshape(len(keys), len(rotation))
    return np.array(keys, dtype=np.int64), vectors, codes_of(vectors, rotation)


def dead_name(number: int) -> str:
    """The file that lists what is no more, as of a segment."""
    return f"dead-{number}.npy"


def dead_keys(folder: Path, segments: Sequence[int]) -> Keys:
    """The keys that lie in a segment but are no more, as the newest segment knows."""
    dead: Keys = load_array(folder / dead_name(max(segments))) if segments else no_keys()
    return dead


def no_keys() -> Keys:
    """No keys at all."""
    return np.zeros(0, dtype=np.int64)


def without(segment: Segment, dead: Keys) -> Segment:
    """A segment less the rows of some keys."""
    kept = ~np.isin(segment[0], dead)
    return segment[0][kept], segment[1][kept], segment[2][kept]


def codes_of(vectors: NDArray[Any], rotation: Matrix) -> NDArray[np.uint64]:
    """One bit for the sign of each rotated dimension, packed into words."""
    words = -(-vectors.shape[1] // 64)
    codes = np.zeros((len(vectors), 8 * words), dtype=np.uint8)
    for start in range(0, len(vectors), _BLOCK):
        rotated = vectors[start : start + _BLOCK].astype(np.float32) @ rotation
        bits = np.packbits(rotated > 0, axis=1)
        codes[start : start + _BLOCK, : bits.shape[1]] = bits
    return codes.view(np.uint64)


def random_rotation(dimensions: int) -> Matrix:
    """The same for every index, since codes are only comparable under one rotation."""
    normal = np.random.default_rng(_SEED).standard_normal((dimensions, dimensions))
    return np.ascontiguousarray(np.linalg.qr(normal)[0], dtype=np.float32)


def save_array(path: Path, array: NDArray[Any]) -> None:
    """Writes an array so that its bytes are on the disk before a manifest mentions it."""
    with path.open("wb") as file:
        np.save(file, array)
        file.flush()
        os.fsync(file.fileno())


def load_array(path: Path) -> Any:
    """An array in memory, where no other program can truncate it; the manifest has its checksum."""
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise replica_damaged(f"{path} is not as it was written.") from error
