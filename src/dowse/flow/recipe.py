"""How a query is to be answered: the options of every stage."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from msgspec import Meta

from dowse.bounds import NAME, check_bounds
from dowse.fuse.options import (
    CalibrateOptions,
    CommunityOptions,
    DynamicWeightsOptions,
    FuseOptions,
    GatherOptions,
    RecencyOptions,
)
from dowse.refine.options import (
    DiversityOptions,
    ExactDedupOptions,
    NearDedupOptions,
    ParentsOptions,
    RerankOptions,
    SemanticDedupOptions,
    ThresholdOptions,
)
from dowse.retrieve.classify import ClassifyOptions
from dowse.retrieve.code import CodeOptions
from dowse.retrieve.expand import ExpandOptions
from dowse.retrieve.graph import GraphOptions
from dowse.retrieve.semantic import ReadableOptions

Mode = Literal["hybrid", "keyword", "semantic", "code", "hyde"]
"""Which strategies rank."""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """What a search hands out, and where it looks."""

    mode: Annotated[
        Mode,
        "Which strategies rank: hybrid, or keyword, semantic or code alone;"
        " hyde takes the query for an answer and finds texts like it.",
    ] = "hybrid"
    preset: Annotated[
        str,
        NAME,
        "A named set of settings: general, api-reference, personal-notes, research-papers,"
        " seed-a or seed-b; empty: none.",
    ] = ""
    top_n: Annotated[int, Meta(ge=1, le=10_000), "How many results at most, from 1."] = 5
    top_k: Annotated[
        int,
        Meta(ge=0, le=100_000),
        "Candidates per strategy, at least 10; 0 means max(10, 2 × top_n).",
    ] = 0
    fresh: Annotated[bool, "Leave out results whose file has been deleted since."] = True

    def __post_init__(self) -> None:
        """Rejects what no search could be run with."""
        check_bounds(self, "search")

    @property
    def candidates(self) -> int:
        """How many candidates each strategy hands over."""
        return max(10, self.top_k or 2 * self.top_n)


@dataclass(frozen=True, slots=True)
class Recipe:
    """The options of every stage of a search, in the order of the stages."""

    search: SearchOptions = field(default_factory=SearchOptions)
    classify: ClassifyOptions = field(default_factory=ClassifyOptions)
    expand: ExpandOptions = field(default_factory=ExpandOptions)
    code: CodeOptions = field(default_factory=CodeOptions)
    graph: GraphOptions = field(default_factory=GraphOptions)
    readable: ReadableOptions = field(default_factory=ReadableOptions)
    community: CommunityOptions = field(default_factory=CommunityOptions)
    dynamic_weights: DynamicWeightsOptions = field(default_factory=DynamicWeightsOptions)
    fuse: FuseOptions = field(default_factory=FuseOptions)
    gather: GatherOptions = field(default_factory=GatherOptions)
    recency: RecencyOptions = field(default_factory=RecencyOptions)
    calibrate: CalibrateOptions = field(default_factory=CalibrateOptions)
    threshold: ThresholdOptions = field(default_factory=ThresholdOptions)
    exact_dedup: ExactDedupOptions = field(default_factory=ExactDedupOptions)
    near_dedup: NearDedupOptions = field(default_factory=NearDedupOptions)
    semantic_dedup: SemanticDedupOptions = field(default_factory=SemanticDedupOptions)
    diversity: DiversityOptions = field(default_factory=DiversityOptions)
    rerank: RerankOptions = field(default_factory=RerankOptions)
    parents: ParentsOptions = field(default_factory=ParentsOptions)
