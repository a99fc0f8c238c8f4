"""Results that are left out for their confidence or their place, or are marked as no match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from dowse.bounds import check_bounds
from dowse.errors import BadSettings
from dowse.search_state import SearchState


@dataclass(frozen=True, slots=True)
class ThresholdOptions:
    """How sure dowse must be of a result."""

    min_confidence: Annotated[
        float,
        Meta(ge=-1, le=1),
        "Drop results with a confidence below this (0–1). -1: drop none, and mark the results as no"
        " good match if even the best is below the confidence that was fitted for the model.",
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
    """Leaves out what dowse is not sure enough of, or marks the whole list."""
    least = search.of(ThresholdOptions).min_confidence
    scores = [candidate.score for candidate in search.candidates]
    if least < 0:
        # The fitted confidence is for the list as a whole: dropping single results behind a good
        # one cost nine points of recall on the shipped corpus.
        search.no_good_match = bool(scores) and max(scores) < search.good_from
        return
    unsure = [place for place, score in enumerate(scores) if score < least]
    reasons = {place: f"confidence {scores[place]:.4f} is below {least:g}" for place in unsure}
    search.drop("threshold", reasons)


def has_threshold(search: SearchState) -> bool:
    """Whether there is a confidence below which results are dropped or marked."""
    least = search.of(ThresholdOptions).min_confidence
    return (search.good_from if least < 0 else least) > 0


def keep_first(search: SearchState) -> None:
    """Keeps as many results as are wanted."""
    top_n, count = search.asked.top_n, len(search.candidates)
    search.drop("top_n", {place: f"place {place + 1} of {count}" for place in range(top_n, count)})
