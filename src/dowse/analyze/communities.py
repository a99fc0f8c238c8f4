"""Which documents belong together, by their links."""

from __future__ import annotations

import random
from collections.abc import Iterable

from dowse.types import Edge

_SEED = 20090621


def find_communities(edges: Iterable[Edge]) -> dict[str, int]:
    """Louvain communities of the undirected link graph (Blondel et al., 2008), by document id.

    Communities are numbered from 0, the largest first; documents without links have none.
    """
    pairs = sorted(
        {
            (min(edge.source, edge.target), max(edge.source, edge.target))
            for edge in edges
            if edge.target is not None and edge.target != edge.source
        }
    )
    if not pairs:
        return {}
    import igraph  # noqa: PLC0415  (60 ms that only indexing needs)

    names = sorted({name for pair in pairs for name in pair})
    number = {name: place for place, name in enumerate(names)}
    graph = igraph.Graph(n=len(names), edges=[(number[a], number[b]) for a, b in pairs])
    igraph.set_random_number_generator(random.Random(_SEED))  # noqa: S311  (fixed on purpose)
    groups = sorted(graph.community_multilevel(), key=lambda group: (-len(group), min(group)))
    return {names[place]: rank for rank, group in enumerate(groups) for place in group}
