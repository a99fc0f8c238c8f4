"""One folder in the place of another, so that there is always one of them there.

Where the system cannot exchange two folders at once, the former project is for a moment in the
import's own folder, under a name that says where it belongs.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import AbstractContextManager
from pathlib import Path

from dowse._util.files import move_folder, sync_folder
from dowse.errors import Locked

_HERE = -100  # AT_FDCWD: paths are as they are
_EXCHANGE = 2  # RENAME_EXCHANGE
_FORMER = "former-"  # before the name of a project that was moved aside


def put_in_place(folder: Path, former: Path, guard: AbstractContextManager[object]) -> None:
    """Exchanges a folder with that of a project, while `guard` keeps writers away.

    A reader of the former index goes on with it, and finds the new one next time.
    """
    with guard:
        if not _exchange(folder, former):
            _exchange_in_steps(folder, former)
        sync_folder(former.parent)
        sync_folder(folder.parent)


def _exchange(one: Path, other: Path) -> bool:
    """Exchanges two folders at once; False where the system cannot."""
    if os.name != "posix":
        return False
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    if rename is None:
        return False
    paths = os.fsencode(one), os.fsencode(other)
    return bool(rename(_HERE, paths[0], _HERE, paths[1], _EXCHANGE) == 0)


def put_back(folder: Path, projects: Path) -> None:
    """Moves projects back that a killed import had moved aside into its folder."""
    for aside in folder.glob(f"{_FORMER}*"):
        home = projects / aside.name.removeprefix(_FORMER)
        if not home.exists():
            move_folder(aside, home)


def _exchange_in_steps(one: Path, other: Path) -> None:
    """Exchanges two folders with a moment in which the former is moved aside."""
    aside = one.with_name(f"{_FORMER}{other.name}")
    move_folder(other, aside)
    try:
        move_folder(one, other)
    except (OSError, Locked):
        move_folder(aside, other)
        raise
    move_folder(aside, one)
