"""Keeping the replicas level with the truth."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from dowse.errors import Damaged
from dowse.files import close_tree
from dowse.ports import Analyzer
from dowse.store.embedded.failures import disk_errors
from dowse.store.embedded.keyword.index import KeywordIndex
from dowse.store.embedded.keyword.replica import KeywordReplica
from dowse.store.embedded.manifest import ReplicaManifest, read_manifest, verify, write_manifest
from dowse.store.embedded.sqlite.owners import Owners
from dowse.store.embedded.sqlite.truth import Truth, describe
from dowse.store.embedded.vectors.index import VectorIndex
from dowse.store.embedded.vectors.replica import VectorReplica
from dowse.types import Announce, Event

Replica = KeywordReplica | VectorReplica


class Indexes(NamedTuple):
    """Both replicas at one generation, open for reading, and what else lasts as long."""

    keyword: KeywordIndex
    vectors: VectorIndex
    owners: Owners

    @property
    def are_whole(self) -> bool:
        """Whether no file that is still being read was truncated since it was opened."""
        return self.keyword.is_whole and self.vectors.is_whole


class Replicas:
    """The keyword and the vector index beside a database."""

    def __init__(self, folder: Path, analyzer: Analyzer, announce: Announce) -> None:
        self._folder = folder
        self._announce = announce
        self._keyword = KeywordReplica(folder, analyzer)
        self._vectors = VectorReplica(folder)
        self._trusted: dict[
            str, ReplicaManifest
        ] = {}  # by replica: what this process wrote or verified

    def open(self, connection: sqlite3.Connection) -> Indexes | None:
        """Both replicas, if they are at the connection's generation; None while they are not.

        Raises `Damaged` when a file is not as it was written.
        """
        truth = Truth(connection)
        keyword, vectors = self._manifest(self._keyword), self._manifest(self._vectors)
        if keyword is None or vectors is None:
            return None
        if not (truth.reached_by(keyword) and truth.reached_by(vectors)):
            return None
        if not self._is_current(self._keyword, keyword):
            return None
        if not self._is_current(self._vectors, vectors):
            return None
        opened = self._keyword.open(keyword)
        return Indexes(opened, self._vectors.open(vectors), Owners()) if opened else None

    def distrust(self) -> None:
        """Forgets which files were verified, so that all are verified again."""
        self._trusted.clear()

    def catch_up(self, connection: sqlite3.Connection, *, mend: bool) -> None:
        """Brings both replicas to the connection's generation; only the writer may.

        A replica that an interrupted writer left damaged is built anew. One that is damaged
        although no writer was interrupted is built anew if it is to be mended, and raises
        `Damaged` if not: the disk may be failing.
        """
        truth = Truth(connection)
        with disk_errors(self._folder):
            for replica in (self._keyword, self._vectors):
                self._level(replica, truth, mend=mend)

    def rebuild(self, connection: sqlite3.Connection) -> None:
        """Builds both replicas anew."""
        truth = Truth(connection)
        with disk_errors(self._folder):
            for replica in (self._keyword, self._vectors):
                self._build(replica, truth)

    def renew_keyword(self, connection: sqlite3.Connection, *, thorough: bool) -> bool:
        """Rebuilds the keyword index if its statistics are worn; says whether it did."""
        manifest, truth = self._manifest(self._keyword), Truth(connection)
        if manifest is None or not self._keyword.is_worn(manifest, truth, thorough=thorough):
            return False
        self._announce(Event("tidy", 0, None))
        with disk_errors(self._folder):
            self._build(self._keyword, truth)
        return True

    def _level(self, replica: Replica, truth: Truth, *, mend: bool) -> None:
        try:
            self._extend(replica, truth)
        except Damaged as damage:
            if not mend and truth.reached_by(self._manifest(replica)):
                raise
            self._announce(Event("repair", 0, None, note=f"{damage.message} It is built anew."))
            self._build(replica, truth)

    def _extend(self, replica: Replica, truth: Truth) -> None:
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

    def _build(self, replica: Replica, truth: Truth) -> None:
        self._publish(replica, replica.take(replica.create(truth), truth, None))

    def _is_current(self, replica: Replica, manifest: ReplicaManifest) -> bool:
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

    def _publish(self, replica: Replica, manifest: ReplicaManifest) -> None:
        write_manifest(self._path(replica), manifest)
        close_tree(self._folder)  # tantivy creates files with the rights of the umask
        self._trusted[replica.name] = manifest
        self._sweep(replica, manifest)

    def _sweep(self, replica: Replica, manifest: ReplicaManifest) -> None:
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

    def _manifest(self, replica: Replica) -> ReplicaManifest | None:
        return read_manifest(self._path(replica))

    def _path(self, replica: Replica) -> Path:
        return self._folder / f"{replica.name}.json"
