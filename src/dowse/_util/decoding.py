"""Reading small files that others may have written: bounded, and every failure is foreseen."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec

LONGEST = 1_000_000
"""The most bytes of a file of settings, notes or consents."""

UNREADABLE: tuple[type[Exception], ...] = (
    OSError,
    ValueError,  # of JSON, TOML, UTF-8, and of a number with more digits than Python takes
    RecursionError,  # of lists in lists in lists
    OverflowError,
    msgspec.MsgspecError,
)
"""Whatever reading and decoding a file of TOML or JSON can raise."""

_SHOWN = 200  # characters


def read_small(path: Path, longest: int = LONGEST) -> bytes:
    """The bytes of a regular file; raises `OSError` for a longer one, and for what is none.

    A pipe in its place does not block, and an endless file is not read to its end.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("it is not a regular file")
        data = file.read(longest + 1)
    if len(data) > longest:
        raise OSError(f"it has more than {longest:,} bytes")
    return data


def why_unreadable(error: Exception) -> str:
    """What one of `UNREADABLE` means, in a few words."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, ValueError) and "digits" in str(error):
        return "a number in it has too many digits"
    return _clipped(str(error))


def shown(value: object) -> str:
    """A value that somebody has written, as a message can show it, whatever it is."""
    try:
        return _clipped(repr(value))
    except (ValueError, RecursionError):  # it has too many digits or levels to be written out
        return f"a very large {type(value).__name__}"


def _clipped(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
