"""Documents in the link community of a top result get a higher score."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter
from typing import Annotated

from msgspec import Meta

from dowse._search.state import SearchState
from dowse._util.bounds import SHARE, Options


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


# ── Documents that were changed lately get a higher score ─────────────────


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
