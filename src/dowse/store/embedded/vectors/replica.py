"""Making and extending the vector index: immutable segments of half floats."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from dowse.arrays import np
from dowse.files import make_private_folder
from dowse.store.embedded.manifest import FileSum, ReplicaManifest, sum_files
from dowse.store.embedded.sqlite.truth import Truth, describe
from dowse.store.embedded.vectors.index import EXACT_ROWS, VectorIndex
from dowse.store.embedded.vectors.segments import (
    ROTATION,
    dead_keys,
    dead_name,
    file_names,
    load,
    load_array,
    load_keys,
    no_keys,
    random_rotation,
    save,
    save_array,
    stack,
    without,
)
from dowse.types import ChunkKey, Keys


class VectorReplica:
    """Makes and extends the vector index."""

    name = "vectors"
    terms_only = False

    def __init__(self, base: Path, exact_rows: int = EXACT_ROWS) -> None:
        self._base = base
        self._exact_rows = exact_rows

    def create(self, truth: Truth) -> ReplicaManifest:
        """An empty index, in a folder of its own."""
        folder = self._base / f"{self.name}-{uuid.uuid4().hex[:12]}"
        make_private_folder(folder)
        save_array(folder / ROTATION, random_rotation(truth.dimensions))
        return ReplicaManifest(truth.identity, -1, folder.name)

    def take(
        self, manifest: ReplicaManifest, truth: Truth, changed: list[ChunkKey] | None
    ) -> ReplicaManifest:
        """The index with the changed chunks, or all; doing it twice is doing it once."""
        folder, rows_of = self._base / manifest.folder, dict(manifest.detail)
        segments = _segments(manifest)
        number = max(segments, default=0) + 1
        new = stack(truth.vector_rows(changed), load_array(folder / ROTATION))
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
            folder / dead_name(number), np.setdiff1d(dead, new[0]) if segments else no_keys()
        )
        detail = {str(segment): rows_of[str(segment)] for segment in segments}
        detail[str(number)] = sum(len(keys) for keys, _, _ in parts)
        names = [name for segment in detail for name in file_names(int(segment))]
        files = sum_files(folder, [*names, ROTATION, dead_name(number)], manifest.files)
        return describe(truth, manifest.folder, files, detail)

    def is_current(self, manifest: ReplicaManifest) -> bool:  # noqa: ARG002  (segments are never rewritten)
        """Whether the files are those that the manifest lists."""
        return True

    def left_of(self, manifest: ReplicaManifest) -> Mapping[str, FileSum]:
        """The files of a manifest that are still in use: all, since it is always current."""
        return manifest.files

    def is_worn(self, manifest: ReplicaManifest, truth: Truth, *, thorough: bool) -> bool:  # noqa: ARG002  (of the port)
        """Never: what is deleted is left out when segments are joined."""
        return False

    def open(self, manifest: ReplicaManifest) -> VectorIndex:
        """The index that a manifest describes."""
        return VectorIndex(self._base / manifest.folder, _segments(manifest), self._exact_rows)


def _segments(manifest: ReplicaManifest) -> list[int]:
    return sorted(int(number) for number in manifest.detail)


def _superseded(
    folder: Path, segments: Sequence[int], changed: Keys, new: Keys
) -> tuple[Keys, float]:
    """The keys whose rows in the segments are no more, and the first segment to be rewritten.

    A key must not be both dead and alive, so a segment that holds one of the new keys has to go.
    """
    dead, first = dead_keys(folder, segments), float("inf")
    for segment in reversed(segments):
        keys = load_keys(folder, segment)
        dead = np.union1d(dead, changed[np.isin(changed, keys)])
        if np.isin(new, keys).any():
            first = segment
    return dead, first
