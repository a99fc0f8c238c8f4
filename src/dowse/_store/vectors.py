"""Search one generation of the vector index: segments, scanned flat.

Small indexes are searched exactly. Above `EXACT_ROWS` a scan over one bit per dimension (signs
after a random rotation, compared by Hamming distance) picks many candidates. The same bits against
the query itself, not only its signs, order them well enough to read few vectors from the disk,
which are then scored exactly. No graph has to be built, and a filter cannot starve the search: of
the rows that it leaves, only these are scanned.

Files are read and not mapped: a mapped file that another program truncates kills the process with
SIGBUS. Of 100,000 vectors of 384 dimensions, 1,000 rows take 1.2 ms to read and 0.1 ms to map.
"""

from __future__ import annotations

import io
import math
import os
import threading
import uuid
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias
from weakref import WeakValueDictionary

from dowse._model import ChunkKey, Keys, Matrix, Scores, Vector
from dowse._store.files import replica_damaged
from dowse._store.replicas import FileSum, ReplicaManifest, describe, sum_files
from dowse._store.sql.database import Database, VectorRow
from dowse._util.arrays import members, np
from dowse._util.files import make_private_folder

if TYPE_CHECKING:
    from numpy.typing import NDArray


Codes: TypeAlias = "NDArray[np.uint64]"
"""Sign codes word by word, a column for each vector: counting bits is fast that way."""

Rows: TypeAlias = "NDArray[np.intp]"
"""Places of vectors."""

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
        segments: Sequence[OpenSegment],
        rotation: OpenFile,
        dead: OpenFile | None,
        exact_rows: int,
    ) -> None:
        self._segments = list(segments)
        self._rotation, self._dead_file = rotation, dead
        self._exact_rows = exact_rows

    @property
    def is_whole(self) -> bool:
        """Whether the vectors that are still on disk can be read."""
        return all(segment.vectors.is_whole for segment in self._segments)

    def nearest(self, vector: Vector, limit: int, among: Keys | None = None) -> Scores:
        """Find chunks by cosine to the vector, best first; only `among` these keys, if given."""
        size, rows = self._starts[-1], None
        if among is not None:
            ordered = among if bool((among[1:] > among[:-1]).all()) else np.unique(among)
            allowed = [members(one.keys, ordered, one.largest) for one in self._segments]
            mask = np.concatenate([np.zeros(0, np.bool_), *allowed])
            mask[self._dead] = False
            rows = np.flatnonzero(mask)
        count = size - len(self._dead) if rows is None else len(rows)
        if limit < 1 or not count:
            return []
        few = min(self._exact_rows, max(_GATHERED, size // _SHARE))
        if size > self._exact_rows and count > few:
            rows = self._candidates(vector, rows, limit)
        elif rows is None:
            rows = self._alive
        # Where most of a small index is scored, all of it in memory is quicker than gathered rows.
        all_at_once = size <= self._exact_rows and 4 * len(rows) > size
        vectors = self._matrix if all_at_once else self._gather(rows)
        scores = np.vecdot(vectors, vector)
        scores = scores[rows] if all_at_once else scores
        places = smallest(-scores, limit, slack=_ROUNDING)
        best = rows[places]
        # Equal vectors must score equally in every row, which sums in single floats do not.
        nearest = vectors[best if all_at_once else places].astype(np.float64)
        exact = nearest @ vector.astype(np.float64)
        keys, scores = self._keys_of(best), exact.astype(np.float32)
        return [
            (int(keys[place]), float(scores[place]))
            for place in np.lexsort((keys, -scores))[:limit]
        ]

    def of(self, keys: Sequence[ChunkKey]) -> dict[ChunkKey, Vector]:
        """Read the vectors of these chunks; those without one are passed over."""
        rows = np.setdiff1d(self._rows_of(np.array(keys, np.int64)), self._dead)
        if not len(rows):
            return {}
        known = dict(zip(self._keys_of(rows).tolist(), self._gather(rows), strict=True))
        return {int(key): known[key] for key in keys if key in known}

    def keys(self) -> set[ChunkKey]:
        """List all the chunks it holds a vector of."""
        return set(self._keys_of(self._alive).tolist())

    @cached_property
    def _starts(self) -> list[int]:
        """The first row of each segment, and the number of all rows."""
        return [0, *np.cumsum([len(segment.keys) for segment in self._segments]).tolist()]

    @cached_property
    def _dead(self) -> Rows:
        """The rows whose chunks are no more."""
        return self._rows_of(self._dead_file.array if self._dead_file else np.zeros(0, np.int64))

    @cached_property
    def _alive(self) -> Rows:
        return np.delete(np.arange(self._starts[-1]), self._dead)

    @cached_property
    def _matrix(self) -> Matrix:
        return np.concatenate(
            [block for one in self._segments for block in one.vectors.blocks()]
        ).astype(np.float32)

    def _rows_of(self, keys: Keys) -> Rows:
        found = [
            start + segment.rows_of(keys)
            for start, segment in zip(self._starts, self._segments, strict=False)
        ]
        return np.concatenate([np.zeros(0, np.intp), *found])

    def _keys_of(self, rows: Rows) -> Keys:
        found = [segment.keys[places] for segment, places in self._places(rows)]
        return np.concatenate([np.zeros(0, np.int64), *found])

    def _places(self, rows: Rows) -> Iterator[tuple[OpenSegment, Rows]]:
        """List the segments, each with the places in it of some rows, which must ascend."""
        for segment, start, (begin, end) in zip(
            self._segments,
            self._starts,
            pairwise(np.searchsorted(rows, self._starts).tolist()),
            strict=False,
        ):
            yield segment, rows[begin:end] - start

    def _candidates(self, vector: Vector, rows: Rows | None, limit: int) -> Rows:
        """Find the rows, of some or of all, that the codes say are nearest to a vector."""
        rotation, count = self._rotation.array, max(_SCANNED, 60 * limit)
        (code,) = codes_of(vector[None, :], rotation)
        if rows is not None and _PICKED * len(rows) < self._starts[-1]:
            likely = rows[smallest(distances(self._codes_of(rows), code), count)]
        else:
            distance = np.concatenate([distances(one.codes, code) for one in self._segments])
            if rows is not None:
                likely = rows[smallest(distance[rows], count)]
            else:
                distance[self._dead] = np.iinfo(np.uint16).max
                likely = np.setdiff1d(smallest(distance, count), self._dead, assume_unique=True)
        far = -estimates(self._codes_of(likely), vector @ rotation)
        return likely[smallest(far, max(_RESCORED, 10 * limit))]

    def _codes_of(self, rows: Rows) -> Codes:
        """Read the codes of some rows, which must ascend."""
        return np.concatenate([one.codes[:, places] for one, places in self._places(rows)], axis=1)

    def _gather(self, rows: Rows) -> Matrix:
        """Read the vectors of some rows, which must ascend."""
        return np.concatenate(
            [segment.vectors.rows(places) for segment, places in self._places(rows)]
        ).astype(np.float32)


# ── Segments ──────────────────────────────────────────────────────────────

_PARTS = ("keys", "vectors", "codes")
_HEADER = 4096  # bytes; the header of an array takes 128
# Rows that are read, written or coded at once, so that a large index needs little memory.
_BLOCK = 8192


class OpenSegment:
    """The files of a segment, open; they are read when they are first searched."""

    def __init__(self, folder: Path, number: int) -> None:
        keys, vectors, codes = (folder / name for name in file_names(number))
        self._keys, self._codes = OpenFile(keys), OpenFile(codes)
        self.vectors = OpenFile(vectors)

    @cached_property
    def keys(self) -> Keys:
        """The key of each row."""
        keys: Keys = self._keys.array
        return keys

    @cached_property
    def codes(self) -> Codes:
        """The sign codes."""
        return np.ascontiguousarray(self._codes.array.T)  # a copy of those of older indexes

    @cached_property
    def largest(self) -> int:
        """The largest key; 0 where there is none."""
        return int(self.keys.max(initial=0))

    def rows_of(self, keys: Keys) -> Rows:
        """Find the rows of a few keys, ascending."""
        if not len(self.keys):
            return np.zeros(0, np.intp)
        places = np.searchsorted(self.keys, keys, sorter=self._order)
        places = np.minimum(places, len(self.keys) - 1)
        rows = places if self._order is None else self._order[places]
        # np.unique would load numpy.ma
        return np.array(sorted({*rows[self.keys[rows] == keys].tolist()}), np.intp)

    @cached_property
    def _order(self) -> Rows | None:
        """The rows by key; None where they already are: vectors may come in any order."""
        keys = self.keys
        return None if bool((keys[1:] > keys[:-1]).all()) else np.argsort(keys, kind="stable")


def file_names(number: int) -> list[str]:
    """Name the files of a segment."""
    return [f"{part}-{number}.npy" for part in _PARTS]


def words_of(dimensions: int) -> int:
    """Count the words that a code of so many bits takes."""
    return -(-dimensions // 64)


def codes_of(vectors: NDArray[Any], rotation: Matrix) -> NDArray[np.uint64]:
    """Pack the signs of the rotated dimensions into words, one bit for each."""
    codes = np.zeros((len(vectors), 8 * words_of(vectors.shape[1])), dtype=np.uint8)
    for start in range(0, len(vectors), _BLOCK):
        bits = np.packbits(
            (vectors[start : start + _BLOCK].astype(np.float32) @ rotation) > 0, axis=1
        )
        codes[start : start + _BLOCK, : bits.shape[1]] = bits
    return codes.view(np.uint64)


# ── Files ─────────────────────────────────────────────────────────────────


_Header: TypeAlias = "tuple[int, tuple[int, ...], bool, np.dtype[Any]]"
"""What the beginning of a file says: its length in bytes; the shape of the array that follows,
whether it is kept by columns, and the kind of its numbers."""


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

    @cached_property
    def array(self) -> Any:
        """All of it as an array in memory, where no other program can truncate it."""
        start, shape, by_columns, kind = self._header
        return np.frombuffer(self._bytes(self._size - start, start), kind).reshape(
            shape, order="F" if by_columns else "C"
        )

    def blocks(self) -> Iterator[NDArray[np.float16]]:
        """Read the rows of half floats, some at a time."""
        count = self._header[1][0]
        for first in range(0, count, _BLOCK):
            yield self.rows(np.arange(first, min(first + _BLOCK, count)))

    def rows(self, places: Keys) -> NDArray[np.float16]:
        """Read the rows at some places, which must ascend."""
        start, (_, width), _, kind = self._header
        row = width * kind.itemsize
        # The rows of a document follow each other, so runs of them are read at once.
        listed = places.tolist()
        cuts = (np.flatnonzero(places[1:] != places[:-1] + 1) + 1).tolist()
        runs = pairwise((0, *cuts, len(listed))) if listed else ()
        content = b"".join(
            [
                _read_at(self._file, (end - begin) * row, start + listed[begin] * row)
                for begin, end in runs
            ]
        )
        if len(content) != len(listed) * row:
            raise self._damaged()
        return np.frombuffer(content, kind).reshape(-1, width)

    @cached_property
    def _header(self) -> _Header:
        content = io.BytesIO(self._bytes(min(_HEADER, self._size), 0))
        try:
            np.lib.format.read_magic(content)
            shape, by_columns, kind = np.lib.format.read_array_header_1_0(content)
            size = content.tell() + math.prod(shape) * kind.itemsize
        except (ValueError, IndexError) as error:
            raise self._damaged() from error
        if kind.hasobject or self._size != size:
            raise self._damaged()
        return content.tell(), shape, by_columns, kind

    def _bytes(self, size: int, start: int) -> bytes:
        content: bytes = _read_at(self._file, size, start)
        if len(content) != size:
            raise self._damaged()
        return content

    def _damaged(self) -> Exception:
        return replica_damaged(f"{self._path} is not as it was written.")


def _seek_and_read(file: int, size: int, start: int) -> bytes:
    """Do what `os.pread` does, for Windows: threads share the position in a file."""
    with _position:
        os.lseek(file, start, os.SEEK_SET)
        return os.read(file, size)


_position = threading.Lock()
_read_at = getattr(os, "pread", _seek_and_read)


# ── Scanning ──────────────────────────────────────────────────────────────


def distances(codes: Codes, asked: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """Count in how many bits each code differs from the one asked for."""
    distance = np.zeros(codes.shape[1], np.uint16)
    for words, word in zip(codes, asked, strict=True):
        distance += np.bitwise_count(words ^ word)
    return distance


def estimates(codes: Codes, rotated: Vector) -> NDArray[np.float32]:
    """Estimate how near some vectors are to one: it against the signs of their dimensions."""
    padded = np.zeros(64 * len(codes), np.float32)
    padded[: len(rotated)] = rotated
    # The signs that the bits of every byte mean, a row each; then what each byte adds.
    signs_of = 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) - 1
    by_byte = (padded.reshape(-1, 8) @ signs_of.T).astype(np.float32)
    places = np.ascontiguousarray(codes.T).view(np.uint8) + np.arange(0, by_byte.size, 256)
    estimated: NDArray[np.float32] = by_byte.ravel().take(places).sum(axis=1)
    return estimated


def smallest(values: NDArray[Any], count: int, slack: float = 0) -> Rows:
    """Find the places of the smallest numbers, and of all that equal the largest of them.

    Ties can then be broken by key. `slack` is what equal numbers may differ by.
    """
    if count >= len(values):
        return np.arange(len(values))
    return np.flatnonzero(values <= np.partition(values, count - 1)[count - 1] + slack)


ROTATION = "rotation.npy"
_SEED = 384


class VectorReplica:
    """Make and extend the vector index."""

    name = "vectors"
    terms_only = False

    def __init__(self, base: Path, exact_rows: int = EXACT_ROWS) -> None:
        self._base = base
        self._exact_rows = exact_rows
        # Those that are open, by folder and checksums: what a generation in use has is not read
        # again for the next.
        self._segments: WeakValueDictionary[tuple[Path, tuple[FileSum, ...]], OpenSegment] = (
            WeakValueDictionary()
        )

    def create(self, database: Database) -> ReplicaManifest:
        """Begin an empty index, in a folder of its own."""
        folder = self._base / f"{self.name}-{uuid.uuid4().hex[:12]}"
        make_private_folder(folder)
        save_array(folder / ROTATION, random_rotation(database.dimensions))
        return ReplicaManifest(database.identity, -1, folder.name)

    def take(
        self, manifest: ReplicaManifest, database: Database, changed: list[ChunkKey] | None
    ) -> ReplicaManifest:
        """Apply the changed chunks, or all. Idempotent."""
        folder, segments = self._base / manifest.folder, _segments(manifest)
        rotation, number = OpenFile(folder / ROTATION).array, max(segments, default=0) + 1
        parts: Iterable[Segment] = blocks(database.vector_rows(), rotation)
        dead = np.zeros(0, np.int64)
        if changed is not None:
            new = stack(database.vector_rows(changed), rotation)
            joined, gone = _joined(folder, manifest, changed, new)
            parts = chain(
                *[survivors(folder, segment, gone) for segment in segments if segment in joined],
                [new],
            )
            segments = [segment for segment in segments if segment not in joined]
            dead = np.setdiff1d(gone, new.keys) if segments else np.zeros(0, np.int64)
        count = save(folder, number, parts, len(rotation))
        save_array(folder / dead_name(number), dead)
        detail = {str(one): manifest.detail[str(one)] for one in segments} | {str(number): count}
        names = [name for segment in detail for name in file_names(int(segment))]
        files = sum_files(folder, [*names, ROTATION, dead_name(number)], manifest.files)
        return describe(database, manifest.folder, files, detail)

    def is_current(self, manifest: ReplicaManifest) -> bool:  # noqa: ARG002  (segments are never rewritten)
        """Tell whether the files are those that the manifest lists."""
        return True

    def left_of(self, manifest: ReplicaManifest) -> Mapping[str, FileSum]:
        """List the files of a manifest that are still in use: all, since it is always current."""
        return manifest.files

    def is_worn(self, manifest: ReplicaManifest, database: Database, *, thorough: bool) -> bool:  # noqa: ARG002  (of the port)
        """Never: what is deleted is left out when segments are joined."""
        return False

    def open(self, manifest: ReplicaManifest) -> VectorIndex:
        """Open the index that a manifest describes."""
        folder, numbers, segments = self._base / manifest.folder, _segments(manifest), []
        for number in numbers:
            id_ = folder, tuple(manifest.files[name] for name in file_names(number))
            found = self._segments.get(id_)
            if found is None or not found.vectors.is_whole:
                found = self._segments[id_] = OpenSegment(folder, number)
            segments.append(found)
        dead = OpenFile(folder / dead_name(max(numbers))) if numbers else None
        return VectorIndex(segments, OpenFile(folder / ROTATION), dead, self._exact_rows)


def _segments(manifest: ReplicaManifest) -> list[int]:
    return sorted(int(number) for number in manifest.detail)


def _joined(
    folder: Path, manifest: ReplicaManifest, changed: Sequence[ChunkKey], new: Segment
) -> tuple[set[int], Keys]:
    """Choose the segments to join with new rows, the newest of all, and the keys that are dead.

    Segments grow like a binary counter: there are few of them, and each row is rewritten rarely.
    """
    segments = _segments(manifest)
    rows = {segment: manifest.detail[str(segment)] for segment in segments}
    newest = folder / dead_name(max(segments, default=0))
    dead = OpenFile(newest).array if segments else np.zeros(0, np.int64)
    gone, first = np.array(changed, dtype=np.int64), float("inf")
    for segment in reversed(segments):
        keys: Keys = OpenFile(folder / file_names(segment)[0]).array
        dead = np.union1d(dead, gone[np.isin(gone, keys)])
        if np.isin(new.keys, keys).any():
            first = segment  # a key must not be both dead and alive, so it has to be rewritten
    joined, count = set[int](), len(new.keys)
    for segment in reversed(segments):
        mostly_dead = 2 * len(dead) > sum(rows.values()) - sum(rows[one] for one in joined)
        if segment < first and rows[segment] > 2 * count and not mostly_dead:
            break
        joined.add(segment)
        count += rows[segment]
    return joined, dead


# ── Segments on their way to the disk ─────────────────────────────────────


class Segment(NamedTuple):
    """Some rows on their way into a segment."""

    keys: Keys
    vectors: NDArray[np.float16]
    codes: NDArray[np.uint64]  # a row for each vector


def stack(rows: Iterable[VectorRow], rotation: Matrix) -> Segment:
    """Gather rows as the database keeps them, all at once."""
    keys: list[int] = []
    content = bytearray()
    for key, vector in rows:
        keys.append(key)
        content += vector
    vectors = np.frombuffer(content, dtype="<f2").reshape(len(keys), len(rotation))
    return Segment(np.array(keys, dtype=np.int64), vectors, codes_of(vectors, rotation))


def blocks(rows: Iterable[VectorRow], rotation: Matrix) -> Iterator[Segment]:
    """Gather rows as the database keeps them, some at a time."""
    remaining = iter(rows)
    while some := list(islice(remaining, _BLOCK)):
        yield stack(some, rotation)


def survivors(folder: Path, number: int, dead: Keys) -> Iterator[Segment]:
    """Read the rows of a segment on disk whose keys are not dead, some at a time."""
    keys, vectors, codes = (OpenFile(folder / name) for name in file_names(number))
    places = np.flatnonzero(~np.isin(keys.array, dead))
    for start in range(0, len(places), _BLOCK):
        some = places[start : start + _BLOCK]
        yield Segment(keys.array[some], vectors.rows(some), codes.array[some])


def save(folder: Path, number: int, parts: Iterable[Segment], dimensions: int) -> int:
    """Write rows as one segment, a part after the other; return how many there are."""
    keys_name, vectors_name, codes_name = file_names(number)
    keys, codes = [np.zeros(0, np.int64)], [np.zeros((0, words_of(dimensions)), np.uint64)]
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
    """Name the file that lists what is no more, as of a segment."""
    return f"dead-{number}.npy"


def random_rotation(dimensions: int) -> Matrix:
    """Make the rotation of every index: codes are only comparable under the same one."""
    return np.ascontiguousarray(
        np.linalg.qr(np.random.default_rng(_SEED).standard_normal((dimensions, dimensions)))[0],
        dtype=np.float32,
    )


def save_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array so that its bytes are on the disk before a manifest mentions it."""
    with path.open("wb") as file:
        np.save(file, array)
        _sync(file)


def _write_header(file: IO[bytes], rows: int, dimensions: int) -> None:
    """Begin a file of vectors; numpy leaves room, so that any number of rows fits later."""
    np.lib.format.write_array_header_1_0(
        file, {"descr": "<f2", "fortran_order": False, "shape": (rows, dimensions)}
    )


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
