"""From a fused score, whose size says little, to a confidence between 0 and 1.

It was fitted where possible: how often such a result was judged to answer its query. Logistic
regression over the first five documents of judged queries on five collections and on small parts of
them, and of as many queries that have no answer there: queries of other collections, nonsense, and
queries whose answers were taken out. The fused score carries the evidence of words and meaning.
Being the first result and its lead, how much less the score of another result is, a name that is
the query, the number of chunks (in a small vault the best result is more often right) and how near
the query is to anything here (nearness.py) add to that. Judgments name about one document per
query, so the confidence is cautious. benchmarks/results/confidence.md has the
reliability.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct

from dowse._model import ModelFit
from dowse._search.confidence import nearness
from dowse._search.state import SearchState
from dowse._util.bounds import check_bounds


class CalibrateOptions(Struct, frozen=True):
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


class Evidence(Struct, frozen=True):
    """What speaks for a result, apart from its own score."""

    lead: float = 0.0  # of the first result over the next document
    first: bool = False  # it is the first result
    behind: float = 0.0  # how much less its score is than that of the first result
    named: bool = False  # its title, an alias or a heading is the query
    chunks: int = 1  # in the index
    near: float = 0.0  # how near the query is to what was found; below 0 is far


class Fit(Struct, frozen=True):
    """The weights of the evidence for one way of ranking."""

    score: float  # of the fused score
    lead: float
    first: float
    behind: float
    named: float
    chunks: float  # of the logarithm of their number, base 10
    constant: float
    near: float


_WORDS = Fit(0.87, 10.08, 0.73, -8.12, 2.08, -0.31, -4.21, 0.94)
FITS: Mapping[tuple[str, ...], Fit] = {
    ("semantic", "keyword"): Fit(1.91, 13.04, 0.45, -13.34, 1.64, -0.38, -3.39, 0.74),
    ("semantic",): Fit(2.65, 14.03, 0.32, -14.64, 2.36, -0.4, -3.67, 0.69),
    ("keyword",): _WORDS,
}
"""By the strategies that rank."""

ALONE = 0.15
"""The lead of a document that was found alone."""

_LEAST, _MOST = -2.0, 3.0  # a query that is farther or nearer than this counts as being so
_JUDGED = "confidence fitted on judged collections"
_OWN = "confidence fitted on the documents of this project"


def confidence(score: float, evidence: Evidence, fit: Fit) -> float:
    """How likely a result with this fused score answers the query; rises with the score."""
    logit = (
        fit.score * score
        + fit.lead * evidence.lead
        + fit.first * evidence.first
        + fit.behind * evidence.behind
        + fit.named * evidence.named
        + fit.chunks * math.log10(max(1, evidence.chunks))
        + fit.constant
        + fit.near * min(_MOST, max(_LEAST, evidence.near))
    )
    return 0.5 + 0.5 * math.tanh(logit / 2)


def calibrate(score: float, threshold: float, steepness: float) -> float:
    """The sigmoid that is one half at the threshold."""
    return 0.5 + 0.5 * math.tanh(steepness * (score - threshold) / 2)  # never overflows


def give_confidence(search: SearchState) -> None:
    """Turns fused scores into confidences, or only keeps them between 0 and 1."""
    options = search.settings.calibrate
    model = _model_fit(search) if options.enabled and options.method == "fitted" else None
    fit = _fit(search, model)
    search.fitted = fit is not None
    if options.enabled and options.method == "fitted":
        search.near = nearness.nearness(search, None if _words_decide(search) else model)
    near = search.near.odds if search.near is not None else 0.0
    shift = _shift(search, model)
    midpoint, steepness = search.settings.fuse.sigmoid
    for candidate, evidence in zip(search.candidates, _evidence(search, near), strict=True):
        if not options.enabled:
            score = min(1.0, max(0.0, candidate.score))
        elif fit is not None:
            score = confidence(candidate.score + shift, evidence, fit)
        else:
            score = calibrate(
                candidate.score, options.midpoint or midpoint, options.steepness or steepness
            )
        candidate.rescore("calibrate", score)


def _fit(search: SearchState, model: ModelFit | None) -> Fit | None:
    """The fit for this way of ranking; notes what the scores are."""
    options, fusion = search.settings.calibrate, search.settings.fuse
    if not options.enabled:
        search.calibration = "fused scores as they are"
        return None
    search.calibration = "a plain sigmoid of the fused score"
    fused = (fusion.method, fusion.normalise) == ("convex", "ceiling") and not search.hypothesis
    if options.method != "fitted" or not fused or search.strategies not in FITS:
        return None
    if _words_decide(search):
        search.calibration = _JUDGED
        return _WORDS
    if model is None:
        search.calibration += f"; none was fitted for the model {_model_name(search)}"
        return None
    search.calibration = _JUDGED if model is nearness.DEFAULT else _OWN
    return FITS[search.strategies]


def _model_fit(search: SearchState) -> ModelFit | None:
    """The fit of the embedding model; None where words rank alone, or nobody has fitted it."""
    if search.vector is None:
        return None
    known = (nearness.DEFAULT, search.parts.fit)
    name = _model_name(search)
    return next((one for one in known if one is not None and one.model == name), None)


def _shift(search: SearchState, model: ModelFit | None) -> float:
    """What the cosines of another model than the default one change in all fused scores.

    The best cosine decides for all, so that the order stays.
    """
    cosine = nearness.best_score(search, "semantic")
    if model is None or cosine is None:
        return 0.0
    weights = [search.weights.get(one.strategy, 1.0) for one in search.rankings]
    share = search.weights.get("semantic", 1.0) / (math.fsum(weights) or 1.0)
    return share * (model.mapped(cosine) - cosine)


def _model_name(search: SearchState) -> str:
    embedder = search.parts.embedder
    # The model is asked last: where its weights are missing, it may not even know its name.
    return model_name(embedder.model.key) if embedder is not None else ""


def model_name(key: str) -> str:
    """The part of a model's key that names it, without revision and dimensions."""
    return key.rsplit("/", 2)[0] if key.count("/") > 1 else key


def _words_decide(search: SearchState) -> bool:
    """Whether words rank alone, or nearly so: there are no vectors, or they can hardly be read."""
    return "keyword" in search.strategies and (search.vector is None or search.latin < 1)


def _evidence(search: SearchState, near: float) -> list[Evidence]:
    """What speaks for each candidate."""
    named = {one.document for one in search.candidates if one.stored.key in search.named}
    best = max((one.score for one in search.candidates), default=0.0)
    chunks = search.reading.keyword.size
    leads = [_lead(search), *[0.0] * len(search.candidates)]
    return [
        Evidence(lead, not place, best - one.score, one.document in named, chunks, near)
        for place, (one, lead) in enumerate(zip(search.candidates, leads, strict=False))
    ]


def _lead(search: SearchState) -> float:
    """How far the first result is ahead of the next document, if there is one."""
    for other in search.candidates[1:]:
        if other.document != search.candidates[0].document:
            return search.candidates[0].score - other.score
    return ALONE
