"""Segments of the vector index: files of keys, vectors and sign codes that never change."""

from __future__ import annotations

import io
import math
import os
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice, pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from dowse._model import Keys, Matrix
from dowse._store.failures import replica_damaged
from dowse._store.sql.database import VectorRow
from dowse._util.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


# ── Files of arrays, of which all or only some rows are read ──────────────


_HEADER = 4096  # bytes; the header of an array takes 128
_BLOCK = 8192  # rows that are read at once where all are read one after the other


class _Header(NamedTuple):
    """What the beginning of a file says."""

    start: int  # of the content, in bytes
    shape: tuple[int, ...]
    by_columns: bool
    kind: np.dtype[Any]
    row: int  # how many bytes a row takes

    @property
    def size(self) -> int:
        """How many bytes the file has."""
        return self.start + self.shape[0] * self.row


class OpenFile:
    """A file of the index, open for as long as this object is in use.

    It is opened with its generation and read at its first use: a writer may have removed it then.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except OSError as error:
            raise self._damaged() from error
        weakref.finalize(self, os.close, self._file)
        self._size = os.fstat(self._file).st_size

    @property
    def is_whole(self) -> bool:
        """Whether the file still has the length that it had when it was opened."""
        return os.fstat(self._file).st_size == self._size

    def array(self) -> Any:
        """All of it as an array in memory, where no other program can truncate it."""
        head = self._header
        flat = np.frombuffer(self._bytes(self._size - head.start, head.start), head.kind)
        return flat.reshape(head.shape, order="F" if head.by_columns else "C")

    @cached_property
    def _header(self) -> _Header:
        content = io.BytesIO(self._bytes(min(_HEADER, self._size), 0))
        try:
            np.lib.format.read_magic(content)
            shape, by_columns, kind = np.lib.format.read_array_header_1_0(content)
            row = math.prod(shape[1:]) * kind.itemsize
            header = _Header(content.tell(), shape, by_columns, kind, row)
            sound = not kind.hasobject and self._size == header.size
        except (ValueError, IndexError) as error:
            raise self._damaged() from error
        if not sound:
            raise self._damaged()
        return header

    def _bytes(self, size: int, start: int) -> bytes:
        content: bytes = _read_at(self._file, size, start)
        if len(content) != size:
            raise self._damaged()
        return content

    def _damaged(self) -> Exception:
        return replica_damaged(f"{self._path} is not as it was written.")


class VectorFile(OpenFile):
    """A file of half floats, a row for each vector."""

    def blocks(self) -> Iterator[NDArray[np.float16]]:
        """All vectors, some at a time."""
        count = self._header.shape[0]
        for first in range(0, count, _BLOCK):
            yield self._array(self._run(first, min(_BLOCK, count - first)))

    def rows(self, places: Keys) -> NDArray[np.float16]:
        """The vectors at some places, which must ascend."""
        return self._array(b"".join(self._run(first, count) for first, count in _runs(places)))

    def _run(self, first: int, count: int) -> bytes:
        row = self._header.row
        return self._bytes(count * row, self._header.start + first * row)

    def _array(self, content: bytes) -> NDArray[np.float16]:
        _, dimensions = self._header.shape
        return np.frombuffer(content, self._header.kind).reshape(-1, dimensions)


def _seek_and_read(file: int, size: int, start: int) -> bytes:
    """Does what `os.pread` does, for Windows: threads share the position in a file."""
    with _position:
        os.lseek(file, start, os.SEEK_SET)
        return os.read(file, size)


_position = threading.Lock()
_read_at = getattr(os, "pread", _seek_and_read)


def _runs(places: Keys) -> Iterator[tuple[int, int]]:
    """The first place and the length of each run of rows, as those of a document follow."""
    if not len(places):
        return
    cuts = (np.flatnonzero(places[1:] != places[:-1] + 1) + 1).tolist()
    listed = places.tolist()
    for begin, end in pairwise((0, *cuts, len(listed))):
        yield listed[begin], end - begin


ROTATION = "rotation.npy"
_PARTS = ("keys", "vectors", "codes")
_SEED = 384


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
