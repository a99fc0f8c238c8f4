"""Versions of a folder of notes: each the one before with some edits, deletions and renames."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
from itertools import pairwise
from pathlib import Path

from vaults import note, write_vault

NOTES = 8
VERSIONS = ("v1", "v2", "v3")
_DAY_NS = 86_400 * 10**9
_START_NS = 1_700_000_000 * 10**9


def make_versions(base: Path) -> None:
    """Writes all versions; what a version does not change keeps its time."""
    write_vault(base / "v1", NOTES)
    for path in sorted((base / "v1").rglob("*.md")):
        os.utime(path, ns=(_START_NS, _START_NS))
    for number, (before, name) in enumerate(pairwise(VERSIONS), 1):
        shutil.copytree(base / before, base / name)
        _change(base / name, number)


def _change(folder: Path, number: int) -> None:
    rng = random.Random(number)
    edited, deleted, renamed = rng.sample(sorted(folder.rglob("*.md")), 3)
    edited.write_text(f"{edited.read_text('utf-8')}\n## Edit {number}\n\nradio storm\n", "utf-8")
    deleted.unlink()
    renamed.rename(renamed.with_stem(f"renamed-{number}"))
    new = folder / f"new-{number}.md"
    new.write_text(note(NOTES + number, NOTES, rng), "utf-8")
    for path in (edited, new):
        os.utime(path, ns=(_START_NS + number * _DAY_NS,) * 2)


def digests(folder: Path) -> dict[str, str]:
    """What an index of a version knows of its files."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*.md")
    }
