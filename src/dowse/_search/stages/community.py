"""Documents in the link community of a top result get a higher score."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from dowse._search.state import SearchState
from dowse._util.bounds import check_bounds


class CommunityOptions(Struct, frozen=True):
    """Whether documents that belong together by their links help each other."""

    enabled: Annotated[
        bool, "Raise results whose document is in the link community of a top-ranked document."
    ] = False
    boost: Annotated[float, Meta(ge=1, le=10), "What their score is multiplied by (1–10)."] = 1.1

    def __post_init__(self) -> None:
        """Rejects a boost that is none."""
        check_bounds(self, "community")


def favour_communities(search: SearchState) -> None:
    """Notes which documents share a community with the first of a ranking."""
    stored = search.stored(search.found_keys())
    seeds = {stored[ranking.scores[0][0]].document.id for ranking in search.rankings}
    documents = [one.document.id for one in stored.values()]
    communities, boost = search.reading.links.communities(), search.settings.community.boost
    search.multipliers = community_multipliers(documents, communities, seeds, boost)


def community_multipliers(
    documents: Sequence[str],
    communities: Mapping[str, int],
    seeds: Collection[str],
    boost: float,
) -> dict[str, float]:
    """The multiplier of each document in the community of a seed, seeds included."""
    boosted = {communities[seed] for seed in seeds if seed in communities}
    return {
        document: boost
        for document in documents
        if document in communities and communities[document] in boosted
    }
