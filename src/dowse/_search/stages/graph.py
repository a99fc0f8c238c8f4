"""Ranking by links: documents next to those that the other strategies found."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

from msgspec import Meta, Struct

from dowse._model import Keys, Ranking, Scores
from dowse._model.ports import IndexReader, within
from dowse._search.state import SearchState
from dowse._util.bounds import check_bounds

_BLOCK = 200  # chunks that are looked up at a time


class GraphOptions(Struct, frozen=True):
    """Whether links between documents are a strategy of their own."""

    enabled: Annotated[bool, "Hybrid search also ranks documents linked with what was found."] = (
        False
    )
    depth: Annotated[int, Meta(ge=1, le=5), "How many links away a document may be (1–5)."] = 1

    def __post_init__(self) -> None:
        """Rejects a depth that finds nothing, or everything."""
        check_bounds(self, "graph")


def rank_by_links(search: SearchState, limit: int, among: Keys | None = None) -> Ranking:
    """Documents linked with the found ones, each by its best chunk for the query.

    The scores are those of the ranking by meaning, or by words where there is no vector.
    """
    reading = search.reading
    found = {one.document.id for one in search.stored(search.found_keys()).values()}
    keys = _chunks(reading, linked_documents(reading, found, search.settings.graph.depth), among)
    best = one_per_document(reading, search.rank(keys) if len(keys) else [], limit)
    ceilings = {one.strategy: one.ceiling for one in search.rankings}
    ceiling = 1.0 if search.vector is not None else ceilings.get("keyword", 0.0)
    return Ranking("graph", best, ceiling)


def _chunks(reading: IndexReader, documents: Collection[str], among: Keys | None) -> Keys:
    """The chunks of these documents that may be found."""
    import numpy as np  # noqa: PLC0415  listing the strategies must not take as long as loading it

    keys = reading.catalogue.keys_of(documents) if documents else np.zeros(0, dtype=np.int64)
    return keys if among is None else within(keys, among)


def linked_documents(reading: IndexReader, found: Collection[str], depth: int) -> set[str]:
    """The documents up to `depth` links away, either way, from any of these."""
    reached: set[str] = set()
    edge_of_search = set(found)
    for _ in range(depth):
        if not edge_of_search:
            break
        ends = {
            end
            for link in reading.links.of(edge_of_search)
            if link.target is not None and link.target != link.source
            for end, other in ((link.source, link.target), (link.target, link.source))
            if other in edge_of_search
        }
        edge_of_search = ends - reached
        reached |= ends
    return reached


def one_per_document(reading: IndexReader, scores: Scores, top_k: int) -> Scores:
    """The best chunk of each document, best first."""
    best: Scores = []
    seen: set[str] = set()
    for start in range(0, len(scores), _BLOCK):
        block = dict(scores[start : start + _BLOCK])
        for stored in reading.catalogue.chunks(list(block)):
            if stored.document.id not in seen:
                seen.add(stored.document.id)
                best.append((stored.key, block[stored.key]))
            if len(best) == top_k:
                return best
    return best
