"""Which documents belong together, by their links."""

from __future__ import annotations

from collections.abc import Iterable

from dowse._model import Edge

_SEED = 20090621


def find_communities(edges: Iterable[Edge]) -> dict[str, int]:
    """Leiden communities of the undirected link graph (Traag et al., 2019), by document id.

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
    from graspologic_native import leiden  # noqa: PLC0415  (only indexing needs it)

    # All of its parameters are set here: the same links give the same groups in every version.
    _, found = leiden(
        [(*pair, 1.0) for pair in pairs],
        starting_communities=None,
        resolution=1.0,
        randomness=0.001,
        iterations=1,
        use_modularity=True,
        seed=_SEED,
        trials=1,
    )
    groups: dict[int, list[str]] = {}
    for name in sorted(found):
        groups.setdefault(found[name], []).append(name)
    largest_first = sorted(groups.values(), key=lambda group: (-len(group), group[0]))
    return {name: rank for rank, group in enumerate(largest_first) for name in group}
