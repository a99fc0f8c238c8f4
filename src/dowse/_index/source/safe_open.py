"""Opening files that others can swap: regular ones only, never through a link, never waiting."""

from __future__ import annotations

import os
import stat
from pathlib import Path

# A pipe that took the file's place would block an ordinary open until somebody writes to it.
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


class Unreadable(Exception):
    """A file cannot be used; `reason` says why in one sentence."""

    def __init__(self, reason: str, *, lost: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.lost = lost  # False: files of its kind are not read here, which is no fault of it


def read_regular(path: Path, limit: int) -> bytes:
    """The bytes of a regular file at its real path, or `Unreadable` when that is not possible."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        raise Unreadable(_why_not_opened(path, error)) from error
    try:
        return _read(descriptor, path, limit)
    except OSError as error:
        raise Unreadable(f"It cannot be read: {wording(error)}.") from error
    finally:
        os.close(descriptor)


def too_large(size: int, limit: int) -> str:
    """Why a file of this size is left out."""
    return (
        f"It has {size:,} bytes, the limit is {limit:,}; split it, or raise the limit "
        "in the settings."
    )


def wording(error: OSError) -> str:
    """What the system says about an error, without the path, in lower case."""
    return (error.strerror or type(error).__name__).lower()


def _read(descriptor: int, path: Path, limit: int) -> bytes:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise Unreadable("It is not a regular file.")
    _check_place(path, status)
    if status.st_size > limit:
        raise Unreadable(too_large(status.st_size, limit))
    parts = []
    left = limit + 1
    while left > 0 and (part := os.read(descriptor, min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    if left <= 0:
        raise Unreadable(too_large(limit + 1, limit))
    return b"".join(parts)


def _check_place(path: Path, status: os.stat_result) -> None:
    """Refuses a file that was reached through a folder that has become a link."""
    try:
        stays = os.path.realpath(path) == str(path) and os.path.samestat(status, path.lstat())
    except FileNotFoundError as error:
        raise Unreadable("It vanished while it was being read.") from error
    if not stays:
        raise Unreadable("A link has taken its place, or that of a folder above it.")


def _why_not_opened(path: Path, error: OSError) -> str:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return "It vanished before it could be read."
    if isinstance(error, PermissionError):
        return "It cannot be opened: permission denied; allow yourself to read it."
    if path.is_symlink():
        return "A link has taken its place, or that of a folder above it."
    return f"It cannot be opened: {wording(error)}."
