"""How a candidate came to its place, and what the stages did, drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.text import Text

from dowse._interfaces.cli.draw.text import Part, folded, line, number, table
from dowse._model import Place, Response, Step, StrategyRank, Trace
from dowse._search.pipeline import SEARCH_FLOW
from dowse._text.amounts import counted

_MULTIPLIERS = {stage.name for stage in SEARCH_FLOW if stage.multiplies}


def draw_trace(
    trace: Trace, width: int | None, indent: int, standing: Iterable[StrategyRank] = ()
) -> Iterator[Text]:
    """Its place in every strategy, then what each stage did to its score.

    `standing` has the ranks by strategies that did not hand it over.
    """
    ranked = {one.strategy: one for one in standing}
    rows = [_place(place, ranked.pop(place.strategy, None)) for place in trace.places]
    rows += [
        (one.strategy, f"place {number(one.rank)}", f"score {one.score:.3f}", "not handed over")
        for one in ranked.values()
    ]
    rows += [_step(step) for step in trace.steps]
    for one in table(rows, width and width - indent, right=(1, 2)):
        one.stylize("dim")
        yield Text(" " * indent) + one


def _place(place: Place, ranked: StrategyRank | None) -> tuple[Part, ...]:
    rank = place.rank or (ranked and ranked.rank)
    where = f"place {number(rank)}" if rank else "further back"
    return place.strategy, where, f"score {place.score:.3f}", f"gives {place.contribution:.4f}"


def _step(step: Step) -> tuple[Part, ...]:
    if step.dropped:
        return step.stage, "", f"{step.before:.4f}", f"dropped: {step.dropped}"
    multiplied = step.stage in _MULTIPLIERS and step.before > 0
    factor = f"× {step.after / step.before:.2f}" if multiplied else ""
    return step.stage, factor, f"{step.before:.4f}", f"→ {step.after:.4f}"


def draw_account(response: Response, width: int | None) -> Iterator[Text]:
    """How many candidates each stage left that ran, and how long it took."""
    heading: tuple[Part, ...] = (("stage", "bold"), ("candidates", "bold"), ("time", "bold"), "")
    rows = [heading]
    for stage, spent in response.seconds.items():
        left = number(response.counts[stage]) if stage in response.counts else ""
        rows.append((stage, left, f"{spent * 1000:.1f} ms", ""))
    rows.append(("all", "", f"{sum(response.seconds.values()) * 1000:.1f} ms", ""))
    yield Text()
    for one in table(rows, width, right=(1, 2)):
        one.stylize("dim")
        yield one
    if response.calibration:
        yield from folded(line((f"Scores: {response.calibration}.", "dim")), width)
    if response.merged:
        said = f"{counted(response.merged, 'result stands', 'results stand')} for others that mean"
        yield from folded(line((f"{said} the same.", "dim")), width)
