"""Making and extending the vector index: immutable segments of half floats."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path

from dowse._model import ChunkKey, Keys
from dowse._store.replicas import FileSum, ReplicaManifest, describe, sum_files
from dowse._store.sql.database import Database
from dowse._store.vectors.index import EXACT_ROWS, OpenSegments, VectorIndex
from dowse._store.vectors.segments import (
    ROTATION,
    OpenFile,
    Segment,
    blocks,
    dead_keys,
    dead_name,
    file_names,
    load_array,
    load_keys,
    no_keys,
    random_rotation,
    save,
    save_array,
    stack,
    survivors,
)
from dowse._util.arrays import np
from dowse._util.files import make_private_folder


class VectorReplica:
    """Makes and extends the vector index."""

    name = "vectors"
    terms_only = False

    def __init__(self, base: Path, exact_rows: int = EXACT_ROWS) -> None:
        self._base = base
        self._exact_rows = exact_rows
        self._held = OpenSegments()

    def create(self, database: Database) -> ReplicaManifest:
        """An empty index, in a folder of its own."""
        folder = self._base / f"{self.name}-{uuid.uuid4().hex[:12]}"
        make_private_folder(folder)
        save_array(folder / ROTATION, random_rotation(database.dimensions))
        return ReplicaManifest(database.identity, -1, folder.name)

    def take(
        self, manifest: ReplicaManifest, database: Database, changed: list[ChunkKey] | None
    ) -> ReplicaManifest:
        """The index with the changed chunks, or all; doing it twice is doing it once."""
        folder, segments = self._base / manifest.folder, _segments(manifest)
        rotation, number = load_array(folder / ROTATION), max(segments, default=0) + 1
        parts: Iterable[Segment] = blocks(database.vector_rows(), rotation)
        dead = no_keys()
        if changed is not None:
            new = stack(database.vector_rows(changed), rotation)
            joined, gone = _joined(folder, manifest, changed, new)
            old = [survivors(folder, segment, gone) for segment in segments if segment in joined]
            parts = chain(*old, [new])
            segments = [segment for segment in segments if segment not in joined]
            dead = np.setdiff1d(gone, new.keys) if segments else no_keys()
        count = save(folder, number, parts, len(rotation))
        save_array(folder / dead_name(number), dead)
        detail = {str(one): manifest.detail[str(one)] for one in segments} | {str(number): count}
        names = [name for segment in detail for name in file_names(int(segment))]
        files = sum_files(folder, [*names, ROTATION, dead_name(number)], manifest.files)
        return describe(database, manifest.folder, files, detail)

    def is_current(self, manifest: ReplicaManifest) -> bool:  # noqa: ARG002  (segments are never rewritten)
        """Whether the files are those that the manifest lists."""
        return True

    def left_of(self, manifest: ReplicaManifest) -> Mapping[str, FileSum]:
        """The files of a manifest that are still in use: all, since it is always current."""
        return manifest.files

    def is_worn(self, manifest: ReplicaManifest, database: Database, *, thorough: bool) -> bool:  # noqa: ARG002  (of the port)
        """Never: what is deleted is left out when segments are joined."""
        return False

    def open(self, manifest: ReplicaManifest) -> VectorIndex:
        """The index that a manifest describes."""
        folder, numbers = self._base / manifest.folder, _segments(manifest)
        segments = [self._held.get(folder, number, manifest.files) for number in numbers]
        dead = OpenFile(folder / dead_name(max(numbers))) if numbers else None
        return VectorIndex(segments, OpenFile(folder / ROTATION), dead, self._exact_rows)


def _segments(manifest: ReplicaManifest) -> list[int]:
    return sorted(int(number) for number in manifest.detail)


def _joined(
    folder: Path, manifest: ReplicaManifest, changed: Sequence[ChunkKey], new: Segment
) -> tuple[set[int], Keys]:
    """The segments to join with new rows, the newest of all, and the keys that are dead.

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
    """The keys whose rows in the segments are no more, and the first segment to be rewritten.

    A key must not be both dead and alive, so a segment that holds one of the new keys has to go.
    """
    dead, first = dead_keys(folder, segments), float("inf")
    for segment in reversed(segments):
        keys = load_keys(folder, segment)
        dead = np.union1d(dead, _found(changed, keys))
        if len(_found(new, keys)):
            first = segment
    return dead, first


def _found(keys: Keys, segment: Keys) -> Keys:
    """Those of some keys that a segment holds."""
    if not len(segment) or not len(keys) or keys.min() > segment.max():
        return keys[:0]  # as nearly always: new chunks have new keys
    return keys[np.isin(keys, segment)]
