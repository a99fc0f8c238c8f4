"""What tuning has found: as --json prints it, and drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from msgspec import Struct
from rich.text import Text

from dowse._interfaces.cli.draw.text import Part, folded, line, number, table
from dowse._project.evaluation.measures import Difference
from dowse._project.evaluation.own_queries import FEW
from dowse._project.evaluation.tune import FOLDS, Question, Tuning
from dowse._text.amounts import counted

_OTHER_CONFIDENCE = (
    "With this fuse.normalise, confidence compares results with each other: it no longer says"
    " whether there is an answer at all."
)


class ChangeRecord(Struct, frozen=True):
    """A setting that would rank better."""

    name: Annotated[str, "As in `fuse.keyword`."]
    now: Annotated[Any, "What holds now."]
    better: Annotated[Any, "What would rank better."]


class TuneRecord(Struct, frozen=True):
    """What `dowse tune` found out, and did."""

    project: Annotated[str, "Name of the project."]
    queries: Annotated[Mapping[str, int], "How many queries it was tuned on, by type."]
    tried: Annotated[int, "How many settings were tried."]
    gain: Annotated[
        Difference, "In nDCG@10 on queries that were not chosen on; first: what holds now."
    ]
    real: Annotated[bool, "Whether the gain is more than chance."]
    best: Annotated[tuple[ChangeRecord, ...], "What ranked best, by all queries."]
    agreeing: Annotated[int, "Of the 5 parts of the queries, how many chose just the same."]
    written: Annotated[bool, "Whether `best` holds for the project from now on."]
    rebuild: Annotated[bool, "Whether the index must be rebuilt for it."]
    notices: Annotated[tuple[str, ...], "What could not be done, and what else changes."]

    @classmethod
    def of(
        cls,
        project: str,
        tuning: Tuning,
        questions: Sequence[Question],
        changes: Sequence[ChangeRecord],
        notices: Sequence[str],
        *,
        written: bool = False,
    ) -> TuneRecord:
        """Make the record of a tuning."""
        names = [change.name for change in changes]
        scaled = tuning.is_real and any(
            one.name == "fuse.normalise" and one.now == "ceiling" for one in changes
        )
        return cls(
            project=project,
            queries=Counter(question.judged.type for question in questions),
            tried=tuning.tried,
            gain=tuning.gain,
            real=tuning.is_real,
            best=tuple(changes),
            agreeing=tuning.agreeing,
            written=written,
            rebuild=any(name.startswith("keyword.") for name in names),
            notices=(*notices, *((_OTHER_CONFIDENCE,) if scaled else ())),
        )


def draw_tune(record: TuneRecord, width: int | None) -> Iterator[Text]:
    """Draw what there is to gain, and by which settings."""
    asked, total = record.queries, sum(record.queries.values())
    kinds = ", ".join(f"{number(count)} {kind}" for kind, count in asked.items() if kind)
    summary = f": {counted(record.tried, 'setting')} tried on {counted(total, 'query', 'queries')}"
    yield from folded(
        line((record.project, "bold"), summary, f" ({kinds})" if kinds else ""), width
    )
    yield Text()
    yield from _draw_gain(record.gain, width)
    yield Text()
    if not record.real:
        yield from folded(line(("Nothing to gain", "bold"), f": {_why_not(record)}"), width)
        return
    yield from folded(
        line(("These settings rank better", "bold"), f" ({_agreement(record)}):"), width
    )
    rows = [(f"  {one.name}", f"{_text(one.now)} → {_text(one.better)}") for one in record.best]
    yield from table(rows, width)


def _draw_gain(gain: Difference, width: int | None) -> list[Text]:
    chance = "p < 0.001" if gain.p < 0.001 else f"p = {gain.p:.3f}"
    relative = "" if gain.relative is None else f" ({gain.relative:+.1%})"
    rows: list[tuple[Part, Part]] = [
        (("nDCG@10 now", "dim"), f"{gain.first:.3f}"),
        (("tuned", "dim"), f"{gain.second:.3f}, on queries that were not chosen on"),
        (("gain", "dim"), f"{gain.difference:+.3f}{relative}"),
        (("95 % interval", "dim"), f"{gain.low:+.3f} to {gain.high:+.3f}, {chance}"),
        (("queries", "dim"), f"{gain.wins} better, {gain.ties} as good, {gain.losses} worse"),
    ]
    return table(rows, width)


def _why_not(record: TuneRecord) -> str:
    if not record.best:
        return "the present settings rank best."
    if sum(record.queries.values()) < FEW and record.gain.low > 0:
        return f"fewer than {FEW} queries cannot show it."
    if record.gain.difference <= 0:
        return "what ranks best for some queries does not for others."
    return "on held-out queries, the gain may be chance."


def _agreement(record: TuneRecord) -> str:
    return f"{record.agreeing} of {FOLDS} parts of the queries chose just these"


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
