"""What can be where the folder or the file of a project should be, and what to do about it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from dowse._util.files import sync_folder


def claimed_names(projects: Path) -> Iterator[str]:
    """The names in the folder of all projects that are those of projects, readable or not.

    A folder without a project.toml is none. What is no folder, or cannot be entered, is one: it
    would otherwise vanish without a word.
    """
    try:
        entries = sorted(projects.iterdir())
    except FileNotFoundError:
        return
    yield from (entry.name for entry in entries if _claims(entry))


def _claims(folder: Path) -> bool:
    try:
        (folder / "project.toml").lstat()
    except FileNotFoundError:
        return False
    except OSError:  # no folder, a link that leads to itself, or not permitted
        return True
    return True


def advice(folder: Path, *, known: bool) -> str:
    """What to do about a project whose file cannot be read; `known`: its index knows its roots."""
    file, name = folder / "project.toml", quote(folder.name)
    if not _is_folder(folder):
        return f"Forget it with: dowse project remove {name}"
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return f"Allow yourself to enter it with: chmod u+rwx {quote(str(folder))}"
    if file.is_file() and not os.access(file, os.R_OK):
        return f"Allow yourself to read it with: chmod u+rw {quote(str(file))}"
    if known:
        return f"Write it again with: dowse project restore {name}"
    return (
        f"Write it again with: dowse project restore {name} PATH,"
        f" or forget it with: dowse project remove {name}"
    )


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def move_aside(file: Path) -> None:
    """Makes place for a new project.toml; whatever has content is kept next to it."""
    if file.is_file() and not file.is_symlink() and file.stat().st_size == 0:
        file.unlink()
    elif os.path.lexists(file):
        file.rename(_free(file.with_suffix(".toml.broken")))
    sync_folder(file.parent)


def _free(path: Path) -> Path:
    """The path, or one like it when something other than a file is there."""
    number, found = 1, path
    while os.path.lexists(found) and not found.is_file():
        number += 1
        found = path.with_name(f"{path.name}-{number}")
    return found
