"""Files that the user names for a command to write: the one way to write them.

They are never written where a project reads its documents, nor among dowse's own files, and never
over another file unless the user says so. They hold texts of documents, so only the user can read
them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from dowse._util.files import replacing
from dowse.errors import DowseError, Refused, UsageError

if TYPE_CHECKING:
    from dowse._project.workspace import Workspace


def check_output(workspace: Workspace, path: Path, *, force: bool) -> Path:
    """Return where a path leads, if a command may write there; raise a `DowseError` if not."""
    path = check_outside_roots(workspace, path)
    if path.is_dir() or not path.parent.is_dir():
        raise UsageError(f"{path} cannot be a file.", "Name a file in a folder that is there.")
    if path.exists() and not force:
        raise Refused(f"{path} exists already.", "Name another file, or overwrite it with --force.")
    if path.exists() and not path.is_file():
        raise Refused(f"{path} is not a regular file.", "Name another file.")
    return path


def check_outside_roots(
    workspace: Workspace, path: Path, hint: str = "Name a file in another folder."
) -> Path:
    """Return where a path leads, if no project reads it and it is none of dowse's own files."""
    real = Path(os.path.realpath(path))
    for root in _roots(workspace):
        if _holds(root, real):
            raise Refused(
                f"{real} is inside {root}, where documents are read: dowse never writes there.",
                hint,
            )
    own = workspace.locations
    for folder in (own.config, own.data, own.cache):
        if _holds(folder, real):
            raise Refused(f"{real} is among dowse's own files.", hint)
    return real


def write_output(workspace: Workspace, path: Path, data: bytes, *, force: bool) -> None:
    """Write a file that the user has named, whole or not at all."""
    with output_file(workspace, path, force=force) as file:
        file.write(data)


@contextmanager
def output_file(workspace: Workspace, path: Path, *, force: bool) -> Iterator[IO[bytes]]:
    """Open a file that the user has named, to write in pieces; it appears once it is whole."""
    path = check_output(workspace, path, force=force)
    try:
        with replacing(path) as file:
            yield file
            check_output(workspace, path, force=force)  # another program may have made one
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror}.", "Name a file in a folder that you own."
        ) from error


def _roots(workspace: Workspace) -> Iterator[Path]:
    """List what any project reads, with the folders that a dowse.toml adds."""
    for project in workspace.projects.all():
        yield from project.roots
        with suppress(DowseError):  # its settings are wrong: what it adds is not read either
            local = workspace.local_file(project.roots[0])
            yield from local.outside if local else ()


def _holds(folder: Path, path: Path) -> bool:
    """Tell whether a path is a folder or is below it, whatever names the two have."""
    if path.is_relative_to(os.path.realpath(folder)):
        return True
    for one in (path, *path.parents):  # two spellings can be one folder
        with suppress(OSError):
            if one.samefile(folder):
                return True
    return False
