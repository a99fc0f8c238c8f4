"""What evaluating and tuning found out, drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from msgspec import Struct
from rich.text import Text

from dowse._interfaces.cli.draw.text import Part, duration, fitted, folded, line, number, table
from dowse._project.evaluation.measures import NAMES, Difference, Measures
from dowse._project.evaluation.own_queries import FEW
from dowse._project.evaluation.report import AblationRow, ComparisonRecord, EvalRecord, RunReport
from dowse._project.evaluation.tune import FOLDS, Question, Tuning
from dowse._util.messages import counted

_NAME = 14  # columns that the name of a run, a type or a variant may take
_SURE = 0.05  # differences that chance gives less often are set off


def draw_eval(record: EvalRecord, width: int | None) -> Iterator[Text]:
    """Draw all that an evaluation found out."""
    yield from folded(_heading(record), width)
    yield Text()
    if record.runs:
        yield from _draw_runs(record.runs, width)
        yield from _draw_remainder(record, width)
    if record.comparison:
        yield Text()
        yield from _draw_comparison(record.comparison, width)
    if record.ablation:
        yield from _draw_ablation(record.ablation, width)


def _heading(record: EvalRecord) -> Text:
    said = [f"{counted(record.queries, 'query', 'queries')} with judgments"]
    if record.unanswerable:
        said.append(f"{number(record.unanswerable)} without an answer")
    if record.documents is not None:
        said.append(counted(record.documents, "document"))
    if record.unjudged:
        said.append(f"{number(record.unjudged)} left out without a judged answer")
    return line((record.collection, "bold"), f": {', '.join(said)}")


def _draw_runs(runs: Sequence[RunReport], width: int | None) -> Iterator[Text]:
    rows: list[list[Part]] = [
        [("", "dim"), ("n", "dim"), *((f"{name:>5}", "dim") for name in NAMES.values())]
    ]
    for run in runs:
        name = run.name if len(runs) > 1 else "all"
        rows.append([(fitted(name, _NAME), "bold"), str(run.queries), *_cells(run.measures)])
        for one in run.types if len(run.types) > 1 else ():
            kind = fitted(one.type or "-", _NAME - 1)
            rows.append([f" {kind}", str(one.queries), *_cells(one.measures)])
    yield from table(rows, width, right=range(1, len(rows[0])))


def _cells(measures: Measures | None) -> list[Part]:
    if measures is None:
        return [f"{'-':>5}" for _ in NAMES]  # the last column is not set to the right
    return [f"{getattr(measures, name):.3f}" for name in NAMES]


def _draw_remainder(record: EvalRecord, width: int | None) -> Iterator[Text]:
    """Latency, empty answers, and what became of queries without an answer, run by run."""
    yield Text()
    for run in record.runs:
        said = [f"{run.name}:"] if len(record.runs) > 1 else []
        if run.latency:
            p50, p95 = duration(run.latency.p50), duration(run.latency.p95)
            said.append(f"Latency {p50} (p50), {p95} (p95).")
        of_all = f"of {number(run.queries)}"
        said.append(f"Empty answers: {number(run.empty)} {of_all}.")
        if run.marked:
            said.append(f"Marked as no good match: {number(run.marked)} {of_all}.")
        if run.unanswerable:
            said.append(f"Without an answer: {run.unanswerable.rejected:.0%} rejected")
            said += _threshold(run.unanswerable.min_confidence)
            if run.unanswerable.confidence is not None:
                said.append(f"(mean confidence {run.unanswerable.confidence:.2f})")
            said[-1] += "."
        yield from folded(line(" ".join(said)), width)


def _threshold(least: float | None) -> list[str]:
    if least is None:
        return []
    return [f"at min_confidence {least:g}" if least >= 0 else "at the fitted threshold"]


def _draw_comparison(comparison: ComparisonRecord, width: int | None) -> Iterator[Text]:
    yield from folded(
        line((comparison.second, "bold"), " compared with ", (comparison.first, "bold")), width
    )
    heads = ("", "first", "second", "change", "", "95 % interval", "p", "won", "same", " lost")
    rows: list[list[Part]] = [[(head, "dim") for head in heads]]
    for one in comparison.measures:
        values = one.values
        relative = "" if values.relative is None else f"{values.relative:+.1%}"
        rows.append(
            [
                NAMES[one.measure],
                f"{values.first:.3f}",
                f"{values.second:.3f}",
                (f"{values.difference:+.3f}", _colour(values.difference, values.p)),
                relative,
                f"{values.low:+.3f} {values.high:+.3f}",
                _chance(values.p),
                str(values.wins),
                str(values.ties),
                f"{values.losses:>5}",  # the last column is not set to the right
            ]
        )
    yield from table(rows, width, right=range(1, len(heads)))


def _draw_ablation(ablation: Sequence[AblationRow], width: int | None) -> Iterator[Text]:
    heads = ("", "nDCG@10", "MRR", "R@100", "p50", "change", f"{'p':>5}")
    rows: list[list[Part]] = [[(head, "dim") for head in heads]]
    for place, row in enumerate(ablation):
        rows.append(
            [
                (fitted(row.variant, 2 * _NAME), "" if place else "bold"),
                f"{row.ndcg_10:.3f}",
                f"{row.mrr:.3f}",
                f"{row.recall_100:.3f}",
                "" if row.p50 is None else duration(row.p50),
                (f"{row.difference:+.3f}", _colour(row.difference, row.p)) if place else "",
                _chance(row.p) if place else "",
            ]
        )
    yield from table(rows, width, right=range(1, len(heads)))
    yield Text()
    yield from folded(
        line(
            "Each line changes one thing; change and p are of nDCG@10 against the first line. With"
            " so many lines, one of twenty has p < 0.05 by chance alone."
        ),
        width,
    )


def _chance(p: float) -> str:
    return f"{p:.3f}" if p >= 0.0005 else "<.001"


def _colour(difference: float, p: float) -> str:
    if p >= _SURE:
        return ""
    return "green" if difference > 0 else "red"


# ── Tuning ───────────────────────────────────────────────────────────────────

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
    agreeing = f"{record.agreeing} of {FOLDS} parts of the queries chose just these"
    yield from folded(line(("These settings rank better", "bold"), f" ({agreeing}):"), width)
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


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
