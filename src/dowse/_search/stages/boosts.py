"""What raises results: links with the best, a recent date, a title that is the query."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter
from typing import Annotated

from msgspec import Meta

from dowse._model import ChunkKey, Name, NameKind
from dowse._model.ports import within
from dowse._search.state import Candidate, SearchState
from dowse._util.arrays import np
from dowse._util.bounds import SHARE, Options

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
    seeds = {stored[ranking.scores[0][0]].document.id for ranking in search.rankings}
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
_TIERS: tuple[tuple[NameKind, ...], ...] = (("heading",), ("title", "alias"))  # the best last


class ExactOptions(Options, frozen=True):
    """Whether a query that is a title, an alias or a heading finds it first."""

    enabled: Annotated[
        bool, "Put passages first whose title, alias or heading is the same as the query."
    ] = True


def find_named(search: SearchState) -> None:
    """Note which passages are called like the query, and add those that nothing has found."""
    search.named = _names(search)
    found = {one.stored.key for one in search.candidates}
    missing = [key for key in search.named if key not in found]
    last = min((one.score for one in search.candidates), default=0.0)
    search.candidates += [Candidate(one, [], last) for one in search.stored(missing).values()]
    for one in search.candidates:
        name = search.named.get(one.stored.key)
        one.heading = name if name and name.kind == "heading" else None


def _names(search: SearchState) -> dict[ChunkKey, Name]:
    """Find the passages that are called like the query; a title counts before a heading."""
    named = search.reader.catalogue.named(search.query.text, _MOST + 1)
    if len(named) > _MOST:
        named = [(key, name) for key, name in named if name.kind != "heading"]
    allowed = {key for key, _ in named}
    if allowed and search.among is not None:
        allowed = set(within(np.array(sorted(allowed), np.int64), search.among).tolist())
    return {key: name for key, name in reversed(named) if key in allowed}


def put_named_first(search: SearchState) -> None:
    """Raise the passages that are called like the query above all others."""
    for kinds in _TIERS:
        keys = {key for key, name in search.named.items() if name.kind in kinds}
        raised = [one for one in search.candidates if one.stored.key in keys]
        others = [one for one in search.candidates if one.stored.key not in keys]
        above = max((one.score for one in others), default=0.0)
        scores = raised_scores([one.score for one in raised], above)
        for one, score in zip(raised, scores, strict=True):
            one.rescore("exact", score)
        search.candidates = sorted(raised, key=lambda one: one.order) + others


def raised_scores(own: Sequence[float], above: float) -> list[float]:
    """Scores between 0 and 1 in the order of their own, none below the best of the others.

    One passage of a name goes more than half of the way to 1. Several share that way, since only
    one of them may be meant.
    """
    return [above + (1 - above) * (1 + score) / (2 * len(own)) for score in own]
