"""The stages in which strategies rank: each on its own, then from what was found, then the gaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from dowse._model import ChunkKey, Ranking, Scores
from dowse._search.conditions import leaves
from dowse._search.stages.strategies import STRATEGIES, Strategy, find_strategy
from dowse._search.state import SearchState
from dowse._util.arrays import np

_DATES = frozenset({"after", "before"})
_ROUNDING = 1e-6  # more than a sum of single floats can be off, as a share of it
_SPARE = 16  # candidates that are fetched beyond the limit: most ties with the last one end there
_MOST_TIED = 500  # no more are fetched after so many: then the store cuts equal passages by key


def own_rankers(search: SearchState) -> tuple[Strategy, ...]:
    """The strategies of a search that rank on their own."""
    return tuple(one for one in STRATEGIES if one.name in search.strategies and not one.follows)


def followers(search: SearchState) -> tuple[Strategy, ...]:
    """The strategies of a search that start from what the others found."""
    return tuple(one for one in STRATEGIES if one.name in search.strategies and one.follows)


def retrieve(search: SearchState) -> None:
    """Lets every strategy of the search rank that can do so on its own.

    One after the other: in parallel threads it took 3.5 ms against 3.4 over 20,000 chunks, since
    the model has all cores to itself and the keyword ranking takes a third of a millisecond.
    """
    if search.has_words:
        _rank(search, own_rankers(search))
        if _words_are_optional(search):
            search.rankings.append(_listing(search))
    elif search.conditions:
        search.rankings.append(_listing(search))


def _words_are_optional(search: SearchState) -> bool:
    """Whether only words ranked, and a condition such as `wind OR tag:x` can be met without any."""
    if any(ranking.strategy == "semantic" for ranking in search.rankings):
        return False
    return any(
        condition.kind == "any" and any(leaf.kind != "phrase" for leaf in leaves(condition))
        for condition in search.conditions
    )


def follow(search: SearchState) -> None:
    """Lets strategies rank that start from what the others found."""
    _rank(search, followers(search))


def _rank(search: SearchState, strategies: Sequence[Strategy]) -> None:
    for strategy in strategies:
        ranking = _best(search, strategy)
        if ranking.scores:
            search.rankings.append(ranking)


def _best(search: SearchState, strategy: Strategy) -> Ranking:
    """The best of a strategy, with scores that hardly differ made equal.

    Stores break ties by key, and a sum of single floats depends on the machine and the engine: in
    what order equal passages come, and which of them the limit cuts off, must depend on neither.
    So more is fetched until all that ties with the last one is there.
    """
    limit, count = search.limit, search.limit + _SPARE
    while True:
        ranking = strategy.rank(search, count, search.among)
        groups = list(ties(ranking.scores))
        is_cut_off = len(ranking.scores) == count and count - len(groups[-1]) < limit
        if not is_cut_off or count >= _MOST_TIED:
            scores = _by_place(search, groups)
            return replace(ranking, scores=scores[:limit], cut=len(scores) > limit)
        count *= 4


def _by_place(search: SearchState, groups: Sequence[Scores]) -> Scores:
    """Groups of equal passages as one ranking, each in the order of document and position."""
    stored = search.stored([key for tied in groups if len(tied) > 1 for key, _ in tied])
    places = {key: (one.document.id, one.chunk.start) for key, one in stored.items()}
    return [
        (key, tied[0][1])
        for tied in groups
        for key, _ in sorted(tied, key=lambda pair: places.get(pair[0], ("", 0)))
    ]


def ties(scores: Scores) -> Iterator[Scores]:
    """Neighbours in a ranking that differ from the first of them by no more than rounding."""
    group: Scores = []
    for pair in scores:
        if group and group[0][1] - pair[1] > _ROUNDING * max(1.0, abs(group[0][1])):
            yield group
            group = []
        group.append(pair)
    if group:
        yield group


def complete_scores(search: SearchState) -> None:
    """Lets every strategy score what only others found, so that scores can be compared."""
    found = search.found_keys()
    search.rankings = [
        replace(ranking, others=_scores_of(search, ranking, found)) for ranking in search.rankings
    ]


def _scores_of(search: SearchState, ranking: Ranking, found: set[ChunkKey]) -> Scores:
    strategy = find_strategy(ranking.strategy)
    missing = found.difference(key for key, _ in ranking.scores)
    if strategy is None or strategy.follows or not missing:
        return []
    return strategy.rank(search, len(missing), np.array(sorted(missing), dtype=np.int64)).scores


def _listing(search: SearchState) -> Ranking:
    """The documents that fulfil all conditions, each by its first chunk, for lack of words.

    They are ordered by id, or with the newest first where a date is asked for. It has no row among
    the strategies: it ranks by nothing, so it has no weight, mode or switch.
    """
    first: dict[str, int] = {}
    for key, stored in search.stored(
        search.among.tolist() if search.among is not None else []
    ).items():
        known = first.get(stored.document.id)
        if known is None or stored.chunk.start < search.stored([known])[known].chunk.start:
            first[stored.document.id] = key
    in_order = sorted(first)
    if any(leaf.kind in _DATES for condition in search.conditions for leaf in leaves(condition)):
        chosen = search.stored(list(first.values()))
        in_order.sort(key=lambda document: -chosen[first[document]].document.modified)
    scores = [(first[document], 1.0) for document in in_order]
    if not search.has_words:
        return Ranking("listing", scores)  # the list of all, which can be counted
    return Ranking("listing", scores[: search.limit], cut=len(scores) > search.limit)
