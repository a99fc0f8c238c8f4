"""What a replica says about itself: how far it has come, and what its files must look like.

A manifest is replaced whole, so that after a crash or a power cut it is either the old or the new
one, and it carries a checksum of its own.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
import xxhash
from msgspec import Struct, field

from dowse._store.embedded.failures import disk_errors, replica_damaged
from dowse._util.files import replace_file, sync_folder

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
    """The manifest at a path, or None when there is none yet; raises `Damaged`."""
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
    """Replaces the manifest at a path, once the files that it names are on the disk."""
    sync_folder(path.parent / manifest.folder)
    body = msgspec.json.encode(manifest)
    if path.is_dir():
        shutil.rmtree(path)
    replace_file(path, xxhash.xxh3_64_hexdigest(body).encode() + b"\n" + body)


def sum_files(
    folder: Path, names: Iterable[str], known: Mapping[str, FileSum]
) -> dict[str, FileSum]:
    """Sums the files of a folder; files that never change once written are summed only once."""
    return {name: known.get(name) or _sum(folder / name) for name in sorted(names)}


def verify(folder: Path, files: Mapping[str, FileSum]) -> None:
    """Raises `Damaged` unless every file is there as it was written."""
    for name, expected in files.items():
        if not _is_as_written(folder / name, expected):
            raise replica_damaged(f"{folder / name} is not as it was written.")


def _is_as_written(path: Path, expected: FileSum) -> bool:
    try:
        return path.stat().st_size == expected.size and _sum(path) == expected
    except OSError:
        return False


def _sum(path: Path) -> FileSum:
    # Read, not mapped: a mapped file that somebody truncates kills the process.
    size, total = 0, xxhash.xxh3_64()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            size += len(block)
            total.update(block)
    return FileSum(size, total.hexdigest())
