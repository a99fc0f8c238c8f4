"""Several rankings become one list: by scores, or by ranks."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from dowse._search.stages.convex import Normalisation, fuse_by_score
from dowse._search.stages.rrf import fuse_by_rank
from dowse._search.stages.strategies import StrategyWeights
from dowse._search.state import Candidate, SearchState
from dowse._util.bounds import check_bounds

_CONVEX_SIGMOID = (0.5, 8.0)  # spreads scores over the scale, and claims no more


class FuseOptions(StrategyWeights, frozen=True):
    """How several rankings become one, and the weight of each strategy."""

    method: Annotated[
        Literal["convex", "rrf"],
        "How rankings are fused: a weighted mean of scaled scores, or reciprocal ranks.",
    ] = "convex"
    normalise: Annotated[
        Normalisation,
        "How convex fusion scales scores: by the highest possible score, between the lowest and"
        " the highest, or by deviation from the mean.",
    ] = "ceiling"
    rrf_k: Annotated[
        float, Meta(gt=0, le=10_000), "Smoothing constant of reciprocal rank fusion, above 0."
    ] = 60.0

    def __post_init__(self) -> None:
        """Rejects what nothing could be fused with."""
        check_bounds(self, "fuse")

    @property
    def sigmoid(self) -> tuple[float, float]:
        """Midpoint and steepness of the confidence that belongs to this fusion."""
        if self.method == "convex":
            return _CONVEX_SIGMOID
        # The figures belong to k = 60; with another k the first place gives another score.
        scale = 61 / (self.rrf_k + 1)
        return 0.035 * scale, 150 / scale


def fuse(search: SearchState) -> None:
    """Makes one list of all rankings."""
    options, weights = search.settings.fuse, search.weights
    if options.method == "rrf":
        fused = fuse_by_rank(search.rankings, weights, options.rrf_k)
    else:
        fused = fuse_by_score(search.rankings, weights, options.normalise)
    stored = search.stored(fused)
    for key, places in fused.items():
        candidate = Candidate(stored[key], places, sum(place.contribution for place in places))
        factor = search.multipliers.get(candidate.document)
        if factor is not None:
            candidate.rescore("community", candidate.score * factor)
        search.candidates.append(candidate)
    search.fused = True
    search.sort()
