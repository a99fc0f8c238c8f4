"""Where models are kept: one folder each, whole or not there at all, with a list of what is in it.

    <cache>/models/<name>/            the model's files
    <cache>/models/<name>/dowse.json  what they are, their sha256 and their CRC

A folder appears by renaming, so neither an interrupted fetch nor a second process can leave or
see half a model.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import re
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from dowse._embed.recipes import Precision, data_of, files_in, graphs_among, missing_files
from dowse._model import Announce, Event
from dowse._util.files import (
    UNREADABLE,
    make_private_folder,
    move_folder,
    read_small,
    sync_tree,
)
from dowse.errors import BadSettings, WeightsMissing

_MANIFEST = "dowse.json"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", re.ASCII)


def weights_missing(reason: str, todo: str) -> WeightsMissing:
    """An error that says what happened, what still works and what to do."""
    still = "Keyword, code and graph search work without them."
    return WeightsMissing(f"There are no weights to embed with: {reason}", f"{still} {todo}")


class FileRecord(msgspec.Struct, frozen=True):
    """What a file was when it was fetched."""

    bytes: int
    sha256: str
    crc: int  # compared at every use: it takes a tenth of the time of a sha256

    @classmethod
    def of(cls, path: Path) -> FileRecord:
        """What a file is now."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return cls(path.stat().st_size, digest, crc_of(path))

    def fits(self, path: Path) -> bool:
        """Say whether a file is still what it was."""
        try:
            return path.stat().st_size == self.bytes and crc_of(path) == self.crc
        except OSError:
            return False


class ModelManifest(msgspec.Struct, frozen=True):
    """What a model folder holds."""

    name: str
    origin: str  # where it came from, for people
    files: dict[str, FileRecord]

    @property
    def graphs(self) -> dict[Precision, str]:
        """The graph of each precision that is there."""
        return graphs_among({*self.files})

    def weights(self, graph: str) -> str:
        """The sha256 of a graph with its constants."""
        digests = [
            self.files[path].sha256 for path in (graph, data_of(graph)) if path in self.files
        ]
        return digests[0] if len(digests) == 1 else joined_digest(digests)


class ModelCache:
    """The models in a cache folder."""

    def __init__(self, cache_dir: Path) -> None:
        self.root = cache_dir / "models"

    def folder(self, name: str) -> Path:
        """Where a model is, or would be."""
        return self.root / _folder_name(name)

    def manifest(self, name: str) -> ModelManifest | None:
        """What is known about a model; None when it is not here."""
        return read_manifest(self.folder(name))

    def manifests(self) -> list[ModelManifest]:
        """What is known about every model here, by name."""
        folders = sorted(self.root.iterdir()) if self.root.is_dir() else []
        found = [read_manifest(folder) for folder in folders if not folder.name.startswith(".")]
        return [manifest for manifest in found if manifest is not None]

    def damage(self, name: str) -> list[str]:
        """The files that are not what they were."""
        manifest = self.manifest(name)
        if manifest is None:
            return [_MANIFEST]
        folder = self.folder(name)
        return [path for path, record in manifest.files.items() if not record.fits(folder / path)]

    def install(
        self, name: str, origin: str, fill: Callable[[Path], None], announce: Announce
    ) -> None:
        """Puts a model in the cache unless another process has just done so.

        `fill` lays the model's files into an empty folder. Whatever it raises leaves no trace.
        """
        folder = self.folder(name)
        try:
            make_private_folder(self.root)
            with self._sole(name, announce):
                if not self.damage(name):
                    return
                with self._scratch(name) as scratch:
                    fill(scratch)
                    _write_manifest(scratch, name, origin)
                    self._swap_in(scratch, folder)
        except OSError as error:
            raise weights_missing(
                f"the model {name} cannot be kept in {folder}: {error}.",
                "Make room or choose another folder with DOWSE_CACHE_DIR.",
            ) from error

    def remove(self, name: str) -> bool:
        """Takes a model out of the cache; whether there was one."""
        folder = self.folder(name)
        if not folder.is_dir():
            return False
        with self._sole(name, lambda _: None), self._scratch(name) as scratch:
            move_folder(folder, scratch / "removed")
        return True

    @contextlib.contextmanager
    def _sole(self, name: str, announce: Announce) -> Iterator[None]:
        import filelock  # noqa: PLC0415  only fetching and removing take the lock

        lock = filelock.FileLock(self.root / f".{_folder_name(name)}.lock")
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            note = f"Waiting: another process is fetching {name}."
            announce(Event("download", 0, None, "bytes", note))
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    @contextlib.contextmanager
    def _scratch(self, name: str) -> Iterator[Path]:
        prefix = f".{_folder_name(name)}.partial-"
        for left_by_a_killed_process in self.root.glob(f"{prefix}*"):
            shutil.rmtree(left_by_a_killed_process, ignore_errors=True)
        with tempfile.TemporaryDirectory(
            dir=self.root, prefix=prefix, ignore_cleanup_errors=True
        ) as path:
            folder = Path(path) / "model"
            folder.mkdir()
            yield folder

    @staticmethod
    def _swap_in(scratch: Path, folder: Path) -> None:
        sync_tree(scratch)  # a model is whole, also after a power cut
        if folder.exists():
            move_folder(folder, scratch.parent / "replaced")
        move_folder(scratch, folder)


def read_manifest(folder: Path) -> ModelManifest | None:
    """What a model folder says about itself; None when it says nothing sensible."""
    try:
        manifest = msgspec.json.decode(read_small(folder / _MANIFEST), type=ModelManifest)
    except UNREADABLE:
        return None
    return manifest if manifest.graphs else None


def crc_of(path: Path) -> int:
    """The CRC of a file's content."""
    with path.open("rb") as file:
        try:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return zlib.crc32(content)
        except ValueError:  # an empty file cannot be mapped
            return 0


def joined_digest(digests: list[str]) -> str:
    """One digest of several."""
    return hashlib.sha256(" ".join(digests).encode()).hexdigest()


def check_name(name: str) -> None:
    """Raises `BadSettings` unless this can be the name of a model."""
    if not _NAME.fullmatch(name):
        raise BadSettings(
            f"{name!r} is no name of a model.",
            "Write owner/name as on the model hub, or a folder starting with /, ./ or ~.",
        )


def _folder_name(name: str) -> str:
    check_name(name)
    return name.replace("/", "--")


def _write_manifest(folder: Path, name: str, origin: str) -> None:
    paths = files_in(folder)
    if missing := missing_files(paths):
        raise weights_missing(
            f"what was given as {name} has no {' and no '.join(missing)}.",
            "dowse needs config.json, tokenizer.json and the model as ONNX, in onnx/model.onnx.",
        )
    files = {path: FileRecord.of(folder / path) for path in sorted(paths)}
    content = msgspec.json.format(msgspec.json.encode(ModelManifest(name, origin, files)))
    (folder / _MANIFEST).write_bytes(content)
