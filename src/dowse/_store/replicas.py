"""The replicas of the truth: what they promise, their manifests, and how they keep up with it."""

from __future__ import annotations

import shutil
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec
import xxhash
from msgspec import Struct, field

from dowse._model import Announce, ChunkKey, Event, Finding, Keys, silent
from dowse._model.ports import IndexReader, KeywordField, KeywordSearch, VectorSearch
from dowse._store.files import (
    REPAIR,
    Unwritable,
    disk_errors,
    remove,
    replica_damaged,
    writer_lock,
)
from dowse._store.sql.database import Database, SqlConnection, Statements
from dowse._store.sql.reader import (
    ConditionCache,
    SqlTables,
)
from dowse._util.files import close_tree, replace_file, sync_folder
from dowse.errors import Damaged, Locked

# ── Manifests ─────────────────────────────────────────────────────────────

_BLOCK = 1 << 20  # bytes that are summed at once


class FileSum(Struct, frozen=True):
    """How long a file is and what its bytes add up to."""

    size: int  # bytes
    checksum: str  # xxh3 over all of it, hex


class ReplicaManifest(Struct, frozen=True):
    """A replica's account of itself."""

    index: str  # the identity of the index that it replicates
    generation: int  # the last batch it has taken
    folder: str  # where its files are, next to the manifest
    files: Mapping[str, FileSum] = field(default_factory=dict)
    detail: Mapping[str, int] = field(default_factory=dict)  # what the replica itself needs
    generation_id: str = ""  # distinguishes that batch from another one of the same number


def read_manifest(path: Path) -> ReplicaManifest | None:
    """Read the manifest at a path, or None when there is none yet; raise `Damaged`."""
    with disk_errors(path):
        try:
            checksum, _, body = path.read_bytes().partition(b"\n")
        except FileNotFoundError:
            return None
        except OSError as error:
            if path.is_dir() or path.is_symlink():
                raise replica_damaged(f"{path} is not a file.") from error
            raise
    if xxhash.xxh3_64_hexdigest(body).encode() != checksum:
        raise replica_damaged(f"{path} is not as it was written.")
    return msgspec.json.decode(body, type=ReplicaManifest)


def write_manifest(path: Path, manifest: ReplicaManifest) -> None:
    """Replace the manifest at a path, once the files that it names are on the disk."""
    sync_folder(path.parent / manifest.folder)
    body = msgspec.json.encode(manifest)
    if path.is_dir():
        shutil.rmtree(path)
    replace_file(path, xxhash.xxh3_64_hexdigest(body).encode() + b"\n" + body)


def sum_files(
    folder: Path, names: Iterable[str], known: Mapping[str, FileSum]
) -> dict[str, FileSum]:
    """Sum the files of a folder; files that never change once written are summed only once."""
    return {name: known.get(name) or _sum(folder / name) for name in sorted(names)}


def verify(folder: Path, files: Mapping[str, FileSum]) -> None:
    """Raise `Damaged` unless every file is there as it was written."""
    for name, expected in files.items():
        found, path = None, folder / name
        with suppress(OSError):
            found = _sum(path) if path.stat().st_size == expected.size else None
        if found != expected:
            raise replica_damaged(f"{path} is not as it was written.")


def _sum(path: Path) -> FileSum:
    # Read, not mapped: a mapped file that somebody truncates kills the process.
    size, total = 0, xxhash.xxh3_64()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            size += len(block)
            total.update(block)
    return FileSum(size, total.hexdigest())


def describe(
    database: Database, folder: str, files: Mapping[str, FileSum], detail: Mapping[str, int]
) -> ReplicaManifest:
    """Describe a replica that has reached the truth's generation."""
    identity, generation = database.identity, database.generation
    return ReplicaManifest(identity, generation, folder, files, detail, database.generation_id)


# ── The port: another index for words or vectors joins here ───────────────

_Opened_co = TypeVar("_Opened_co", covariant=True)


class OpenReplica(Protocol):
    """A replica at one generation, open for reading."""

    @property
    def is_whole(self) -> bool:
        """Whether no file that is still being read was truncated since it was opened."""

    def keys(self) -> set[ChunkKey]:
        """List all the chunks it holds."""


class OpenKeywords(OpenReplica, KeywordSearch, Protocol):
    """An open replica that finds words."""

    def phrase(self, field: KeywordField, terms: Sequence[str]) -> Keys:
        """Find chunks in which the terms follow each other, by key; all when there are none."""


class OpenVectors(OpenReplica, VectorSearch, Protocol):
    """An open replica that finds vectors."""


class Replica(Protocol[_Opened_co]):
    """Makes and extends an index of what the truth holds, in a folder of its own.

    Promises: after `take` every file that the manifest names is on the disk, and taking the same
    changes twice is taking them once, so that a writer that died can be made up for.
    """

    @property
    def name(self) -> str:
        """What its manifest and its folders are called."""

    @property
    def terms_only(self) -> bool:
        """Whether a new vector does not concern it."""

    def create(self, database: Database) -> ReplicaManifest:
        """Begin an empty index, in a new folder."""

    def take(
        self, manifest: ReplicaManifest, database: Database, changed: list[ChunkKey] | None
    ) -> ReplicaManifest:
        """Apply the changed chunks, or all. Idempotent."""

    def is_current(self, manifest: ReplicaManifest) -> bool:
        """Tell whether its files are those of the manifest; raise `Damaged` when they cannot be."""

    def left_of(self, manifest: ReplicaManifest) -> Mapping[str, FileSum]:
        """List the files of a manifest that are still in use when it is not current."""

    def is_worn(self, manifest: ReplicaManifest, database: Database, *, thorough: bool) -> bool:
        """Tell whether deleted chunks have left so much behind that it should be built again."""

    def open(self, manifest: ReplicaManifest) -> _Opened_co | None:
        """Open the index that a manifest describes; None when a writer has moved on from it."""


_AnyReplica = Replica[OpenKeywords] | Replica[OpenVectors]


class Indexes(NamedTuple):
    """Both replicas at one generation, open for reading, and what else lasts as long."""

    keyword: OpenKeywords
    vectors: OpenVectors
    conditions: ConditionCache

    def reader(self, sql: Statements) -> IndexReader:
        """Read the index: the tables in one transaction, and the replicas at its generation."""
        tables = SqlTables(sql)
        return IndexReader(
            tables,
            tables,
            tables,
            tables,
            self.keyword,
            self.vectors,
            partial(self.conditions.matching, sql, self.keyword.phrase),
        )


MakeReplicas: TypeAlias = Callable[[Path], tuple[Replica[OpenKeywords], Replica[OpenVectors]]]
"""Makes the keyword and the vector replica in a folder."""

_SECONDS = 5.0  # that a reader waits for a living writer to finish publishing a batch
_MINUTES = 600.0  # seconds for another process of this machine to take what has changed


class Replicas:
    """The keyword and the vector index in a folder.

    Next to a database in the same folder, the lock of its writer is theirs. Those of a database
    elsewhere have a lock of their own, and every reader brings them up to date.
    """

    are_shared = False

    def __init__(
        self, folder: Path, make: MakeReplicas, announce: Announce = silent, *, follow: bool = False
    ) -> None:
        self._folder = folder
        self._make = make
        self._announce = announce
        self._follow = follow
        self._lock = partial(writer_lock, folder, _MINUTES) if follow else nullcontext
        self._keyword, self._vectors = make(folder)
        self._both: tuple[_AnyReplica, ...] = (self._keyword, self._vectors)
        # By replica: what this process wrote or verified.
        self._trusted: dict[str, ReplicaManifest] = {}
        self._opening = threading.RLock()
        self._opened: tuple[object, Indexes] | None = None  # with the generation that they are of
        self._elsewhere: Replicas | None = None  # those that a reader built
        self._remove_elsewhere: Callable[[], object] = lambda: None

    def at(self, begin: Callable[[], Database]) -> Indexes:
        """Begin a transaction on a generation that the database and both replicas agree on."""
        deadline = time.monotonic() + (_MINUTES if self._follow else _SECONDS)
        # Twice, since a batch may be published between two looks at the files.
        indexes = self._look(begin()) or self._look(begin())
        while indexes is None:
            try:
                return self._recover(begin)
            except Unwritable as error:
                return self._build_elsewhere(begin(), error)
            except Locked:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.01)
            indexes = self._look(begin())
        return indexes

    def _look(self, database: Database) -> Indexes | None:
        try:
            indexes = self._elsewhere.open(database) if self._elsewhere else None
            return indexes or self.open(database)
        except Damaged:
            return None  # or only half published yet: the lock decides

    def _recover(self, begin: Callable[[], Database]) -> Indexes:
        """Do what a writer that died has left undone; raise `Locked` when it is alive."""
        with writer_lock(self._folder, wait=0), disk_errors(self._folder):
            database = begin()
            for replica in self._both:
                self._level(replica, database, repair=self._follow)
            indexes = self.open(database)
            if indexes is None:
                raise replica_damaged("The keyword or vector index is behind the database.")
            return indexes

    def _build_elsewhere(self, database: Database, reason: Unwritable) -> Indexes:
        """Build replicas in a temporary folder, while those of the index cannot be written.

        They are built again by every process that reads. Raises `reason` when there is no room.
        """
        note = f"{reason.message} The keyword and vector indexes are built in a temporary folder."
        self._announce(Event("repair", 0, None, note=note))
        with self._opening:
            try:
                self._remove_elsewhere()
                folder = mkdtemp(prefix="dowse-")
                self._remove_elsewhere = weakref.finalize(
                    self, shutil.rmtree, folder, ignore_errors=True
                )
                replicas = Replicas(Path(folder), self._make)
                replicas.rebuild(database)
            except (OSError, Unwritable):
                raise reason from None
            indexes = replicas.open(database)
            if indexes is None:
                raise reason
            self._elsewhere = replicas
            return indexes

    def open(self, database: Database) -> Indexes | None:
        """Open both replicas, if they are at the truth's generation; None while they are not.

        What is open already is kept. Raises `Damaged` when a file is not as it was written.
        """
        with self._opening:
            if self._opened is not None:
                known = self._opened[1]
                if not (known.keyword.is_whole and known.vectors.is_whole):
                    self._opened = None  # a file that is still read was truncated since
                    self._trusted.clear()  # so that all files are verified again
            if self._opened is None or self._opened[0] != database.id:
                indexes = self._open(database)
                if indexes is None:
                    return None
                self._opened = database.id, indexes
            return self._opened[1]

    def close(self) -> None:
        """Close what is open."""
        self._opened = self._elsewhere = None
        self._remove_elsewhere()

    def _open(self, database: Database) -> Indexes | None:
        manifests = [self._manifest(replica) for replica in self._both]
        keyword, vectors = manifests
        if (
            keyword is None
            or vectors is None
            or not all(map(database.reached_by, manifests))
            or not self._is_current(self._keyword, keyword)
            or not self._is_current(self._vectors, vectors)
        ):
            return None
        words, nearby = self._keyword.open(keyword), self._vectors.open(vectors)
        return Indexes(words, nearby, ConditionCache()) if words and nearby else None

    def catch_up(self, database: Database, *, repair: bool) -> None:
        """Bring both replicas to the truth's generation; only the writer may.

        A replica that an interrupted writer left damaged is built again. One that is damaged
        although no writer was interrupted is built again with `repair`, and raises `Damaged`
        without: the disk may be failing.
        """
        with self._lock(), disk_errors(self._folder):
            for replica in self._both:
                self._level(replica, database, repair=repair)

    def rebuild(self, database: Database) -> None:
        """Build both replicas again."""
        self._opened = None
        with self._lock(), disk_errors(self._folder):
            for replica in self._both:
                self._build(replica, database)

    def renew(self, database: Database, *, thorough: bool) -> None:
        """Build those replicas again that deleted chunks have worn."""
        with self._lock(), disk_errors(self._folder):
            for replica in self._both:
                manifest = self._manifest(replica)
                if manifest and replica.is_worn(manifest, database, thorough=thorough):
                    self._announce(Event("tidy", 0, None))
                    self._build(replica, database)

    def discard(self, connection: SqlConnection | None = None) -> None:  # noqa: ARG002  (engines need it)
        """Remove both replicas."""
        self.close()
        with self._lock(), disk_errors(self._folder):
            for path in [*self._folder.glob("keyword*"), *self._folder.glob("vectors*")]:
                remove(path)

    def findings(self, database: Database) -> list[Finding]:
        """Say where the replicas differ from the database; no file is trusted for it."""
        opened = Replicas(self._folder, self._make).open(database)
        if opened is None:
            return [Finding("The keyword or vector index is behind the database.", REPAIR)]
        lacks = {
            "keyword index does not hold the chunks": opened.keyword.keys()
            != database.chunk_keys(),
            "vector index does not hold the vectors": opened.vectors.keys()
            != {key for key, _ in database.vector_rows()},
        }
        return [Finding(f"The {what} of the database.", REPAIR) for what in lacks if lacks[what]]

    def _level(self, replica: _AnyReplica, database: Database, *, repair: bool) -> None:
        try:
            self._extend(replica, database)
        except Damaged as damage:
            if not repair and database.reached_by(self._manifest(replica)):
                raise
            self._announce(Event("repair", 0, None, note=f"{damage.message} It is built again."))
            self._build(replica, database)

    def _extend(self, replica: _AnyReplica, database: Database) -> None:
        manifest = self._manifest(replica)
        # To start empty is cheaper than to delete all, and leaves no statistics behind.
        if manifest is None or not database.can_extend(manifest) or database.is_empty():
            self._build(replica, database)
            return
        changed = database.changed_since(manifest.generation, terms_only=replica.terms_only)
        if not changed and not replica.is_current(manifest):
            self._build(replica, database)  # it holds a batch that the truth knows nothing of
            return
        self._is_current(replica, manifest)  # or raises
        if changed:
            self._publish(replica, replica.take(manifest, database, changed))
        elif not database.reached_by(manifest):
            self._publish(
                replica, describe(database, manifest.folder, manifest.files, manifest.detail)
            )

    def _build(self, replica: _AnyReplica, database: Database) -> None:
        self._publish(replica, replica.take(replica.create(database), database, None))

    def _is_current(self, replica: _AnyReplica, manifest: ReplicaManifest) -> bool:
        """Tell whether the files are those of the manifest; raise `Damaged` when one is not sound.

        They are not when a writer died between changing them and writing its manifest; to take
        the same changes once more makes up for that.
        """
        trusted = self._trusted.get(replica.name)
        if trusted == manifest:
            return True
        current = replica.is_current(manifest)
        files = manifest.files if current else replica.left_of(manifest)
        known = trusted.files if trusted and trusted.folder == manifest.folder else {}
        verify(self._folder / manifest.folder, dict(files.items() - known.items()))
        if current:
            self._trusted[replica.name] = manifest
        return current

    def _publish(self, replica: _AnyReplica, manifest: ReplicaManifest) -> None:
        write_manifest(self._path(replica), manifest)
        close_tree(self._folder)  # tantivy creates files with the rights of the umask
        self._trusted[replica.name] = manifest
        self._sweep(replica, manifest)

    def _sweep(self, replica: _AnyReplica, manifest: ReplicaManifest) -> None:
        """Remove what the manifest no longer mentions, as far as nobody holds it."""
        for left in self._folder.glob(f".{self._path(replica).name}-*"):  # by a killed writer
            left.unlink(missing_ok=True)
        former = [
            folder
            for folder in self._folder.glob(f"{replica.name}-*")
            if folder.name != manifest.folder
        ]
        unnamed = [
            path
            for path in (self._folder / manifest.folder).iterdir()
            if path.name not in manifest.files and not path.name.startswith(".")
        ]
        for path in (*former, *unnamed):
            with suppress(OSError):
                remove(path)

    def _manifest(self, replica: _AnyReplica) -> ReplicaManifest | None:
        return read_manifest(self._path(replica))

    def _path(self, replica: _AnyReplica) -> Path:
        return self._folder / f"{replica.name}.json"
