"""What a user can choose about refining a ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from dowse.errors import BadSettings


@dataclass(frozen=True, slots=True)
class ThresholdOptions:
    """How sure dowse must be of a result."""

    min_confidence: Annotated[
        float,
        "Results below are dropped, 0 to 1; -1: answers whose best is most unsure, as a whole.",
    ] = -1.0

    def __post_init__(self) -> None:
        """Rejects a confidence that cannot be."""
        if self.min_confidence != -1:
            _check_share("threshold.min_confidence", self.min_confidence)


@dataclass(frozen=True, slots=True)
class ExactDedupOptions:
    """Whether a text is shown once only."""

    enabled: Annotated[bool, "Drop results that say the same as a better one."] = True


@dataclass(frozen=True, slots=True)
class NearDedupOptions:
    """Whether nearly the same text is shown once only."""

    enabled: Annotated[bool, "Drop results that say nearly the same as a better one."] = True
    similarity: Annotated[float, "Share of common character trigrams from which on, 0 to 1."] = 0.9

    def __post_init__(self) -> None:
        """Rejects a share that cannot be."""
        _check_share("near_dedup.similarity", self.similarity)


@dataclass(frozen=True, slots=True)
class SemanticDedupOptions:
    """Whether what means the same is shown once only."""

    enabled: Annotated[bool, "Drop results that mean the same as a better one."] = False
    similarity: Annotated[float, "Cosine of their vectors from which on, 0 to 1."] = 0.85

    def __post_init__(self) -> None:
        """Rejects a cosine out of range."""
        _check_share("semantic_dedup.similarity", self.similarity)


@dataclass(frozen=True, slots=True)
class DiversityOptions:
    """Whether results are chosen to differ from each other."""

    mmr: Annotated[bool, "Choose results by maximal marginal relevance."] = False
    balance: Annotated[float, "1 is relevance alone, 0 difference alone."] = 0.7
    max_chunks_per_doc: Annotated[
        int, "Results of one document at most; 0 is no limit. MMR takes its place."
    ] = 0

    def __post_init__(self) -> None:
        """Rejects what nothing could be chosen by."""
        _check_share("diversity.balance", self.balance)
        if self.max_chunks_per_doc < 0:
            raise BadSettings("diversity.max_chunks_per_doc must not be negative.")

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
        "A cross-encoder, by name or folder; empty: the embedding model's own tokens.",
    ] = ""
    top_n: Annotated[int, "How many of the first results, 1 to 1000."] = 10
    mix: Annotated[
        float, "Share of the reranker in the score, 0 to 1; 0: 0.2 without a model, 1 with one."
    ] = 0.0

    def __post_init__(self) -> None:
        """Rejects what nothing could be reranked with."""
        _check_share("rerank.mix", self.mix)
        if not 1 <= self.top_n <= 1000:
            raise BadSettings("rerank.top_n must lie between 1 and 1000.")


@dataclass(frozen=True, slots=True)
class ParentsOptions:
    """Whether whole sections are returned."""

    enabled: Annotated[bool, "Return the section around each chunk, once."] = False


def _check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise BadSettings(f"{name} must lie between 0 and 1.")
