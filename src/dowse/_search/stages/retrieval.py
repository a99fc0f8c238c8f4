"""The stages in which strategies rank: each on its own, then from what was found, then the gaps."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from dowse._model import Ranking, Scores
from dowse._search.conditions import leaves
from dowse._search.stages.strategies import STRATEGIES, Strategy
from dowse._search.state import SearchState
from dowse._util.arrays import np

_DATES = frozenset({"after", "before"})
_ROUNDING = 1e-6  # more than a sum of single floats can be off, as a share of it
_SPARE = 16  # candidates that are fetched beyond the limit: most ties with the last one end there
_MOST_TIED = 500  # no more are fetched after so many: then the store cuts equal passages by key


def rankers(search: SearchState, *, follows: bool = False) -> tuple[Strategy, ...]:
    """Return the strategies that rank on their own, or those that follow what others found."""
    return tuple(
        one for one in STRATEGIES if one.name in search.strategies and one.follows == follows
    )


def retrieve(search: SearchState) -> None:
    """Let every strategy of the search rank that can do so on its own.

    One after the other: in parallel threads it took 3.5 ms against 3.4 over 20,000 chunks, since
    the model has all cores to itself and the keyword ranking takes a third of a millisecond.
    """
    if search.has_words:
        for strategy in rankers(search):
            _rank(search, strategy)
    # A condition such as `wind OR tag:x` can be met without any word; vectors find that, too.
    by_meaning = any(ranking.strategy == "semantic" for ranking in search.rankings)
    optional = not by_meaning and any(
        condition.kind == "any" and any(leaf.kind != "phrase" for leaf in leaves(condition))
        for condition in search.conditions
    )
    if optional or (search.conditions and not search.has_words):
        search.rankings.append(_listing(search))


def follow(search: SearchState) -> None:
    """Let strategies rank that start from what the others found."""
    for strategy in rankers(search, follows=True):
        _rank(search, strategy)


def _rank(search: SearchState, strategy: Strategy) -> None:
    """Add the best of a strategy, with scores that hardly differ made equal.

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
            break
        count *= 4
    # Those that are equal come in the order of document and position.
    stored = search.stored([key for tied in groups if len(tied) > 1 for key, _ in tied])
    places = {key: (one.document.id, one.chunk.start) for key, one in stored.items()}
    scores = [
        (key, tied[0][1])
        for tied in groups
        for key, _ in sorted(tied, key=lambda pair: places.get(pair[0], ("", 0)))
    ]
    if scores:
        cut = len(scores) > limit
        search.rankings.append(replace(ranking, scores=scores[:limit], cut=cut))


def ties(scores: Scores) -> Iterator[Scores]:
    """Group neighbours in a ranking that differ from the first of them by no more than rounding."""
    group: Scores = []
    for pair in scores:
        if group and group[0][1] - pair[1] > _ROUNDING * max(1.0, abs(group[0][1])):
            yield group
            group = []
        group.append(pair)
    if group:
        yield group


def complete_scores(search: SearchState) -> None:
    """Let every strategy score what only others found, so that scores can be compared."""
    found, completed = search.found_keys(), []
    for ranking in search.rankings:
        strategy = next((one for one in STRATEGIES if one.name == ranking.strategy), None)
        missing = sorted(found.difference(key for key, _ in ranking.scores))
        if strategy is not None and not strategy.follows and missing:
            keys = np.array(missing, dtype=np.int64)
            others = strategy.rank(search, len(missing), keys).scores
            ranking = replace(ranking, others=others)  # noqa: PLW2901  the same one, completed
        completed.append(ranking)
    search.rankings = completed


def _listing(search: SearchState) -> Ranking:
    """List the documents that fulfil all conditions, each by its first chunk, for lack of words.

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
