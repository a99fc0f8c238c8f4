"""From a fused score, whose size says little, to a confidence between 0 and 1.

It was fitted where possible: how often such a result was judged to answer its query. Logistic
regression over the first five results of 1,920 queries on four collections, half of them queries
that belong to another collection and have no answer there. The fused score carries the evidence
(cosine, lexical score and coverage, agreement of the strategies, each as a part of its highest
possible value); the lead of the first result over the next document adds to it. Judgments name
about one document per query, so the confidence is cautious. docs/quality.md has the reliability.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from dowse.bounds import check_bounds
from dowse.fuse.fusion import FuseOptions
from dowse.search_state import SearchState


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
        "Of the sigmoid: the fused score with confidence 0.5; 0: the fusion's own.",
    ] = 0.0
    steepness: Annotated[
        float,
        Meta(ge=0, le=1_000_000),
        "Of the sigmoid: how sharply confidence rises there; 0: the fusion's own.",
    ] = 0.0

    def __post_init__(self) -> None:
        """Rejects a sigmoid that would fall."""
        check_bounds(self, "calibrate")


@dataclass(frozen=True, slots=True)
class Fit:
    """The weights of the evidence for one embedding model."""

    score: float  # of the fused score
    lead: float  # of the first result's lead over the next document
    constant: float
    least: float  # an answer is none when its best score is below
    strategies: tuple[str, ...] = ("semantic", "keyword")  # that ranked when it was fitted
    fusion: tuple[str, str] = ("convex", "ceiling")  # the method, and how scores were normalised


FITS: Mapping[str, Fit] = {
    "all-MiniLM-L6-v2": Fit(score=7.05, lead=6.77, constant=-5.14, least=0.02)
}
"""By the name of the embedding model: cosines of another model mean something else."""


def fit_of(model_key: str) -> Fit | None:
    """The fit for a model, by its key (name, precision, digest); None when none was made."""
    return FITS.get(model_key.rsplit("/", 2)[0])


def confidence(score: float, lead: float, fit: Fit) -> float:
    """How likely a result with this fused score answers the query; rises with both."""
    logit = fit.score * score + fit.lead * lead + fit.constant
    return 0.5 + 0.5 * math.tanh(logit / 2)


def calibrate(score: float, threshold: float, steepness: float) -> float:
    """The sigmoid that is one half at the threshold."""
    return 0.5 + 0.5 * math.tanh(steepness * (score - threshold) / 2)  # never overflows


def give_confidence(search: SearchState) -> None:
    """Turns fused scores into confidences, or only keeps them between 0 and 1."""
    options, fit = search.of(CalibrateOptions), _fit(search)
    midpoint, steepness = search.of(FuseOptions).sigmoid
    lead = _lead(search)
    for place, candidate in enumerate(search.candidates):
        if not options.enabled:
            score = min(1.0, max(0.0, candidate.score))
        elif fit is not None:
            score = confidence(candidate.score, 0.0 if place else lead, fit)
        else:
            score = calibrate(
                candidate.score, options.midpoint or midpoint, options.steepness or steepness
            )
        candidate.rescore("calibrate", score)


def _fit(search: SearchState) -> Fit | None:
    """The fit for this model and this way of fusing; notes what the scores are."""
    options, embedder = search.of(CalibrateOptions), search.parts.embedder
    if not options.enabled:
        search.calibration = "fused scores as they are"
        return None
    search.calibration = "a plain sigmoid of the fused score"
    alike = any(_is_as_fitted(search, fit) for fit in FITS.values())
    # The model is asked last: where its weights are missing, it may not even know its name.
    if options.method != "fitted" or embedder is None or not alike:
        return None
    fit = fit_of(embedder.model.key)
    if fit is None:
        search.calibration += f"; none was fitted for the model {embedder.model.key}"
    elif _is_as_fitted(search, fit):
        search.calibration = "confidence fitted on judged collections for this model"
        search.proposed_least = fit.least
        return fit
    return None


def _is_as_fitted(search: SearchState, fit: Fit) -> bool:
    """Whether the search is like those of the fit: with others, a score means something else."""
    fusion = search.of(FuseOptions)
    return (
        (fusion.method, fusion.normalise) == fit.fusion
        and search.strategies == fit.strategies
        and search.latin == 1
        and search.vector is not None
    )


def _lead(search: SearchState) -> float:
    """How far the first result is ahead of the next document."""
    for other in search.candidates[1:]:
        if other.document != search.candidates[0].document:
            return search.candidates[0].score - other.score
    return 0.0
