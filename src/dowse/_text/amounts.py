"""Counts and sizes as people read them."""

from __future__ import annotations


def counted(count: int, one: str, many: str = "") -> str:
    """Return a count with the word for what it counts."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def size(count: float) -> str:
    """Return a number of bytes in the unit that reads best."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            break
        count /= 1000
    return f"{count:.0f} {unit}" if unit == "bytes" or count >= 100 else f"{count:.1f} {unit}"
