"""Model files: which are known, where they come from, where they are kept."""

from __future__ import annotations

from dowse.errors import WeightsMissing

STILL_WORKS = "Keyword, code and graph search work without them."
"""What a user without weights must know first."""


def weights_missing(reason: str, todo: str) -> WeightsMissing:
    """An error that says what happened, what still works and what to do."""
    return WeightsMissing(f"There are no weights to embed with: {reason}", f"{STILL_WORKS} {todo}")
