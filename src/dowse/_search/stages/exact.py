"""A query that is the title, an alias or a heading of a passage finds that passage first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from dowse._model import ChunkKey, Name, NameKind
from dowse._model.ports import within
from dowse._search.state import Candidate, SearchState
from dowse._util.arrays import np
from dowse._util.bounds import Options

_MOST = 100  # a heading that more passages have, such as "See also", is the name of none of them
_TIERS: tuple[tuple[NameKind, ...], ...] = (("heading",), ("title", "alias"))  # the best last


class ExactOptions(Options, frozen=True):
    """Whether a query that is a title, an alias or a heading finds it first."""

    enabled: Annotated[
        bool, "Put passages first whose title, alias or heading is the same as the query."
    ] = True


def is_exact_on(search: SearchState) -> bool:
    """Tell whether names are looked up."""
    return search.settings.exact.enabled and search.has_words


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
