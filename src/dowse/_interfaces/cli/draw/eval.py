"""An evaluation, drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from dowse._interfaces.cli.draw.text import Part, duration, fitted, folded, line, number, table
from dowse._project.evaluation.measures import NAMES, Measures
from dowse._project.evaluation.report import AblationRow, ComparisonRecord, EvalRecord, RunReport
from dowse._text.amounts import counted

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
    rows: list[list[Part]] = [[("", "dim"), ("n", "dim"), *_heads()]]
    for run in runs:
        name = run.name if len(runs) > 1 else "all"
        rows.append([(fitted(name, _NAME), "bold"), str(run.queries), *_cells(run.measures)])
        for one in run.types if len(run.types) > 1 else ():
            kind = fitted(one.type or "-", _NAME - 1)
            rows.append([f" {kind}", str(one.queries), *_cells(one.measures)])
    yield from table(rows, width, right=range(1, len(rows[0])))


def _heads() -> list[Part]:
    return [(f"{name:>5}", "dim") for name in NAMES.values()]


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
