"""From a fused score, whose size says little, to a confidence between 0 and 1.

It was fitted where possible: how often such a result was judged to answer its query. Logistic
regression over the first five documents of judged queries on four collections and on small parts of
them, and of as many queries that have no answer there: queries of other collections, nonsense, and
queries whose answers were taken out. The fused score carries the evidence of words and meaning. The
lead of the first result, a name that is the query, the number of chunks (in a small vault the best
result is more often right) and the number of words in the query add to it. Judgments name about one
document per query, so the confidence is cautious. docs/quality.md has the reliability.
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
class Evidence:
    """What speaks for a result, apart from its own score."""

    lead: float = 0.0  # of the first result over the next document
    named: bool = False  # its title, an alias or a heading is the query
    chunks: int = 1  # in the index
    terms: int = 1  # of the query


@dataclass(frozen=True, slots=True)
class Fit:
    """The weights of the evidence for one way of ranking."""

    score: float  # of the fused score
    lead: float
    named: float
    chunks: float  # of the logarithm of their number, base 10
    terms: float  # of their number as a part of eight, which is the most that counts
    constant: float


FITTED_MODEL = "dowse-docs-1"
"""The embedding model of the fits: cosines of another model mean something else."""

_WORDS = Fit(score=5.19, lead=13.49, named=2.35, chunks=-0.83, terms=2.99, constant=-4.27)
FITS: Mapping[tuple[str, ...], Fit] = {
    ("semantic", "keyword"): Fit(7.53, 18.04, 1.89, -0.89, 1.75, -4.27),
    ("semantic",): Fit(8.27, 19.0, 2.59, -0.79, 0.0, -4.09),
    ("keyword",): _WORDS,
}
"""By the strategies that rank."""

_LEAST = 0.015  # below it, the best result is no good match: see docs/quality.md
_MOST_TERMS = 8


def confidence(score: float, evidence: Evidence, fit: Fit) -> float:
    """How likely a result with this fused score answers the query; rises with the score."""
    logit = (
        fit.score * score
        + fit.lead * evidence.lead
        + fit.named * evidence.named
        + fit.chunks * math.log10(max(1, evidence.chunks))
        + fit.terms * min(_MOST_TERMS, evidence.terms) / _MOST_TERMS
        + fit.constant
    )
    return 0.5 + 0.5 * math.tanh(logit / 2)


def calibrate(score: float, threshold: float, steepness: float) -> float:
    """The sigmoid that is one half at the threshold."""
    return 0.5 + 0.5 * math.tanh(steepness * (score - threshold) / 2)  # never overflows


def give_confidence(search: SearchState) -> None:
    """Turns fused scores into confidences, or only keeps them between 0 and 1."""
    options, fit = search.of(CalibrateOptions), _fit(search)
    midpoint, steepness = search.of(FuseOptions).sigmoid
    for candidate, evidence in zip(search.candidates, _evidence(search), strict=True):
        if not options.enabled:
            score = min(1.0, max(0.0, candidate.score))
        elif fit is not None:
            score = confidence(candidate.score, evidence, fit)
        else:
            score = calibrate(
                candidate.score, options.midpoint or midpoint, options.steepness or steepness
            )
        candidate.rescore("calibrate", score)


def _fit(search: SearchState) -> Fit | None:
    """The fit for this way of ranking; notes what the scores are."""
    options, fusion = search.of(CalibrateOptions), search.of(FuseOptions)
    if not options.enabled:
        search.calibration = "fused scores as they are"
        return None
    search.calibration = "a plain sigmoid of the fused score"
    fused = (fusion.method, fusion.normalise) == ("convex", "ceiling") and not search.hypothesis
    if options.method != "fitted" or not fused or search.strategies not in FITS:
        return None
    fit = _WORDS if _words_decide(search) else FITS[search.strategies]
    if fit is not _WORDS and not _is_fitted_model(search):
        return None
    search.calibration = "confidence fitted on judged collections"
    search.good_from = _LEAST
    return fit


def _words_decide(search: SearchState) -> bool:
    """Whether words rank alone, or nearly so: there are no vectors, or they can hardly be read."""
    return "keyword" in search.strategies and (search.vector is None or search.latin < 1)


def _is_fitted_model(search: SearchState) -> bool:
    embedder = search.parts.embedder
    # The model is asked last: where its weights are missing, it may not even know its name.
    key = embedder.model.key if embedder is not None else ""
    if key.rsplit("/", 2)[0] == FITTED_MODEL:
        return True
    search.calibration += f"; none was fitted for the model {key}"
    return False


def _evidence(search: SearchState) -> list[Evidence]:
    """What speaks for each candidate."""
    named = {one.document for one in search.candidates if one.stored.key in search.named}
    chunks, terms = search.reading.keyword.size, len(set(search.query.terms))
    leads = [_lead(search), *[0.0] * len(search.candidates)]
    return [
        Evidence(lead, one.document in named, chunks, terms)
        for one, lead in zip(search.candidates, leads, strict=False)
    ]


def _lead(search: SearchState) -> float:
    """How far the first result is ahead of the next document."""
    for other in search.candidates[1:]:
        if other.document != search.candidates[0].document:
            return search.candidates[0].score - other.score
    return 0.0
