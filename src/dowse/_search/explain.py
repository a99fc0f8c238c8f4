"""Why a document is where it is in the results, or why it is not there."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from dowse._model import ChunkOutcome, Explanation, StrategyRank
from dowse._search.state import SearchState
from dowse._search.strategies import STRATEGIES, Strategy, rankers


def explain(search: SearchState, document_id: str) -> Explanation:
    """Explain what happened to a document in a search that has been run."""
    keys = search.reader.catalogue.keys_of([document_id]).tolist()
    stored = search.stored(keys)
    able = _able(search)
    standing = _standing(search, able, set(keys))
    shown = {one.stored.key: place for place, one in enumerate(search.candidates, start=1)}
    known = {one.stored.key: one for one in [*search.dropped, *search.candidates]}
    outcomes = []
    for key in keys:
        chunk, candidate = stored[key].chunk, known.get(key)
        outcome = ChunkOutcome(
            chunk.id,
            chunk.header_path,
            chunk.first_line,
            chunk.last_line,
            shown.get(key),
            candidate.score if candidate else None,
            standing[key],
            tuple(candidate.places) if candidate else (),
            tuple(candidate.steps) if candidate else (),
        )
        outcomes.append(outcome)
    entry = search.reader.catalogue.document(document_id)
    chunks = tuple(sorted(outcomes, key=_how_far))
    explained = Explanation(
        project=search.parts.project,
        query=search.request.query,
        document=document_id,
        title=entry.entry.fields.title if entry else document_id,
        found=bool(chunks) and chunks[0].rank is not None,
        top_k=search.limit,
        top_n=search.settings.search.top_n,
        failed=tuple(
            condition.written
            for condition in search.conditions
            if not set(keys) & set(search.meeting([condition]).tolist())
        ),
        chunks=chunks,
        notices=tuple(search.notices),
    )
    return replace(explained, why=why(explained, [one.name for one in able]))


def _able(search: SearchState) -> tuple[Strategy, ...]:
    """Choose the strategies that can rank a chunk on their own."""
    own = rankers(search) if search.has_words else ()
    return tuple(one for one in own if search.vector is not None or one.uses != "vectors")


def _standing(
    search: SearchState, strategies: Sequence[Strategy], keys: set[int]
) -> dict[int, tuple[StrategyRank, ...]]:
    """Find the rank of chunks among all, not only among those that fulfil the conditions."""
    places: dict[int, list[StrategyRank]] = {key: [] for key in keys}
    for strategy in strategies:
        count = max(1, search.reader.keyword.size)
        ranking = strategy.rank(search.without_conditions(), count, None)
        for rank, (key, score) in enumerate(ranking.scores, start=1):
            if key in places:
                places[key].append(StrategyRank(strategy.name, rank, score))
    return {key: tuple(found) for key, found in places.items()}


def _how_far(outcome: ChunkOutcome) -> tuple[int, float, int, int]:
    """Order results first, then what was dropped, then what was nearest to being found."""
    if outcome.rank is not None:
        return 0, outcome.rank, 0, outcome.first_line
    best = min((place.rank for place in outcome.standing), default=10**9)
    if outcome.score is not None:
        return 1, -outcome.score, best, outcome.first_line
    return 2, best, 0, outcome.first_line


# ── Why a document is where it is in the results, or not there, in a sentence ──────────────────


def why(explanation: Explanation, strategies: Sequence[str]) -> str:
    """Say the reason that came first; `strategies` could rank the document."""
    best, failed = explanation.best, explanation.failed
    if best is None:
        return "It has no text that could be found."
    if best.rank is not None:
        return f"It is result {best.rank}{_places(best.standing)}."
    if len(failed) == 1:
        return f"The condition {failed[0]} keeps it out."
    if failed:
        return f"The conditions {', '.join(failed[:-1])} and {failed[-1]} keep it out."
    if best.steps and best.steps[-1].dropped:
        return _dropped(best, explanation.top_n)
    return _unplaced(explanation, strategies)


def _dropped(best: ChunkOutcome, top_n: int) -> str:
    step = best.steps[-1]
    chunk = f"Its best chunk ({best.lines})"
    if step.stage == "top_n":
        shown = "the first result is" if top_n == 1 else f"the first {top_n} are"
        return f"{chunk} came out at {step.dropped}, and only {shown} shown."
    return f"{chunk} was left out: {step.dropped} ({step.stage})."


def _unplaced(explanation: Explanation, strategies: Sequence[str]) -> str:
    best: dict[str, StrategyRank] = {}  # by strategy, of the chunk that it likes best
    for place in (place for outcome in explanation.chunks for place in outcome.standing):
        if place.strategy not in best or place.rank < best[place.strategy].rank:
            best[place.strategy] = place
    within = [place for place in best.values() if place.rank <= explanation.top_k]
    if within:  # it would have been handed over, had it been allowed to
        return f"It is {_rank(within[0])}, but no chunk of it fulfils all conditions at once."
    reasons = [
        _rank(best[strategy]) if strategy in best else f"not found {_HOW[strategy]}"
        for strategy in strategies
    ]
    said = f"It is not among the first {explanation.top_k} of any ranking"
    return f"{said}: {', '.join(reasons)}." if reasons else f"{said}."


def _places(standing: Sequence[StrategyRank]) -> str:
    return f": {', '.join(map(_rank, standing))}" if standing else ""


def _rank(place: StrategyRank) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(place.rank % 10, "th")
    ending = "th" if place.rank % 100 in {11, 12, 13} else ending
    return f"{place.rank:,}{ending} {_HOW[place.strategy]}"


_HOW = {one.name: one.meaning for one in STRATEGIES}
