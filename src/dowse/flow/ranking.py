"""The middle stages of a search: from several rankings to one list with a confidence each."""

from __future__ import annotations

from dowse.flow.candidates import Candidate, Searching
from dowse.flow.freshness import is_gone
from dowse.fuse import (
    Fit,
    calibrate,
    confidence,
    dynamic_weights,
    fit_of,
    fuse_by_rank,
    fuse_by_score,
    gathered,
    recency_multiplier,
)
from dowse.retrieve import latin_share

_DAY = 86_400  # seconds


def adjust_weights(search: Searching) -> None:
    """Takes weight from strategies whose scores hardly differ."""
    options = search.recipe.dynamic_weights
    search.weights |= dynamic_weights(
        search.rankings,
        search.weights,
        min_factor=options.min_factor,
        variance_threshold=options.variance_threshold,
    )


def fuse(search: Searching) -> None:
    """Makes one list of all rankings."""
    options, weights = search.recipe.fuse, search.weights
    if options.method == "rrf":
        fused = fuse_by_rank(search.rankings, weights, options.rrf_k)
    else:
        fused = fuse_by_score(search.rankings, weights, options.normalise)
    stored = search.stored(fused)
    for key, places in fused.items():
        candidate = Candidate(stored[key], places, sum(place.contribution for place in places))
        factor = search.multipliers.get(stored[key].document.id)
        if factor is not None:
            candidate.rescore("community", candidate.score * factor)
        search.candidates.append(candidate)
    search.fused = True
    search.sort()


def drop_deleted(search: Searching) -> None:
    """Leaves out what has been deleted since it was indexed."""
    documents = {candidate.stored.document.id for candidate in search.candidates}
    gone = {document for document in documents if is_gone(search.kit.roots, document)}
    if gone:
        places = enumerate(search.candidates)
        reasons = {n: "its file is gone" for n, one in places if one.stored.document.id in gone}
        search.drop("fresh", reasons)


def gather(search: Searching) -> None:
    """Lets the best chunks of a document raise the others."""
    share, candidates = search.recipe.gather.share, search.candidates
    whole = gathered(
        [one.stored.document.id for one in candidates], [one.places for one in candidates]
    )
    for one in candidates:
        document = one.stored.document.id
        together = whole[document] * search.multipliers.get(document, 1.0)
        if together > one.score:
            one.rescore("gather", (1 - share) * one.score + share * together)
    search.sort()


def prefer_recent(search: Searching) -> None:
    """Raises what was changed lately."""
    bias = search.recipe.recency.bias
    for candidate in search.candidates:
        age = (search.kit.now - candidate.stored.document.modified) / _DAY
        factor = recency_multiplier(age, bias)
        if factor != 1:
            candidate.rescore("recency", candidate.score * factor)
    search.sort()


def give_confidence(search: Searching) -> None:
    """Turns fused scores into confidences, or only keeps them between 0 and 1."""
    options, fit = search.recipe.calibrate, _fit(search)
    midpoint, steepness = search.recipe.fuse.sigmoid
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


def _fit(search: Searching) -> Fit | None:
    """What was fitted for this model and this way of fusing; notes what the scores are."""
    recipe, embedder = search.recipe, search.kit.embedder
    options, fusion = recipe.calibrate, recipe.fuse
    if not options.enabled:
        search.calibration = "fused scores as they are"
        return None
    search.calibration = "a plain sigmoid of the fused score"
    # So were the searches of the fit: other strategies and scripts move what a score means.
    as_fitted = (
        (fusion.method, fusion.normalise) == ("convex", "ceiling")
        and search.is_hybrid
        and not (recipe.code.enabled or recipe.graph.enabled)
        and latin_share(search.query.text) == 1
    )
    if options.method != "fitted" or not as_fitted or embedder is None or search.vector is None:
        return None
    name = embedder.model.key
    fit = fit_of(name)
    search.calibration += f"; none was fitted for the model {name}" if fit is None else ""
    if fit is not None:
        search.calibration = "confidence fitted on judged collections for this model"
        search.proposed_least = fit.least
    return fit


def _lead(search: Searching) -> float:
    """How far the first result is ahead of the next document."""
    for other in search.candidates[1:]:
        if other.stored.document.id != search.candidates[0].stored.document.id:
            return search.candidates[0].score - other.score
    return 0.0
