"""States of the disk to try, and putting one of them in place."""

from __future__ import annotations

import hashlib
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from powerloss.history import History, Names, Say, Sync
from powerloss.model import MODELS, Disk, disk_after


@dataclass(frozen=True, slots=True)
class State:
    """A disk after a power cut, and what the user had been told by then."""

    disk: Disk
    said: tuple[str, ...]
    origin: str  # the cut, the model and the seed, to make it again


def states(history: History, count: int, seed: int) -> Iterator[State]:
    """Different states, at most `count`, by every model in turn, over the whole history."""
    rng = random.Random(seed)
    seen: set[bytes] = set()
    for number, cut in enumerate(_cuts(history, rng, count * 3)):
        if len(seen) == count:
            return
        name = list(MODELS)[number % len(MODELS)]
        own_seed = rng.randrange(2**32)
        disk = disk_after(history, cut, MODELS[name], random.Random(own_seed))
        said = tuple(history.said_before(cut))
        if (digest := _digest(disk, said)) not in seen:
            seen.add(digest)
            yield State(disk, said, f"cut {cut}, {name}, seed {own_seed}")


def put(disk: Disk, home: Path) -> None:
    """Makes a folder look like the disk."""
    shutil.rmtree(home)
    home.mkdir()
    for name, content in disk.items():  # a folder comes before what is in it
        if content is None:
            (home / name).mkdir()
        else:
            (home / name).write_bytes(content)


def read(home: Path) -> Disk:
    """What a folder looks like."""
    return {
        path.relative_to(home).as_posix(): path.read_bytes() if path.is_file() else None
        for path in home.rglob("*")
    }


def _cuts(history: History, rng: random.Random, count: int) -> list[int]:
    """Moments of a power cut: most of them next to a sync, a rename or a remark."""
    operations = history.operations
    telling = {
        place + after
        for place, one in enumerate(operations)
        if isinstance(one, Sync | Names | Say)
        for after in (0, 1)
    }
    telling.add(len(operations))
    chosen = rng.sample(sorted(telling), min(len(telling), count * 4 // 5))
    chosen += [rng.randint(0, len(operations)) for _ in range(count - len(chosen))]
    rng.shuffle(chosen)
    return chosen


def _digest(disk: Disk, said: tuple[str, ...]) -> bytes:
    digest = hashlib.sha256(repr(said).encode())
    for name in sorted(disk):
        content = disk[name]
        digest.update(
            repr((name, content is None, hashlib.sha256(content or b"").digest())).encode()
        )
    return digest.digest()
