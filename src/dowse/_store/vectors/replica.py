"""Make and extend the vector index: files of keys, vectors and sign codes that never change."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from dowse._model import ChunkKey, Keys, Matrix
from dowse._store.failures import replica_damaged
from dowse._store.replicas import FileSum, ReplicaManifest, describe, sum_files
from dowse._store.sql.database import Database, VectorRow
from dowse._store.vectors.index import (
    EXACT_ROWS,
    OpenFile,
    OpenSegments,
    VectorFile,
    VectorIndex,
    codes_of,
    file_names,
    words_of,
)
from dowse._util.arrays import np
from dowse._util.files import make_private_folder

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROTATION = "rotation.npy"
_SEED = 384
_BLOCK = 8192  # rows that are written at once, so that rebuilding a large index needs little memory


class VectorReplica:
    """Make and extend the vector index."""

    name = "vectors"
    terms_only = False

    def __init__(self, base: Path, exact_rows: int = EXACT_ROWS) -> None:
        self._base = base
        self._exact_rows = exact_rows
        self._open_segments = OpenSegments()

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
        rotation, number = load_array(folder / ROTATION), max(segments, default=0) + 1
        parts: Iterable[Segment] = blocks(database.vector_rows(), rotation)
        dead = np.zeros(0, np.int64)
        if changed is not None:
            new = stack(database.vector_rows(changed), rotation)
            joined, gone = _joined(folder, manifest, changed, new)
            old = [survivors(folder, segment, gone) for segment in segments if segment in joined]
            parts = chain(*old, [new])
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
        folder, numbers = self._base / manifest.folder, _segments(manifest)
        segments = [self._open_segments.get(folder, number, manifest.files) for number in numbers]
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
    dead, first = _superseded(folder, segments, np.array(changed, dtype=np.int64), new.keys)
    joined, count = set[int](), len(new.keys)
    for segment in reversed(segments):
        mostly_dead = 2 * len(dead) > sum(rows.values()) - sum(rows[one] for one in joined)
        if segment < first and rows[segment] > 2 * count and not mostly_dead:
            break
        joined.add(segment)
        count += rows[segment]
    return joined, dead


def _superseded(
    folder: Path, segments: Sequence[int], changed: Keys, new: Keys
) -> tuple[Keys, float]:
    """Find the keys whose rows in the segments are no more, and the first segment to be rewritten.

    A key must not be both dead and alive, so a segment that holds one of the new keys has to go.
    """
    dead, first = np.zeros(0, np.int64), float("inf")
    if segments:  # the newest knows
        dead = load_array(folder / dead_name(max(segments)))
    for segment in reversed(segments):
        keys: Keys = load_array(folder / file_names(segment)[0])
        dead = np.union1d(dead, _found(changed, keys))
        if len(_found(new, keys)):
            first = segment
    return dead, first


def _found(keys: Keys, segment: Keys) -> Keys:
    """Pick those of some keys that a segment holds."""
    if not len(segment) or not len(keys) or keys.min() > segment.max():
        return keys[:0]  # as nearly always: new chunks have new keys
    return keys[np.isin(keys, segment)]


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
    keys_name, vectors_name, codes_name = file_names(number)
    keys, codes = load_array(folder / keys_name), load_array(folder / codes_name)
    start = 0
    for vectors in VectorFile(folder / vectors_name).blocks():
        part = slice(start, start + len(vectors))
        kept = ~np.isin(keys[part], dead)
        yield Segment(keys[part][kept], vectors[kept], codes[part][kept])
        start += len(vectors)


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
    normal = np.random.default_rng(_SEED).standard_normal((dimensions, dimensions))
    return np.ascontiguousarray(np.linalg.qr(normal)[0], dtype=np.float32)


def load_array(path: Path) -> Any:
    """Load an array, which no other program can truncate then; the manifest has its checksum."""
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise replica_damaged(f"{path} is not as it was written.") from error


def save_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array so that its bytes are on the disk before a manifest mentions it."""
    with path.open("wb") as file:
        np.save(file, array)
        _sync(file)


def _write_header(file: IO[bytes], rows: int, dimensions: int) -> None:
    """Begin a file of vectors; numpy leaves room, so that any number of rows fits later."""
    described = {"descr": "<f2", "fortran_order": False, "shape": (rows, dimensions)}
    np.lib.format.write_array_header_1_0(file, described)


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
