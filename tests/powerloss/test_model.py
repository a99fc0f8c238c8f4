"""What the models allow, on the smallest histories that tell them apart."""

from __future__ import annotations

import random

import pytest

from powerloss.history import ROOT, Entry, History, Names, Operation, Sync, Truncate, Write
from powerloss.model import MODELS, Disk, disk_after

_FILE, _OTHER = 1, 2
_CREATE = Names((Entry(ROOT, "new", _FILE),))
_RENAME = Names((Entry(ROOT, "new", None), Entry(ROOT, "file", _FILE)))


def _disks(model: str, *operations: Operation) -> list[Disk]:
    """Every state that some seed gives."""
    history, found = History(list(operations)), []
    for seed in range(300):
        disk = disk_after(history, len(operations), MODELS[model], random.Random(seed))
        if disk not in found:
            found.append(disk)
    return found


@pytest.mark.parametrize("model", MODELS)
def test_what_was_synced_with_its_folder_is_there(model: str) -> None:
    done = (_CREATE, Write(_FILE, 0, b"whole"), Sync(_FILE), _RENAME, Sync(ROOT))
    assert _disks(model, *done) == [{"file": b"whole"}]


def test_a_rename_without_a_sync_of_the_file_can_leave_it_empty() -> None:
    done = (_CREATE, Write(_FILE, 0, b"whole"), _RENAME)
    for model in ("ordered", "reordered", "torn"):
        assert {"file": b""} in _disks(model, *done)
    assert _disks("strict", *done) == [{}]


def test_a_name_is_lost_while_its_folder_is_not_synced() -> None:
    done = (_CREATE, Write(_FILE, 0, b"whole"), Sync(_FILE), _RENAME)
    assert _disks("strict", *done) == [{}]
    assert {"new": b"whole"} in _disks("ordered", *done)
    assert {"file": b"whole"} in _disks("ordered", *done)
    assert {} not in _disks("ordered", *done)  # the sync of the file wrote the journal out


def test_names_change_in_order_or_in_any_order() -> None:
    other = Names((Entry(ROOT, "other", _OTHER),))
    assert {"other": b""} not in _disks("ordered", _CREATE, other)
    assert {"other": b""} in _disks("reordered", _CREATE, other)


def test_a_rename_happens_at_once() -> None:
    done = (_CREATE, Sync(ROOT), _RENAME)
    for model in MODELS:
        assert all(len(disk) == 1 for disk in _disks(model, *done))


def test_a_write_is_torn_at_sectors() -> None:
    done = (_CREATE, Sync(ROOT), Truncate(_FILE, 1536), Sync(_FILE), Write(_FILE, 0, b"x" * 1536))
    sizes = {disk["new"].count(b"x") for disk in _disks("torn", *done) if disk["new"]}
    assert {0, 512, 1024, 1536} <= sizes
    assert {len(disk["new"] or b"") for disk in _disks("torn", *done)} == {1536}


def test_the_same_seed_gives_the_same_disk() -> None:
    history = History([_CREATE, Write(_FILE, 0, b"x" * 9000), _RENAME])
    for model in MODELS.values():
        disks = [disk_after(history, 3, model, random.Random(5)) for _ in range(2)]
        assert disks[0] == disks[1]
