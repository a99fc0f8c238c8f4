"""From several rankings to one list: weights, fusion, and what raises results in it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import replace

from dowse._model import ChunkKey, Name, NameKind, Place, Ranking, Scores
from dowse._model.ports import within
from dowse._search.state import Candidate, SearchState
from dowse._search.strategies import STRATEGIES, StrategyWeights
from dowse._text.languages import is_foreign
from dowse._text.scripts import readable_share
from dowse._util.arrays import np
from dowse._util.bounds import SHARE, Options

# ── Scripts that the model cannot read ─────────────────────────────────────────

_DISTRUST = 3  # power of the share that it reads: best on both halves of a Chinese collection
_ACROSS = 2.0  # how much more vectors count for a query in another language than the documents
_LOOKED_AT = 12  # chunks whose language is guessed
_USE_VECTORS = {one.name for one in STRATEGIES if one.uses != "words"}


class ReadableOptions(Options, frozen=True):
    """Whether vectors count as far as the model can read a text, and more across languages."""

    enabled: Annotated[
        bool,
        "Give vectors less weight, the more of a text is in scripts that the model cannot read.",
    ] = True


def trust_the_readable(search: SearchState) -> None:
    """Weigh vectors by what the model can read of the query and chunks, and by their languages."""
    stored, scripts = search.stored(search.found_keys()), search.scripts
    trust = {key: readable_share(one.text, scripts) ** _DISTRUST for key, one in stored.items()}
    typical = math.fsum(trust.values()) / len(trust) if trust else 1.0
    first = [one.text for one in islice(stored.values(), _LOOKED_AT)]
    across = _ACROSS if is_foreign(search.query.text, first) else 1.0
    for strategy in STRATEGIES:
        if strategy.uses == "vectors":
            read = readable_share(search.query.text, scripts)
            search.weights[strategy.name] *= read * typical**_DISTRUST * across
    if min(trust.values(), default=1.0) < 1.0:
        search.rankings = [
            replace(one, scores=trusted(one.scores, trust), others=trusted(one.others, trust))
            if one.strategy in _USE_VECTORS
            else one
            for one in search.rankings
        ]


def trusted(scores: Scores, trust: Mapping[ChunkKey, float]) -> Scores:
    """Multiply each score by the trust in its text, from 0 to 1; ties stay in their order."""
    return sorted(((key, score * trust[key]) for key, score in scores), key=lambda pair: -pair[1])


# ── Rankings whose scores hardly differ ────────────────────────────────────────


class DynamicWeightsOptions(Options, frozen=True):
    """Whether a strategy whose scores hardly differ loses weight."""

    enabled: Annotated[bool, "Lower the weight of strategies whose scores hardly differ."] = False
    min_factor: Annotated[float, SHARE, "Lowest factor that a weight is multiplied by (0–1)."] = 0.5
    variance_threshold: Annotated[
        float,
        Meta(gt=0, le=1),
        "Variance of scaled scores at or above which a strategy keeps its weight.",
    ] = 0.1


_NOTHING = 1e-300  # what a weight can be divided by is more than this


def adjust_weights(search: SearchState) -> None:
    """Take weight from strategies whose scores hardly differ."""
    options = search.settings.dynamic_weights
    search.weights |= dynamic_weights(
        search.rankings,
        search.weights,
        min_factor=options.min_factor,
        variance_threshold=options.variance_threshold,
    )


def dynamic_weights(
    rankings: Iterable[Ranking],
    weights: Mapping[str, float],
    *,
    min_factor: float,
    variance_threshold: float,
) -> dict[str, float]:
    """Move weight from strategies whose scores are close together to the others.

    A weight is multiplied by a factor from `min_factor` for no variance to 1 at or above the
    threshold. The weights of the strategies that found something keep their sum; all others stay
    as they are.
    """
    old, new = {}, {}
    for ranking in rankings:
        if ranking.scores:
            variance = _variance(ranking.scores)
            is_wide = variance >= variance_threshold
            factor = 1.0 if is_wide else min(1.0, max(min_factor, variance / variance_threshold))
            old[ranking.strategy] = weights.get(ranking.strategy, 1.0)
            new[ranking.strategy] = old[ranking.strategy] * factor
    total = math.fsum(new.values())
    if total < _NOTHING:  # nothing is left that could be scaled up again
        return {**weights, **old}
    scale = math.fsum(old.values()) / total
    return {**weights, **{strategy: weight * scale for strategy, weight in new.items()}}


def _variance(scores: Scores) -> float:
    """Compute the population variance of the scores as parts of the largest.

    A negative score, such as the cosine of an opposite, counts as 0. If none is above 0, the
    variance is 0.
    """
    largest = max(score for _, score in scores)
    if largest <= 0:
        return 0.0
    parts = [max(0.0, score) / largest for _, score in scores]
    mean = math.fsum(parts) / len(parts)
    return math.fsum((part - mean) ** 2 for part in parts) / len(parts)


# ── Fusion ─────────────────────────────────────────────────────────────────────

Normalisation = Literal["ceiling", "minmax", "zscore"]
"""How the scores of a ranking are brought to a common scale."""


_CONVEX_SIGMOID = (0.5, 8.0)  # spreads scores over the scale, and claims no more


class FuseOptions(StrategyWeights, frozen=True):
    """How several rankings become one, and the weight of each strategy."""

    method: Annotated[
        Literal["convex", "rrf"],
        "How rankings are fused: a weighted mean of scaled scores, or reciprocal ranks.",
    ] = "convex"
    normalise: Annotated[
        Normalisation,
        "How convex fusion scales scores: by the highest possible score, between the lowest and"
        " the highest, or by deviation from the mean.",
    ] = "ceiling"
    rrf_k: Annotated[
        float, Meta(gt=0, le=10_000), "Smoothing constant of reciprocal rank fusion, above 0."
    ] = 60.0

    @property
    def sigmoid(self) -> tuple[float, float]:
        """Midpoint and steepness of the confidence that belongs to this fusion."""
        if self.method == "convex":
            return _CONVEX_SIGMOID
        # The figures belong to k = 60; with another k the first place gives another score.
        scale = 61 / (self.rrf_k + 1)
        return 0.035 * scale, 150 / scale


def fuse(search: SearchState) -> None:
    """Make one list of all rankings."""
    options, weights = search.settings.fuse, search.weights
    if options.method == "rrf":
        fused = fuse_by_rank(search.rankings, weights, options.rrf_k)
    else:
        fused = fuse_by_score(search.rankings, weights, options.normalise)
    stored = search.stored(fused)
    for key, places in fused.items():
        candidate = Candidate(stored[key], places, sum(place.contribution for place in places))
        factor = search.multipliers.get(candidate.document)
        if factor is not None:
            candidate.rescore("community", candidate.score * factor)
        search.candidates.append(candidate)
    search.fused = True
    search.candidates.sort(key=attrgetter("order"))


# ── A convex combination of normalised scores (Bruch, Gai and Ingber, 2023) ────


def fuse_by_score(
    rankings: Iterable[Ranking], weights: Mapping[str, float], normalise: Normalisation
) -> dict[ChunkKey, list[Place]]:
    """Give each chunk its normalised score in each ranking, times the ranking's share of weight.

    A chunk's fused score is the sum of its contributions: a weighted mean, from 0 to 1 but for
    rounding, and what names add to that. The shares are among the rankings that found something; a
    ranking that knows no score of a chunk gives it nothing.
    """
    rankings = [ranking for ranking in rankings if ranking.scores or ranking.others]
    # An exact sum, so that the order of the rankings cannot move a bit.
    total = math.fsum(weights.get(one.strategy, 1.0) for one in rankings if one.scores)
    places: dict[ChunkKey, list[Place]] = {}
    for ranking in rankings:
        share = weights.get(ranking.strategy, 1.0) / total if total else 0.0
        known = [*ranking.scores, *ranking.others]
        normalised = _NORMALISE[normalise]([score for _, score in known], ranking.ceiling)
        for place, ((key, score), level) in enumerate(zip(known, normalised, strict=True), start=1):
            rank = place if place <= len(ranking.scores) else None
            found_at = places.setdefault(key, [])
            if rank or score:
                found_at.append(Place(ranking.strategy, rank, score, share * level))
    return places


def _below_ceiling(scores: Sequence[float], ceiling: float) -> list[float]:
    """Scale to parts of the most that there could be, so that a weak match stays weak.

    Where that is not known, as parts of the best.
    """
    most = ceiling if ceiling > 0 else max(scores)
    return [min(1.0, max(0.0, score) / most) if most > 0 else 0.0 for score in scores]


def _between_extremes(scores: Sequence[float], _: float) -> list[float]:
    """Scale from 0 for the lowest to 1 for the highest; 1 for all when they are equal."""
    lowest, highest = min(scores), max(scores)
    if lowest == highest:
        return [1.0] * len(scores)
    return [(score - lowest) / (highest - lowest) for score in scores]


def _above_mean(scores: Sequence[float], _: float) -> list[float]:
    """Take the logistic function of the deviations above the mean; one half for all that are equal.

    Cutting at some number of deviations instead would make the best of a long ranking equal, just
    where its order matters most.
    """
    mean = math.fsum(scores) / len(scores)
    deviation = math.dist(scores, [mean] * len(scores)) / math.sqrt(len(scores))
    if deviation == 0 or min(scores) == max(scores):  # the mean of equals may be a rounding off
        return [0.5] * len(scores)
    return [0.5 + 0.5 * math.tanh((score - mean) / deviation / 2) for score in scores]


_NORMALISE: Mapping[Normalisation, Callable[[Sequence[float], float], list[float]]] = {
    "ceiling": _below_ceiling,
    "minmax": _between_extremes,
    "zscore": _above_mean,
}


# ── Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009) ────────────────


def fuse_by_rank(
    rankings: Iterable[Ranking], weights: Mapping[str, float], k: float
) -> dict[ChunkKey, list[Place]]:
    """Give each chunk `weight / (k + rank)` for its place in each ranking.

    A chunk's fused score is the sum of its contributions.
    """
    places: dict[ChunkKey, list[Place]] = {}
    for ranking in rankings:
        weight = weights.get(ranking.strategy, 1.0)
        for rank, (key, score) in enumerate(ranking.scores, start=1):
            place = Place(ranking.strategy, rank, score, weight / (k + rank))
            places.setdefault(key, []).append(place)
    return places


# ── What the chunks of a document do for each other ────────────────────────────


class GatherOptions(Options, frozen=True):
    """How much a chunk gains from the rest of its document."""

    share: Annotated[
        float,
        SHARE,
        "Share of a result's score that comes from the best chunks of its document (0–1); 0: off.",
    ] = 0.75


def gather(search: SearchState) -> None:
    """Let the best chunks of a document raise the others."""
    share, candidates = search.settings.gather.share, search.candidates
    whole = gathered([one.document for one in candidates], [one.places for one in candidates])
    for one in candidates:
        together = whole[one.document] * search.multipliers.get(one.document, 1.0)
        if together > one.score:
            one.rescore("gather", (1 - share) * one.score + share * together)
    search.candidates.sort(key=attrgetter("order"))


def gathered(documents: Sequence[str], places: Sequence[Sequence[Place]]) -> dict[str, float]:
    """Score each document as when every strategy may choose its best chunk there.

    The words of a query may be in one chunk of a document and its meaning in another.
    """
    best: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for document, found in zip(documents, places, strict=True):
        known = best[document]
        for place in found:
            known[place.strategy] = max(place.contribution, known.get(place.strategy, 0.0))
    return {document: math.fsum(known.values()) for document, known in best.items()}


# ── Documents in the link community of a top result ────────────────────────────


class CommunityOptions(Options, frozen=True):
    """Whether documents that belong together by their links help each other."""

    enabled: Annotated[
        bool, "Raise results whose document is in the link community of a top-ranked document."
    ] = False
    boost: Annotated[float, Meta(ge=1, le=10), "What their score is multiplied by (1–10)."] = 1.1


def favour_communities(search: SearchState) -> None:
    """Note which documents share a community with the first of a ranking."""
    stored = search.stored(search.found_keys())
    first = [ranking.scores[0][0] for ranking in search.rankings if ranking.scores]
    seeds = {stored[key].document.id for key in first}
    documents = [one.document.id for one in stored.values()]
    communities, boost = search.reader.links.communities(), search.settings.community.boost
    search.multipliers = community_multipliers(documents, communities, seeds, boost)


def community_multipliers(
    documents: Sequence[str],
    communities: Mapping[str, int],
    seeds: Collection[str],
    boost: float,
) -> dict[str, float]:
    """Return the multiplier of each document in the community of a seed, seeds included."""
    boosted = {communities[seed] for seed in seeds if seed in communities}
    return {
        document: boost
        for document in documents
        if document in communities and communities[document] in boosted
    }


# ── Documents that were changed lately ─────────────────────────────────────────

_DAY = 86_400  # seconds
_WEEK = 7  # days
_MONTH = 30  # days
_USUAL_BIAS = 0.5  # the bias at which the boosts are the figures below
_WEEK_BOOST = 0.2
_MONTH_BOOST = 0.1


class RecencyOptions(Options, frozen=True):
    """How much newer documents are preferred."""

    bias: Annotated[
        float,
        SHARE,
        "Preference for newer documents (0–1): 0.5 multiplies the score by 1.2 up to 7 days and by"
        " 1.1 up to 30; 1 doubles that; 0: off.",
    ] = 0.0


def prefer_recent(search: SearchState) -> None:
    """Raise what was changed lately."""
    bias = search.settings.recency.bias
    for candidate in search.candidates:
        age = (search.parts.now - candidate.stored.document.modified) / _DAY
        factor = recency_multiplier(age, bias)
        if factor != 1:
            candidate.rescore("recency", candidate.score * factor)
    search.candidates.sort(key=attrgetter("order"))


def recency_multiplier(age_days: float, bias: float) -> float:
    """Return the factor for the score of a document of this age, from 1.

    A bias of 0.5 gives 1.2 up to 7 days and 1.1 up to 30; 0 turns it off, 1 doubles the boost.
    A date in the future counts as new.
    """
    boost = _WEEK_BOOST if age_days <= _WEEK else _MONTH_BOOST if age_days <= _MONTH else 0.0
    return 1.0 + boost * (bias / _USUAL_BIAS)


# ── Passages whose title, alias or heading is the query ────────────────────────

_MOST = 100  # a heading that more passages have, such as "See also", is the name of none of them
# Names with the words of the query in other forms or another order.
_SAME_WORDS: Mapping[str, NameKind] = {"title": "same title", "path": "same file"}
_TIERS: tuple[tuple[NameKind, ...], ...] = (  # the best last
    ("heading",),
    ("title", "alias", *_SAME_WORDS.values()),
)
_MOST_ALIKE = 5  # documents: more of them, such as numbered ones, have no name of their own
_ROUNDING = 1e-9


class ExactOptions(Options, frozen=True):
    """Whether a query that is a title, an alias or a heading finds it first."""

    enabled: Annotated[
        bool, "Put passages first whose title, alias or heading is the same as the query."
    ] = True


def find_named(search: SearchState) -> None:
    """Note which passages are called like the query, and add those that nothing has found."""
    # A title counts before a heading.
    named = search.reader.catalogue.named(search.query.text, _MOST + 1)
    if len(named) > _MOST:
        named = [(key, name) for key, name in named if name.kind != "heading"]
    allowed = {key for key, _ in named}
    if allowed and search.among is not None:
        allowed = set(within(np.array(sorted(allowed), np.int64), search.among).tolist())
    search.named = {key: name for key, name in reversed(named) if key in allowed}
    found = {one.stored.key for one in search.candidates}
    missing = [key for key in search.named if key not in found]
    last = min((one.score for one in search.candidates), default=0.0)
    search.candidates += [Candidate(one, [], last) for one in search.stored(missing).values()]
    names = ((one.document, search.named.get(one.stored.key)) for one in search.candidates)
    titled = {document for document, name in names if name and name.kind != "heading"}
    first = {one.document: one.stored.key for one in reversed(search.candidates)}
    for ranking in reversed(search.rankings):  # a title says more than the name of its file
        if kind := _SAME_WORDS.get(ranking.strategy):
            same = {key for key, score in ranking.others if score > 1 - _ROUNDING}
            alike = [key for one, key in first.items() if key in same and one not in titled]
            if len(alike) <= _MOST_ALIKE:
                search.named |= dict.fromkeys(alike, Name(kind, (), 0, 0))
    for one in search.candidates:
        name = search.named.get(one.stored.key)
        one.heading = name if name and name.kind == "heading" else None


def put_named_first(search: SearchState) -> None:
    """Raise the passages that are called like the query above all others."""
    for kinds in _TIERS:
        keys = {key for key, name in search.named.items() if name.kind in kinds}
        raised = [one for one in search.candidates if one.stored.key in keys]
        others = [one for one in search.candidates if one.stored.key not in keys]
        above = max((one.score for one in others), default=0.0)
        for one, score in zip(
            raised, raised_scores([one.score for one in raised], above), strict=True
        ):
            one.rescore("exact", score)
        search.candidates = sorted(raised, key=lambda one: one.order) + others


def raised_scores(own: Sequence[float], above: float) -> list[float]:
    """Scale scores to 0–1 in their order, none below the best of the others.

    One passage of a name goes more than half of the way to 1. Several share that way, since only
    one of them may be meant.
    """
    return [above + (1 - above) * (1 + score) / (2 * len(own)) for score in own]
