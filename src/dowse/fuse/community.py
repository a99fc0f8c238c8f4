"""What lies close to the best results in the link graph counts a little more."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence


def community_multipliers(
    documents: Sequence[str],
    communities: Mapping[str, int],
    seeds: Collection[str],
    boost: float,
) -> dict[str, float]:
    """The multiplier of each document that lies in the community of a seed, seeds included."""
    boosted = {communities[seed] for seed in seeds if seed in communities}
    return {
        document: boost
        for document in documents
        if document in communities and communities[document] in boosted
    }
