"""What stages announce."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct


class Event(Struct, frozen=True):
    """What a stage says while it works; front ends draw it, or stay silent."""

    stage: str  # "read", "embed", "download", …
    done: int
    total: int | None  # None while nobody knows
    unit: str = "files"  # what `done` counts: "files", "chunks", "bytes"
    note: str = ""  # a sentence for people; empty for mere progress


Announce = Callable[[Event], None]
"""Where a stage's events go."""


def silent(event: Event) -> None:
    """An announcer that nobody listens to."""
