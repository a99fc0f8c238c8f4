"""The middle stages of a search: from several rankings to one list with a confidence each."""

from __future__ import annotations

from dowse.flow.candidates import Candidate, Searching
from dowse.flow.freshness import is_gone
from dowse.fuse import (
    calibrate,
    dynamic_weights,
    fuse_by_rank,
    fuse_by_score,
    gathered,
    recency_multiplier,
)

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
        together = whole[one.stored.document.id]
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
    options, (midpoint, steepness) = search.recipe.calibrate, search.recipe.fuse.sigmoid
    for candidate in search.candidates:
        if options.enabled:
            score = calibrate(
                candidate.score, options.midpoint or midpoint, options.steepness or steepness
            )
        else:
            score = min(1.0, max(0.0, candidate.score))
        candidate.rescore("calibrate", score)
