"""Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009), weighted by strategy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dowse._model import ChunkKey, Place, Ranking


def fuse_by_rank(
    rankings: Iterable[Ranking], weights: Mapping[str, float], k: float
) -> dict[ChunkKey, list[Place]]:
    """Gives each chunk `weight / (k + rank)` for its place in each ranking.

    A chunk's fused score is the sum of its contributions.
    """
    places: dict[ChunkKey, list[Place]] = {}
    for ranking in rankings:
        weight = weights.get(ranking.strategy, 1.0)
        for rank, (key, score) in enumerate(ranking.scores, start=1):
            place = Place(ranking.strategy, rank, score, weight / (k + rank))
            places.setdefault(key, []).append(place)
    return places
