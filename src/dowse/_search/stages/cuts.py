"""Results that are left out for their confidence, or for their place in the list."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from dowse._search.state import SearchState
from dowse._util.bounds import check_bounds
from dowse.errors import BadSettings


class ThresholdOptions(Struct, frozen=True):
    """How sure dowse must be of a result."""

    min_confidence: Annotated[
        float,
        Meta(ge=-1, le=1),
        "Drop results with a confidence below this (0–1). -1: drop none, and say so where there is"
        " no good match.",
    ] = -1.0

    def __post_init__(self) -> None:
        """Rejects a confidence that cannot be."""
        check_bounds(self, "threshold")
        if -1 < self.min_confidence < 0:
            raise BadSettings(
                "threshold.min_confidence must be between 0 and 1, or -1.",
                "Use 0.3 for strict results.",
            )


def drop_unsure(search: SearchState) -> None:
    """Leaves out what dowse is not sure enough of."""
    least = search.settings.threshold.min_confidence
    reasons = {
        place: f"confidence {one.score:.4f} is below {least:g}"
        for place, one in enumerate(search.candidates)
        if one.score < least
    }
    before = len(search.dropped)
    search.drop("threshold", reasons)
    search.unsure += search.dropped[before:]


def has_threshold(search: SearchState) -> bool:
    """Whether there is a confidence below which results are dropped."""
    return search.settings.threshold.min_confidence > 0


def keep_first(search: SearchState) -> None:
    """Keeps the results up to the end of the page that is asked for."""
    wanted = search.wanted
    search.total = len(search.candidates)
    search.settled = 0
    beyond = range(wanted, search.total)
    search.drop("top_n", {place: f"place {place + 1} of {search.total}" for place in beyond})
