"""`dowse eval`, `tune`: measure how well queries are answered, and fit the confidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import click
from rich.text import Text

from dowse._config.presets import PRESETS
from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.draw import Part, duration, fitted, sentence, table
from dowse._interfaces.cli.options import setting_names
from dowse._model import ModelFit
from dowse._project.evaluation import (
    NAMES,
    Difference,
    EvalRecord,
    Measures,
    RunReport,
    evaluate,
    open_bench,
    read_collection,
    sample,
    sides_of,
)
from dowse._project.indexing import fit_confidence
from dowse._project.own_queries import (
    hidden_copy,
    own_collection,
    own_queries,
)
from dowse._search.confidence import DEFAULT
from dowse._search.fit import LEAST
from dowse._util.files import real_path
from dowse._util.messages import counted
from dowse.errors import UsageError


@click.command(cls=Command, record=EvalRecord)
@click.argument("set_", metavar="[SET]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=setting_names,
    help="Any setting, of a search or of the index, for this run.",
)
@click.option("--preset", type=click.Choice(tuple(PRESETS)), help="A named set of settings.")
@click.option(
    "--compare",
    nargs=2,
    metavar="A B",
    help="Tell whether B is better than A; each is a preset, a NAME=VALUE, or default.",
)
@click.option(
    "--queries",
    type=click.IntRange(min=1),
    metavar="N",
    help="Ask only this many of the queries, always the same ones.",
)
@click.option(
    "--self",
    "own",
    is_flag=True,
    help="Instead of SET, draw queries from the project's own documents.",
)
@pass_call
def eval_command(
    call: Call,
    set_: Path | None,
    *,
    assignments: tuple[str, ...],
    preset: str | None,
    compare: tuple[str, str] | None,
    queries: int | None,
    own: bool,
) -> None:
    """Measure how well a judged collection is answered.

    SET is a folder with docs/, queries.jsonl and qrels.tsv. It is indexed apart from your
    projects, and your settings hold. Documents are judged, each by its best passage, down to the
    100th.

    Recency does not count, because the files of a collection are as old as its download. Latency is
    that of a search with your own number of results; for the measures 300 passages are asked for,
    unless --set search.top_n says how many to judge. Queries of the type
    "unanswerable" should find nothing.

    With --self the queries are headings and texts of links of your own documents, asked of a copy
    of the index that does not hold them. A document that says a query only because it links to the
    answer does not count.

    Examples:
      dowse eval benchmarks/corpus                       measure the current settings
      dowse eval SET --preset seed-a                     measure a preset
      dowse eval SET --compare seed-a default            is the second better?
      dowse eval SET --compare default fuse.keyword=2
      dowse eval --self -p notes                         with queries drawn from the notes
    """
    refusals = (
        (compare and preset, "--compare names presets itself.", "Leave out --preset."),
        (
            own and (set_ or queries),
            "--self draws queries from the documents of a project.",
            "Leave out SET and --queries.",
        ),
        (not own and set_ is None, "There is nothing to measure.", "Name a SET, or use --self."),
    )
    for applies, what, hint in refusals:
        if applies:
            raise UsageError(what, hint)
    sides = sides_of(compare, preset, assignments)
    with call.progress() as announce:
        if set_ is not None:
            collection = read_collection(real_path(set_))
            collection = sample(collection, queries) if queries else collection
            record = evaluate(
                collection, sides, partial(open_bench, call.workspace, collection), announce
            )
        else:
            with call.open(announce) as engine:
                with engine.read() as reading:
                    drawn = own_queries(reading)
                collection = own_collection(engine.project.name, drawn)
                hidden = partial(hidden_copy, call.workspace, engine, drawn)
                record = evaluate(collection, sides, hidden, announce)
    call.answer(record, lambda width: draw_eval(record, width))
    if not call.json:
        call.remark(*record.notices)


_NAME = 14  # columns that the name of a run, a type or a variant may take
_SURE = 0.05  # differences that chance gives less often are set off


def draw_eval(record: EvalRecord, width: int | None) -> Iterator[Text]:
    """Draw all that an evaluation found out."""
    said = (
        f"{counted(record.queries, 'query', 'queries')} with judgments",
        f"{record.unanswerable:,} without an answer" if record.unanswerable else "",
        counted(record.documents, "document"),
        f"{record.unjudged:,} left out without a judged answer" if record.unjudged else "",
    )
    yield from sentence(width, (record.collection, "bold"), f": {', '.join(filter(None, said))}")
    yield Text()
    if record.runs:
        yield from _draw_runs(record.runs, width)
    if record.comparison is not None:
        yield Text()
        yield from _draw_comparison(record.runs, record.comparison, width)


def _headed(heads: Sequence[str], rows: Iterable[Sequence[Part]], width: int | None) -> list[Text]:
    """Draw a table with names above its columns; all but the first are set to the right."""
    return table([[(name, "dim") for name in heads], *rows], width, right=range(1, len(heads)))


def _draw_runs(runs: Sequence[RunReport], width: int | None) -> Iterator[Text]:
    rows: list[list[Part]] = []
    for run in runs:
        name = run.name if len(runs) > 1 else "all"
        rows.append([(fitted(name, _NAME), "bold"), str(run.queries), *_cells(run.measures)])
        rows += [
            [f" {fitted(one.type or '-', _NAME - 1)}", str(one.queries), *_cells(one.measures)]
            for one in run.types
            if len(run.types) > 1
        ]
    # The last column is not set to the right, so all are made five wide.
    yield from _headed(["", "n", *(f"{name:>5}" for name in NAMES.values())], rows, width)
    yield Text()
    for run in runs:
        said = (
            f"{run.name}:" if len(runs) > 1 else "",
            f"Latency {duration(run.latency.p50)} (p50), {duration(run.latency.p95)} (p95).",
            f"Empty answers: {run.empty:,} of {run.queries:,}.",
            f"Marked as no good match: {run.marked:,} of {run.queries:,}." if run.marked else "",
            "" if run.rejected is None else f"Without an answer: {run.rejected:.0%} rejected.",
        )
        yield from sentence(width, " ".join(filter(None, said)))


def _cells(measures: Measures | None) -> list[str]:
    return [f"{getattr(measures, name):.3f}" if measures else f"{'-':>5}" for name in NAMES]


def _draw_comparison(
    runs: Sequence[RunReport], comparison: Mapping[str, Difference], width: int | None
) -> Iterator[Text]:
    first, second = ((run.name, "bold") for run in runs)
    yield from sentence(width, second, " compared with ", first)
    heads = ("", "first", "second", "change", "", "95 % interval", "p", "won", "same", " lost")
    rows: list[list[Part]] = []
    for name, values in comparison.items():
        colour = "green" if values.difference > 0 else "red"
        rows.append(
            [
                NAMES[name],
                f"{values.first:.3f}",
                f"{values.second:.3f}",
                (f"{values.difference:+.3f}", colour if values.p < _SURE else ""),
                "" if values.relative is None else f"{values.relative:+.1%}",
                f"{values.low:+.3f} {values.high:+.3f}",
                f"{values.p:.3f}" if values.p >= 0.0005 else "<.001",
                str(values.wins),
                str(values.ties),
                f"{values.losses:>5}",  # the last column is not set to the right
            ]
        )
    yield from _headed(heads, rows, width)


@click.command(cls=Command, record=ModelFit)
@pass_call
def tune_command(call: Call) -> None:
    """Fit the confidence to the embedding model of a project.

    Models differ in how near an unrelated passage is. dowse asks this model and the default one the
    same questions about your documents, so that strong, possible, weak and "no good match" mean
    what they mean with the default model. The first run of dowse index with another model does this
    by itself. It takes seconds, and changes no ranking.

    Examples:
      dowse tune
      dowse tune -p notes --json
    """
    with call.progress() as announce, call.open(announce) as engine:
        fit = fit_confidence(engine, announce)
    if fit is None:
        raise UsageError(
            f"The confidence needs vectors and headings of at least {LEAST} documents, and a model"
            " to which made-up words are further away than these.",
            "Index more documents. Until then, results are called strong by their words alone.",
        )
    said = (
        f"Fitted for {fit.model}: its cosines count as {fit.scale:.2f} × cosine {fit.shift:+.2f}."
    )
    if fit == DEFAULT:
        said = f"{fit.model} needs no fit: its confidence was fitted on judged collections."
    call.answer(fit, said)
