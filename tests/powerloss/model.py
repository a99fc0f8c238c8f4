"""Which states a disk can be in after a power cut, by several models of a file system.

What was synced is there: a file's bytes once the file was synced, a name once its folder was.
The models differ in what may have become of the rest.

    strict      nothing of it is there
    ordered     names change in order, as in a journal, which every sync writes out; of each file
                some of the last writes are missing (ext4 with data=ordered: empty files after a
                rename)
    reordered   any part of it is there: each write and each change of names by itself
    torn        as reordered, and each write may be there in part, by sectors
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from powerloss.history import ROOT, History, Inode, Names, Operation, Sync, Truncate, Write

Disk = dict[str, bytes | None]
"""Everything in the recorded folder by its path; None for a folder."""

Data = Write | Truncate
Model = Callable[["Pending", random.Random], tuple[list[Names], list[Data]]]
"""Chooses, of what was done before a cut, what is on the disk: names and data, in their order."""


@dataclass(frozen=True, slots=True)
class Pending:
    """What was done before a cut, each with whether it was synced."""

    names: Sequence[tuple[Names, bool]]
    data: Sequence[tuple[Data, bool]]
    journaled: int  # so many of the names had been done at the last sync of anything


def strict(pending: Pending, _: random.Random) -> tuple[list[Names], list[Data]]:
    """Only what was synced."""
    return (
        [one for one, synced in pending.names if synced],
        [one for one, synced in pending.data if synced],
    )


def everything(pending: Pending, _: random.Random) -> tuple[list[Names], list[Data]]:
    """All of it: what a program sees that is killed, and no model of a power cut."""
    return [one for one, _ in pending.names], [one for one, _ in pending.data]


def ordered(pending: Pending, rng: random.Random) -> tuple[list[Names], list[Data]]:
    """A prefix of the names, and of each file a prefix of the writes."""
    count = rng.choice([pending.journaled, len(pending.names), None])
    if count is None:
        count = rng.randint(pending.journaled, len(pending.names))
    unsynced: dict[Inode, list[Data]] = {}
    for one, synced in pending.data:
        if not synced:
            unsynced.setdefault(one.inode, []).append(one)
    share = rng.choice([0.0, 0.0, 1.0, rng.random()])
    lost = {id(one) for some in unsynced.values() for one in some[_prefix(len(some), share, rng) :]}
    return (
        [one for one, _ in pending.names[:count]],
        [one for one, _ in pending.data if id(one) not in lost],
    )


def reordered(pending: Pending, rng: random.Random) -> tuple[list[Names], list[Data]]:
    """Any subset of what was not synced."""
    names, data = rng.choice([0.1, 0.5, 0.9, 1.0]), rng.choice([0.0, 0.1, 0.5, 0.9])
    return (
        [one for one, synced in pending.names if synced or rng.random() < names],
        [one for one, synced in pending.data if synced or rng.random() < data],
    )


def torn(pending: Pending, rng: random.Random) -> tuple[list[Names], list[Data]]:
    """Any subset, and of each write any of its sectors."""
    sector, share = rng.choice([512, 4096]), rng.choice([0.3, 0.7, 0.95])
    names = [one for one, synced in pending.names if synced or rng.random() < 0.8]
    data: list[Data] = []
    for one, synced in pending.data:
        if synced or isinstance(one, Truncate):
            data += [one] if synced or rng.random() < share else []
        else:
            data += [part for part in _sectors(one, sector) if rng.random() < share]
    return names, data


MODELS: dict[str, Model] = {
    "strict": strict,
    "ordered": ordered,
    "reordered": reordered,
    "torn": torn,
}


def disk_after(history: History, cut: int, model: Model, rng: random.Random) -> Disk:
    """What is on the disk when the power went before operation number `cut`."""
    names, data = model(_pending(history.operations[:cut]), rng)
    return _disk(history, _tree(names), _contents(data))


def _pending(done: Sequence[Operation]) -> Pending:
    names: list[tuple[Names, bool]] = []
    data: list[tuple[Data, bool]] = []
    synced: set[Inode] = set()  # later than the operation that is looked at
    after_last_sync = 0
    for one in reversed(done):
        if isinstance(one, Sync):
            synced.add(one.inode)
        elif isinstance(one, Names):
            names.append((one, all(entry.folder in synced for entry in one.entries)))
            after_last_sync += not synced
        elif isinstance(one, Write | Truncate):
            data.append((one, one.inode in synced))
    return Pending(names[::-1], data[::-1], len(names) - after_last_sync)


def _tree(names: Iterable[Names]) -> dict[Inode, dict[str, Inode]]:
    tree: dict[Inode, dict[str, Inode]] = {}
    for change in names:
        for entry in change.entries:
            folder = tree.setdefault(entry.folder, {})
            if entry.inode is None:
                folder.pop(entry.name, None)
            else:
                folder[entry.name] = entry.inode
    return tree


def _contents(data: Iterable[Data]) -> dict[Inode, bytearray]:
    contents: dict[Inode, bytearray] = {}
    for one in data:
        content = contents.setdefault(one.inode, bytearray())
        if isinstance(one, Truncate):
            del content[one.size :]
            content.extend(bytes(one.size - len(content)))
        else:
            content.extend(bytes(max(0, one.offset - len(content))))
            content[one.offset : one.offset + len(one.data)] = one.data
    return contents


def _disk(
    history: History, tree: dict[Inode, dict[str, Inode]], contents: dict[Inode, bytearray]
) -> Disk:
    disk: Disk = {}
    waiting = [("", ROOT)]
    while waiting:
        prefix, folder = waiting.pop()
        for name, inode in tree.get(folder, {}).items():
            path = f"{prefix}{name}"
            if inode in history.folders:
                disk[path] = None
                waiting.append((f"{path}/", inode))
            else:
                disk[path] = bytes(contents.get(inode, b""))
    return disk


def _prefix(length: int, share: float, rng: random.Random) -> int:
    return round(length * share) if share in {0.0, 1.0} else rng.randint(0, length)


def _sectors(write: Write, size: int) -> list[Write]:
    parts, start, end = [], write.offset, write.offset + len(write.data)
    while start < end:
        stop = min(end, (start // size + 1) * size)
        data = write.data[start - write.offset : stop - write.offset]
        parts.append(Write(write.inode, start, data))
        start = stop
    return parts
