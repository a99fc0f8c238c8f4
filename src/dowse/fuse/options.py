"""What a user can choose about fusing rankings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from dowse.bounds import SHARE, check_bounds

Normalisation = Literal["ceiling", "minmax", "zscore"]
"""How the scores of a ranking are brought to a common scale."""


_WEIGHT = Meta(ge=0, le=100)
_CONVEX_SIGMOID = (0.5, 8.0)  # spreads scores over the scale, and claims no more


@dataclass(frozen=True, slots=True)
class FuseOptions:
    """How several rankings become one, and how much each weighs."""

    method: Annotated[
        Literal["convex", "rrf"],
        "How rankings are fused: a weighted mean of scaled scores, or reciprocal ranks.",
    ] = "convex"
    normalise: Annotated[
        Normalisation,
        "How convex fusion scales scores: by their ceiling, by the extremes, or by deviation.",
    ] = "ceiling"
    rrf_k: Annotated[
        float, Meta(gt=0, le=10_000), "Smoothing of reciprocal rank fusion, above 0."
    ] = 60.0
    semantic: Annotated[float, _WEIGHT, "Weight of the semantic ranking."] = 1.0
    keyword: Annotated[float, _WEIGHT, "Weight of the keyword ranking."] = 1.0
    code: Annotated[float, _WEIGHT, "Weight of the code ranking."] = 1.0
    graph: Annotated[float, _WEIGHT, "Weight of the graph ranking."] = 0.5

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

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each strategy."""
        return {
            "semantic": self.semantic,
            "keyword": self.keyword,
            "code": self.code,
            "graph": self.graph,
        }


@dataclass(frozen=True, slots=True)
class GatherOptions:
    """How much a chunk gains from the rest of its document."""

    share: Annotated[
        float, SHARE, "Share of the score that the best chunks of the document decide, 0 to 1."
    ] = 0.5

    def __post_init__(self) -> None:
        """Rejects a share that is none."""
        check_bounds(self, "gather")


@dataclass(frozen=True, slots=True)
class DynamicWeightsOptions:
    """Whether a strategy whose scores hardly differ loses weight."""

    enabled: Annotated[bool, "Lower the weight of strategies whose scores hardly differ."] = False
    min_factor: Annotated[float, SHARE, "The most that a weight is lowered to, 0 to 1."] = 0.5
    variance_threshold: Annotated[
        float, Meta(gt=0, le=1), "Variance of scaled scores that keeps a weight whole."
    ] = 0.1

    def __post_init__(self) -> None:
        """Rejects what no weight could be computed with."""
        check_bounds(self, "dynamic_weights")


@dataclass(frozen=True, slots=True)
class CommunityOptions:
    """Whether documents that belong together by their links help each other."""

    enabled: Annotated[bool, "Raise results in the community of a top-ranked document."] = False
    boost: Annotated[float, Meta(ge=1, le=10), "What their score is multiplied by, 1 to 10."] = 1.1

    def __post_init__(self) -> None:
        """Rejects a boost that is none."""
        check_bounds(self, "community")


@dataclass(frozen=True, slots=True)
class RecencyOptions:
    """How much newer documents are preferred."""

    bias: Annotated[
        float,
        SHARE,
        "0 turns it off; 0.5 means ×1.2 up to 7 days, ×1.1 up to 30; 1 doubles the boost.",
    ] = 0.0

    def __post_init__(self) -> None:
        """Rejects a bias outside its range."""
        check_bounds(self, "recency")


@dataclass(frozen=True, slots=True)
class CalibrateOptions:
    """How a fused score becomes a confidence between 0 and 1."""

    enabled: Annotated[bool, "Turn fused scores into confidences."] = True
    method: Annotated[
        Literal["fitted", "sigmoid"],
        "Fitted on judged collections, where that was done for the model, or a plain sigmoid.",
    ] = "fitted"
    midpoint: Annotated[
        float,
        Meta(ge=0, le=1000),
        "Of the sigmoid: the fused score that means one half; 0: the fusion's own.",
    ] = 0.0
    steepness: Annotated[
        float,
        Meta(ge=0, le=1_000_000),
        "Of the sigmoid: how sharply confidence rises there; 0: the fusion's own.",
    ] = 0.0

    def __post_init__(self) -> None:
        """Rejects a sigmoid that would fall."""
        check_bounds(self, "calibrate")
