"""What a user can choose about refining a ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from dowse.bounds import ALWAYS, NAME, SHARE, check_bounds
from dowse.errors import BadSettings


@dataclass(frozen=True, slots=True)
class ThresholdOptions:
    """How sure dowse must be of a result."""

    min_confidence: Annotated[
        float,
        Meta(ge=-1, le=1),
        "Results below are dropped, 0 to 1; -1: answers whose best is most unsure, as a whole.",
    ] = -1.0

    def __post_init__(self) -> None:
        """Rejects a confidence that cannot be."""
        check_bounds(self, "threshold")
        if -1 < self.min_confidence < 0:
            raise BadSettings("threshold.min_confidence must lie between 0 and 1, or be -1.")


@dataclass(frozen=True, slots=True)
class ExactDedupOptions:
    """Whether a text is shown once only."""

    enabled: Annotated[bool, "Drop results that say the same as a better one."] = True


@dataclass(frozen=True, slots=True)
class NearDedupOptions:
    """Whether nearly the same text is shown once only."""

    enabled: Annotated[bool, "Drop results that say nearly the same as a better one."] = True
    similarity: Annotated[
        float, SHARE, "Share of common character trigrams from which on, 0 to 1."
    ] = 0.9

    def __post_init__(self) -> None:
        """Rejects a share that cannot be."""
        check_bounds(self, "near_dedup")


@dataclass(frozen=True, slots=True)
class SemanticDedupOptions:
    """Whether what means the same is shown once only."""

    enabled: Annotated[bool, "Drop results that mean the same as a better one."] = False
    similarity: Annotated[float, SHARE, "Cosine of their vectors from which on, 0 to 1."] = 0.85

    def __post_init__(self) -> None:
        """Rejects a cosine out of range."""
        check_bounds(self, "semantic_dedup")


@dataclass(frozen=True, slots=True)
class DiversityOptions:
    """Whether results are chosen to differ from each other."""

    mmr: Annotated[bool, "Choose results by maximal marginal relevance."] = False
    balance: Annotated[float, SHARE, "1 is relevance alone, 0 difference alone."] = 0.7
    max_chunks_per_doc: Annotated[
        int,
        Meta(ge=0, le=10_000),
        "Results of one document at most; 0 is no limit. MMR takes its place.",
    ] = 0

    def __post_init__(self) -> None:
        """Rejects what nothing could be chosen by."""
        check_bounds(self, "diversity")

    @property
    def wanted(self) -> bool:
        """Whether there is anything to choose by."""
        return self.mmr or self.max_chunks_per_doc > 0


@dataclass(frozen=True, slots=True)
class RerankOptions:
    """Whether the first results are read once more, together with the query."""

    enabled: Annotated[bool, "Read the first results together with the query."] = False
    model: Annotated[
        str,
        NAME,
        ALWAYS,
        "A cross-encoder, by name or folder; empty: the embedding model's own tokens.",
    ] = ""
    top_n: Annotated[int, Meta(ge=1, le=1000), "How many of the first results, 1 to 1000."] = 10
    mix: Annotated[
        float,
        SHARE,
        "Share of the reranker in the score, 0 to 1; 0: 0.2 without a model, 1 with one.",
    ] = 0.0

    def __post_init__(self) -> None:
        """Rejects what nothing could be reranked with."""
        check_bounds(self, "rerank")


@dataclass(frozen=True, slots=True)
class ParentsOptions:
    """Whether whole sections are returned."""

    enabled: Annotated[bool, "Return the section around each chunk, once."] = False
