"""Ranking by links: what lies next to the documents that the other strategies found."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from msgspec import Meta

from dowse.bounds import check_bounds
from dowse.ports import Reading
from dowse.types import Keys, Ranking, Scores

_BLOCK = 200  # chunks that are looked up at a time


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """Whether links between documents are a strategy of their own."""

    enabled: Annotated[bool, "Rank documents that are linked with what was found."] = False
    depth: Annotated[int, Meta(ge=1, le=5), "How many links away a document may be, 1 to 5."] = 1

    def __post_init__(self) -> None:
        """Rejects a depth that finds nothing, or everything."""
        check_bounds(self, "graph")


def rank_by_links(
    reading: Reading,
    found: Collection[str],
    depth: int,
    best_first: Callable[[Keys], Scores],
    top_k: int,
    *,
    among: Keys | None,
) -> Ranking:
    """Documents linked with the found ones, each by its best chunk for the query.

    `best_first` ranks chunks for the query; it is asked about the neighbours' chunks alone.
    """
    neighbours = linked_documents(reading, found, depth)
    keys = reading.keys_of(neighbours) if neighbours else np.zeros(0, dtype=np.int64)
    if among is not None:
        keys = np.intersect1d(keys, among, assume_unique=True)
    return Ranking("graph", one_per_document(reading, best_first(keys) if len(keys) else [], top_k))


def linked_documents(reading: Reading, found: Collection[str], depth: int) -> set[str]:
    """The documents that lie up to `depth` links, either way, from any of these."""
    reached: set[str] = set()
    edge_of_search = set(found)
    for _ in range(depth):
        if not edge_of_search:
            break
        ends = {
            end
            for link in reading.links_of(edge_of_search)
            if link.target is not None and link.target != link.source
            for end, other in ((link.source, link.target), (link.target, link.source))
            if other in edge_of_search
        }
        edge_of_search = ends - reached
        reached |= ends
    return reached


def one_per_document(reading: Reading, scores: Scores, top_k: int) -> Scores:
    """The best chunk of each document, best first."""
    best: Scores = []
    seen: set[str] = set()
    for start in range(0, len(scores), _BLOCK):
        block = dict(scores[start : start + _BLOCK])
        for stored in reading.chunks(list(block)):
            if stored.document.id not in seen:
                seen.add(stored.document.id)
                best.append((stored.key, block[stored.key]))
            if len(best) == top_k:
                return best
    return best
