"""Results that are the same: equal texts, or parts of one section."""

from __future__ import annotations

from collections.abc import Hashable, Sequence


def repeats(keys: Sequence[Hashable]) -> dict[int, int]:
    """The place of each key that stood before, and the place where it stood first."""
    first: dict[Hashable, int] = {}
    for place, key in enumerate(keys):
        first.setdefault(key, place)
    return {place: first[key] for place, key in enumerate(keys) if first[key] != place}


def fold_whitespace(text: str) -> str:
    """The text with every stretch of white space as one space, and none at its ends."""
    return " ".join(text.split())
