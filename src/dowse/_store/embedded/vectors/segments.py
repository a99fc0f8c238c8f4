"""Segments of the vector index: files of keys, vectors and sign codes that never change."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from dowse._model import Keys, Matrix
from dowse._store.embedded.failures import replica_damaged
from dowse._store.embedded.sqlite.truth import VectorRow
from dowse._store.embedded.vectors.file import VectorFile
from dowse._util.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROTATION = "rotation.npy"
_PARTS = ("keys", "vectors", "codes")
_SEED = 384
_BLOCK = 8192  # rows that are written at once, so that rebuilding a large index needs little memory


class Segment(NamedTuple):
    """Some rows on their way into a segment."""

    keys: Keys
    vectors: NDArray[np.float16]
    codes: NDArray[np.uint64]  # a row for each vector


def file_names(number: int) -> list[str]:
    """The files of a segment."""
    return [f"{part}-{number}.npy" for part in _PARTS]


def load_keys(folder: Path, number: int) -> Keys:
    """The keys of a segment."""
    keys: Keys = load_array(folder / file_names(number)[0])
    return keys


def stack(rows: Iterable[VectorRow], rotation: Matrix) -> Segment:
    """Rows as the database keeps them, all at once."""
    keys: list[int] = []
    content = bytearray()
    for key, vector in rows:
        keys.append(key)
        content += vector
    vectors = np.frombuffer(content, dtype="<f2").reshape(len(keys), len(rotation))
    return Segment(np.array(keys, dtype=np.int64), vectors, codes_of(vectors, rotation))


def blocks(rows: Iterable[VectorRow], rotation: Matrix) -> Iterator[Segment]:
    """Rows as the database keeps them, some at a time."""
    remaining = iter(rows)
    while some := list(islice(remaining, _BLOCK)):
        yield stack(some, rotation)


def survivors(folder: Path, number: int, dead: Keys) -> Iterator[Segment]:
    """The rows of a segment on disk whose keys are not dead, some at a time."""
    keys_name, vectors_name, codes_name = file_names(number)
    keys, codes = load_array(folder / keys_name), load_array(folder / codes_name)
    start = 0
    for vectors in VectorFile(folder / vectors_name).blocks():
        part = slice(start, start + len(vectors))
        kept = ~np.isin(keys[part], dead)
        yield Segment(keys[part][kept], vectors[kept], codes[part][kept])
        start += len(vectors)


def save(folder: Path, number: int, parts: Iterable[Segment], dimensions: int) -> int:
    """Writes rows as one segment, a part after the other; returns how many there are."""
    keys_name, vectors_name, codes_name = file_names(number)
    keys, codes = [no_keys()], [np.zeros((0, _words(dimensions)), np.uint64)]
    with (folder / vectors_name).open("wb") as file:
        _write_header(file, 0, dimensions)
        for part in parts:
            file.write(part.vectors.tobytes())
            keys.append(part.keys)
            codes.append(part.codes)
        count = sum(map(len, keys))
        file.seek(0)
        _write_header(file, count, dimensions)
        _sync(file)
    save_array(folder / keys_name, np.concatenate(keys))
    # By columns: a scan counts the bits of one word of all codes, then of the next.
    save_array(folder / codes_name, np.asfortranarray(np.concatenate(codes)))
    return count


def dead_name(number: int) -> str:
    """The file that lists what is no more, as of a segment."""
    return f"dead-{number}.npy"


def dead_keys(folder: Path, segments: Sequence[int]) -> Keys:
    """The keys that are in a segment but are no more, as the newest segment knows."""
    dead: Keys = load_array(folder / dead_name(max(segments))) if segments else no_keys()
    return dead


def no_keys() -> Keys:
    """No keys at all."""
    return np.zeros(0, dtype=np.int64)


def codes_of(vectors: NDArray[Any], rotation: Matrix) -> NDArray[np.uint64]:
    """One bit for the sign of each rotated dimension, packed into words."""
    codes = np.zeros((len(vectors), 8 * _words(vectors.shape[1])), dtype=np.uint8)
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
        _sync(file)


def load_array(path: Path) -> Any:
    """An array in memory, where no other program can truncate it; the manifest has its checksum."""
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise replica_damaged(f"{path} is not as it was written.") from error


def _words(dimensions: int) -> int:
    """How many words a code of so many bits takes."""
    return -(-dimensions // 64)


def _write_header(file: IO[bytes], rows: int, dimensions: int) -> None:
    """Begins a file of vectors; numpy leaves room, so that any number of rows fits later."""
    described = {"descr": "<f2", "fortran_order": False, "shape": (rows, dimensions)}
    np.lib.format.write_array_header_1_0(file, described)


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
