"""What a user can choose about fusing rankings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from dowse.errors import BadSettings

Normalisation = Literal["ceiling", "minmax", "zscore"]
"""How the scores of a ranking are brought to a common scale."""


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
    rrf_k: Annotated[float, "Smoothing of reciprocal rank fusion, above 0."] = 60.0
    semantic: Annotated[float, "Weight of the semantic ranking."] = 1.0
    keyword: Annotated[float, "Weight of the keyword ranking."] = 1.0
    code: Annotated[float, "Weight of the code ranking."] = 1.0
    graph: Annotated[float, "Weight of the graph ranking."] = 0.5

    def __post_init__(self) -> None:
        """Rejects what nothing could be fused with."""
        if self.rrf_k <= 0:
            raise BadSettings("fuse.rrf_k must be above 0.")
        for name, weight in self.weights.items():
            if not 0 <= weight <= 100:
                raise BadSettings(f"fuse.{name} must lie between 0 and 100.")

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
        float, "Share of the score that the best chunks of the document decide, 0 to 1."
    ] = 0.5

    def __post_init__(self) -> None:
        """Rejects a share that is none."""
        if not 0 <= self.share <= 1:
            raise BadSettings("gather.share must lie between 0 and 1.")


@dataclass(frozen=True, slots=True)
class DynamicWeightsOptions:
    """Whether a strategy whose scores hardly differ loses weight."""

    enabled: Annotated[bool, "Lower the weight of strategies whose scores hardly differ."] = False
    min_factor: Annotated[float, "The most that a weight is lowered to, 0 to 1."] = 0.5
    variance_threshold: Annotated[float, "Variance of scaled scores that keeps a weight whole."] = (
        0.1
    )

    def __post_init__(self) -> None:
        """Rejects what no weight could be computed with."""
        if not 0 <= self.min_factor <= 1:
            raise BadSettings("dynamic_weights.min_factor must lie between 0 and 1.")
        if self.variance_threshold <= 0:
            raise BadSettings("dynamic_weights.variance_threshold must be above 0.")


@dataclass(frozen=True, slots=True)
class CommunityOptions:
    """Whether documents that belong together by their links help each other."""

    enabled: Annotated[bool, "Raise results in the community of a top-ranked document."] = False
    boost: Annotated[float, "What their score is multiplied by, 1 to 10."] = 1.1

    def __post_init__(self) -> None:
        """Rejects a boost that is none."""
        if not 1 <= self.boost <= 10:
            raise BadSettings("community.boost must lie between 1 and 10.")


@dataclass(frozen=True, slots=True)
class RecencyOptions:
    """How much newer documents are preferred."""

    bias: Annotated[
        float, "0 turns it off; 0.5 means ×1.2 up to 7 days, ×1.1 up to 30; 1 doubles the boost."
    ] = 0.0

    def __post_init__(self) -> None:
        """Rejects a bias outside its range."""
        if not 0 <= self.bias <= 1:
            raise BadSettings("recency.bias must lie between 0 and 1.")


@dataclass(frozen=True, slots=True)
class CalibrateOptions:
    """How a fused score becomes a confidence between 0 and 1."""

    enabled: Annotated[bool, "Turn fused scores into confidences."] = True
    method: Annotated[
        Literal["fitted", "sigmoid"],
        "Fitted on judged collections, where that was done for the model, or a plain sigmoid.",
    ] = "fitted"
    midpoint: Annotated[
        float, "Of the sigmoid: the fused score that means one half; 0: the fusion's own."
    ] = 0.0
    steepness: Annotated[
        float, "Of the sigmoid: how sharply confidence rises there; 0: the fusion's own."
    ] = 0.0

    def __post_init__(self) -> None:
        """Rejects a sigmoid that would fall."""
        if self.steepness < 0 or self.midpoint < 0:
            raise BadSettings("calibrate.midpoint and calibrate.steepness must not be negative.")
