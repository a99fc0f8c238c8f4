"""Why a document is where it is in the results, or not there, in a sentence."""

from __future__ import annotations

from dowse._model import StrategyRank
from dowse._search.explain import ChunkOutcome, Explanation


def why(explanation: Explanation) -> str:
    """The reason that came first."""
    best = explanation.best
    if best is None:
        return "It has no text that could be found."
    if best.rank is not None:
        return f"It is result {best.rank}."
    if explanation.failed:
        return _kept_out(explanation.failed)
    if best.trace.steps and best.trace.steps[-1].dropped:
        return _dropped(best, explanation.top_n)
    return _unplaced(explanation)


def lines_of(outcome: ChunkOutcome) -> str:
    """The rank of a chunk, for people."""
    if outcome.first_line == outcome.last_line:
        return f"line {outcome.first_line}"
    return f"lines {outcome.first_line}–{outcome.last_line}"


def _kept_out(failed: tuple[str, ...]) -> str:
    if len(failed) == 1:
        return f"The condition {failed[0]} keeps it out."
    return f"The conditions {', '.join(failed[:-1])} and {failed[-1]} keep it out."


def _dropped(best: ChunkOutcome, top_n: int) -> str:
    step = best.trace.steps[-1]
    chunk = f"Its best chunk ({lines_of(best)})"
    if step.stage == "top_n":
        shown = "the first result is" if top_n == 1 else f"the first {top_n} are"
        return f"{chunk} came out at {step.dropped}, and only {shown} shown."
    return f"{chunk} was dropped by {step.stage}: {step.dropped}."


def _unplaced(explanation: Explanation) -> str:
    best = _best_places(explanation)
    within = [place for place in best.values() if place.rank <= explanation.top_k]
    if within:  # it would have been handed over, had it been allowed to
        return f"{_ranks(within[0])}, but no chunk of it fulfils all conditions at once."
    reasons = [
        _ranks(best[strategy]) if strategy in best else f"{strategy} does not find it"
        for strategy in explanation.strategies
    ]
    said = f"No strategy placed it among its first {explanation.top_k}"
    return f"{said}: {', '.join(reasons)}." if reasons else f"{said}."


def _best_places(explanation: Explanation) -> dict[str, StrategyRank]:
    """Where each strategy ranks the chunk of the document that it likes best."""
    best: dict[str, StrategyRank] = {}
    for outcome in explanation.chunks:
        for place in outcome.standing:
            if place.strategy not in best or place.rank < best[place.strategy].rank:
                best[place.strategy] = place
    return best


def _ranks(place: StrategyRank) -> str:
    return f"{place.strategy} ranks it {_ordinal(place.rank)} ({place.score:.2f})"


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{'th' if number % 100 in {11, 12, 13} else ending}"
