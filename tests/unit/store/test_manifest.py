"""A replica's account of itself survives, or is known to be damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse._store.replicas import (
    ReplicaManifest,
    read_manifest,
    sum_files,
    verify,
    write_manifest,
)
from dowse.errors import Damaged, DowseError


@pytest.fixture
def manifest(tmp_path: Path) -> ReplicaManifest:
    (tmp_path / "a").write_bytes(b"alpha")
    (tmp_path / "empty").write_bytes(b"")
    files = sum_files(tmp_path, ["a", "empty"], {})
    return ReplicaManifest("index", 7, "folder-ä", files, {"commit": 42})


def test_a_manifest_comes_back_as_it_was_written(tmp_path: Path, manifest: ReplicaManifest) -> None:
    write_manifest(tmp_path / "m.json", manifest)
    assert read_manifest(tmp_path / "m.json") == manifest
    newer = ReplicaManifest("index", 8, "folder-ä")
    write_manifest(tmp_path / "m.json", newer)
    assert read_manifest(tmp_path / "m.json") == newer
    assert {path.name for path in tmp_path.iterdir()} == {"a", "empty", "m.json"}


def test_no_manifest_is_none(tmp_path: Path) -> None:
    assert read_manifest(tmp_path / "m.json") is None


def test_every_truncation_is_noticed(tmp_path: Path, manifest: ReplicaManifest) -> None:
    path = tmp_path / "m.json"
    write_manifest(path, manifest)
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(Damaged, match="dowse doctor --repair"):
            read_manifest(path)


def test_every_flipped_bit_is_noticed(tmp_path: Path, manifest: ReplicaManifest) -> None:
    path = tmp_path / "m.json"
    write_manifest(path, manifest)
    content = path.read_bytes()
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1 << (place % 8)
        path.write_bytes(changed)
        with pytest.raises(Damaged):
            read_manifest(path)


def test_a_manifest_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    (tmp_path / "m.json").mkdir()
    with pytest.raises(DowseError, match=r"m\.json is not a file.*--repair"):
        read_manifest(tmp_path / "m.json")


def test_known_files_are_not_summed_again(tmp_path: Path, manifest: ReplicaManifest) -> None:
    (tmp_path / "a").unlink()
    assert sum_files(tmp_path, ["a"], manifest.files) == {"a": manifest.files["a"]}


@pytest.mark.parametrize("content", [b"alphA", b"alph", b"alpha ", b"", None])
def test_verify_notices_every_change(
    tmp_path: Path, manifest: ReplicaManifest, content: bytes | None
) -> None:
    verify(tmp_path, manifest.files)
    if content is None:
        (tmp_path / "a").unlink()
    else:
        (tmp_path / "a").write_bytes(content)
    with pytest.raises(Damaged, match="is not as it was written"):
        verify(tmp_path, manifest.files)
