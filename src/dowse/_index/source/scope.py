"""Which part of a root a walk is asked for."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from dowse._index.source.roots import Root

Wanted: TypeAlias = "dict[str, Wanted] | None"
"""Entries that are asked for, by name in NFC, with what is asked for below each; None for all."""


def wanted_below(root: Root, within: Sequence[Path]) -> Wanted:
    """What the paths ask for of this root; without paths, all of it."""
    if not within:
        return None
    wanted: dict[str, Wanted] = {}
    for path in within:
        if _covers(path, root):
            return None
        below = root.relative(path)
        if below:
            _add(wanted, unicodedata.normalize("NFC", below).split("/"))
    return wanted


def concerns(path: Path, roots: Sequence[Root]) -> bool:
    """Whether a path is in one of the roots, or above one."""
    return any(root.relative(path) is not None or _covers(path, root) for root in roots)


def _covers(path: Path, root: Root) -> bool:
    return root.path.is_relative_to(os.path.realpath(path))


def _add(wanted: dict[str, Wanted], parts: Sequence[str]) -> None:
    *above, last = parts
    for part in above:
        deeper = wanted.setdefault(part, {})
        if deeper is None:
            return
        wanted = deeper
    wanted[last] = None
