"""Keeping the replicas at the generation of the truth."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from dowse._model import Announce, Event
from dowse._store.embedded.failures import disk_errors
from dowse._store.embedded.manifest import ReplicaManifest, read_manifest, verify, write_manifest
from dowse._store.embedded.replica import OpenKeywords, OpenVectors, Replica
from dowse._store.embedded.sqlite.conditions import Owners
from dowse._store.embedded.sqlite.truth import Truth, describe
from dowse._util.files import close_tree
from dowse.errors import Damaged

_AnyReplica = Replica[OpenKeywords] | Replica[OpenVectors]


class Indexes(NamedTuple):
    """Both replicas at one generation, open for reading, and what else lasts as long."""

    keyword: OpenKeywords
    vectors: OpenVectors
    owners: Owners

    @property
    def are_whole(self) -> bool:
        """Whether no file that is still being read was truncated since it was opened."""
        return self.keyword.is_whole and self.vectors.is_whole


class Replicas:
    """The keyword and the vector index next to a database."""

    def __init__(
        self,
        folder: Path,
        keyword: Replica[OpenKeywords],
        vectors: Replica[OpenVectors],
        announce: Announce,
    ) -> None:
        self._folder = folder
        self._announce = announce
        self._keyword = keyword
        self._vectors = vectors
        self._both: tuple[_AnyReplica, ...] = (keyword, vectors)
        self._trusted: dict[
            str, ReplicaManifest
        ] = {}  # by replica: what this process wrote or verified

    def open(self, truth: Truth) -> Indexes | None:
        """Both replicas, if they are at the truth's generation; None while they are not.

        Raises `Damaged` when a file is not as it was written.
        """
        manifests = [self._manifest(replica) for replica in self._both]
        keyword, vectors = manifests
        if keyword is None or vectors is None or not all(map(truth.reached_by, manifests)):
            return None
        if not (
            self._is_current(self._keyword, keyword) and self._is_current(self._vectors, vectors)
        ):
            return None
        words, nearby = self._keyword.open(keyword), self._vectors.open(vectors)
        return Indexes(words, nearby, Owners()) if words and nearby else None

    def distrust(self) -> None:
        """Forgets which files were verified, so that all are verified again."""
        self._trusted.clear()

    def catch_up(self, truth: Truth, *, repair: bool) -> None:
        """Brings both replicas to the truth's generation; only the writer may.

        A replica that an interrupted writer left damaged is built again. One that is damaged
        although no writer was interrupted is built again with `repair`, and raises `Damaged`
        without: the disk may be failing.
        """
        with disk_errors(self._folder):
            for replica in self._both:
                self._level(replica, truth, repair=repair)

    def rebuild(self, truth: Truth) -> None:
        """Builds both replicas again."""
        with disk_errors(self._folder):
            for replica in self._both:
                self._build(replica, truth)

    def renew(self, truth: Truth, *, thorough: bool) -> None:
        """Builds those replicas again that deleted chunks have worn."""
        for replica in self._both:
            manifest = self._manifest(replica)
            if manifest and replica.is_worn(manifest, truth, thorough=thorough):
                self._announce(Event("tidy", 0, None))
                with disk_errors(self._folder):
                    self._build(replica, truth)

    def _level(self, replica: _AnyReplica, truth: Truth, *, repair: bool) -> None:
        try:
            self._extend(replica, truth)
        except Damaged as damage:
            if not repair and truth.reached_by(self._manifest(replica)):
                raise
            self._announce(Event("repair", 0, None, note=f"{damage.message} It is built again."))
            self._build(replica, truth)

    def _extend(self, replica: _AnyReplica, truth: Truth) -> None:
        manifest = self._manifest(replica)
        # To start empty is cheaper than to delete all, and leaves no statistics behind.
        if manifest is None or not truth.can_extend(manifest) or truth.is_empty():
            self._build(replica, truth)
            return
        changed = truth.changed_since(manifest.generation, terms_only=replica.terms_only)
        if not changed and not replica.is_current(manifest):
            self._build(replica, truth)  # it holds a batch that the truth knows nothing of
            return
        self._is_current(replica, manifest)  # or raises
        if changed:
            self._publish(replica, replica.take(manifest, truth, changed))
        elif not truth.reached_by(manifest):
            taken = describe(truth, manifest.folder, manifest.files, manifest.detail)
            self._publish(replica, taken)

    def _build(self, replica: _AnyReplica, truth: Truth) -> None:
        self._publish(replica, replica.take(replica.create(truth), truth, None))

    def _is_current(self, replica: _AnyReplica, manifest: ReplicaManifest) -> bool:
        """Whether the files are those of the manifest; raises `Damaged` when one is not sound.

        They are not when a writer died between changing them and writing its manifest; to take
        the same changes once more makes up for that.
        """
        trusted = self._trusted.get(replica.name)
        if trusted == manifest:
            return True
        current = replica.is_current(manifest)
        files = manifest.files if current else replica.left_of(manifest)
        known = trusted.files if trusted and trusted.folder == manifest.folder else {}
        new = {name: total for name, total in files.items() if known.get(name) != total}
        verify(self._folder / manifest.folder, new)
        if current:
            self._trusted[replica.name] = manifest
        return current

    def _publish(self, replica: _AnyReplica, manifest: ReplicaManifest) -> None:
        write_manifest(self._path(replica), manifest)
        close_tree(self._folder)  # tantivy creates files with the rights of the umask
        self._trusted[replica.name] = manifest
        self._sweep(replica, manifest)

    def _sweep(self, replica: _AnyReplica, manifest: ReplicaManifest) -> None:
        """Removes what the manifest no longer mentions, as far as nobody holds it."""
        for left in self._folder.glob(f".{self._path(replica).name}-*"):  # by a killed writer
            left.unlink(missing_ok=True)
        for folder in self._folder.glob(f"{replica.name}-*"):
            if folder.name != manifest.folder:
                shutil.rmtree(folder, ignore_errors=True)
                with suppress(OSError):  # it may be a file, which rmtree leaves
                    folder.unlink(missing_ok=True)
        for path in (self._folder / manifest.folder).iterdir():
            if path.name not in manifest.files and not path.name.startswith("."):
                with suppress(OSError):
                    path.unlink()

    def _manifest(self, replica: _AnyReplica) -> ReplicaManifest | None:
        return read_manifest(self._path(replica))

    def _path(self, replica: _AnyReplica) -> Path:
        return self._folder / f"{replica.name}.json"
