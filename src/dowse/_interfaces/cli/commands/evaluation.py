"""`dowse eval`, `tune`: measure how well queries are answered, and find better settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import click
from msgspec.structs import replace
from rich.text import Text

from dowse._config.presets import PRESETS
from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.commands.project import setting_names
from dowse._interfaces.cli.draw import Part, duration, fitted, sentence, table
from dowse._project.evaluation import (
    NAMES,
    ComparisonRecord,
    EvalRecord,
    Measures,
    RunReport,
    UnanswerableReport,
    evaluate,
    open_bench,
    read_collection,
    sample,
    sides_of,
)
from dowse._project.indexing import fit_confidence
from dowse._project.outputs import check_output, write_output
from dowse._project.own_queries import (
    FEW,
    FOLDS,
    PER_KIND,
    OwnQuery,
    TuneRecord,
    gather_evidence,
    hidden_copy,
    judged_queries,
    own_collection,
    own_queries,
    told_counts,
    tune,
)
from dowse._search.confidence import DEFAULT
from dowse._search.fit import LEAST
from dowse._util.files import real_path, short_path
from dowse._util.messages import counted
from dowse.errors import UsageError


@click.command(cls=Command, record=EvalRecord)
@click.argument("set_", metavar="[SET]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--save",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keep what was found as a TREC run file, outside of the folders of all projects.",
)
@click.option("--force", is_flag=True, help="With --save: overwrite a file that is there already.")
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=setting_names,
    help="Any setting, of a search or of the index, for this once.",
)
@click.option("--preset", type=click.Choice(tuple(PRESETS)), help="A named set of settings.")
@click.option(
    "--compare",
    nargs=2,
    metavar="A B",
    help="Whether B is better than A: each a preset, a NAME=VALUE, or default.",
)
@click.option(
    "--queries",
    type=click.IntRange(min=1),
    metavar="N",
    help="Ask so many of the queries only, always the same ones.",
)
@click.option(
    "--self",
    "own",
    is_flag=True,
    help="Instead of SET: queries drawn from the project's own documents.",
)
@click.option(
    "--per-kind",
    type=click.IntRange(min=1),
    default=PER_KIND,
    show_default=True,
    metavar="N",
    help="With --self: queries drawn of each kind at most.",
)
@pass_call
def eval_command(
    call: Call,
    set_: Path | None,
    *,
    save: Path | None,
    force: bool,
    assignments: tuple[str, ...],
    preset: str | None,
    compare: tuple[str, str] | None,
    queries: int | None,
    own: bool,
    per_kind: int,
) -> None:
    """Measure how well a judged collection is answered.

    SET is a folder with docs/, queries.jsonl and qrels.tsv, or with queries.tsv and TREC's qrels.
    It is indexed apart from your projects, and your settings hold. Documents are judged, each by
    its best passage, down to the 100th.

    Recency does not count, because the files of a collection are as old as its download. Latency is
    that of a search with your own number of results; for the measures 300 passages are asked for,
    unless --set search.top_n says how many to judge. Queries of the type
    "unanswerable" should find nothing.

    With --self the queries are headings, texts of links, descriptions and aliases of your own
    documents, asked of a copy of the index that does not hold them. A document that says a query
    only because it links to the answer does not count.

    Examples:
      dowse eval benchmarks/corpus                       measure the settings as they hold
      dowse eval SET --preset seed-a --save seed-a.run   and keep the run
      dowse eval SET --compare seed-a default            is the second better?
      dowse eval SET --compare default fuse.keyword=2
      dowse eval --self -p notes                         by queries out of the notes
    """
    refusals = (
        (compare and save, "--save keeps one run, and --compare makes two.", "Use one."),
        (compare and preset, "--compare names presets itself.", "Leave out --preset."),
        (
            own and (set_ or queries),
            "--self draws queries from the documents of a project.",
            "Leave out SET and --queries; --per-kind says how many.",
        ),
        (not own and set_ is None, "There is nothing to measure.", "Name a SET, or use --self."),
    )
    for applies, what, hint in refusals:
        if applies:
            raise UsageError(what, hint)
    sides = sides_of(compare, preset, assignments)
    keep = None
    if save:
        file = check_output(call.workspace, real_path(save), force=force)
        keep = partial(write_output, call.workspace, file, force=force)
    judge = partial(evaluate, paired=bool(compare), save=keep)
    with call.progress() as announce:
        if set_ is not None:
            collection = read_collection(real_path(set_))
            collection = sample(collection, queries) if queries else collection
            opened = partial(open_bench, call.workspace, collection)
            record = judge(collection, sides, opened, announce)
        else:
            with call.open(announce) as engine:
                with engine.read() as reading:
                    drawn = own_queries(reading, per_kind)
                collection = own_collection(engine.project.name, drawn)
                hidden = partial(hidden_copy, call.workspace, engine, drawn)
                record = judge(collection, sides, hidden, announce)
            record = replace(record, notices=(told_counts(drawn), *record.notices))
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
    if record.comparison:
        yield Text()
        yield from _draw_comparison(record.comparison, width)


def _headed(heads: Sequence[str], rows: Iterable[Sequence[Part]], width: int | None) -> list[Text]:
    """Draw a table with names above its columns; all but the first are set to the right."""
    head = [(name, "dim") for name in heads]
    return table([head, *rows], width, right=range(1, len(heads)))


def _draw_runs(runs: Sequence[RunReport], width: int | None) -> Iterator[Text]:
    rows: list[list[Part]] = []
    for run in runs:
        name = run.name if len(runs) > 1 else "all"
        rows.append([(fitted(name, _NAME), "bold"), str(run.queries), *_cells(run.measures)])
        for one in run.types if len(run.types) > 1 else ():
            kind = fitted(one.type or "-", _NAME - 1)
            rows.append([f" {kind}", str(one.queries), *_cells(one.measures)])
    # The last column is not set to the right, so all are made five wide.
    yield from _headed(["", "n", *(f"{name:>5}" for name in NAMES.values())], rows, width)
    yield Text()
    for run in runs:
        said = (
            f"{run.name}:" if len(runs) > 1 else "",
            f"Latency {duration(run.latency.p50)} (p50), {duration(run.latency.p95)} (p95).",
            f"Empty answers: {run.empty:,} of {run.queries:,}.",
            f"Marked as no good match: {run.marked:,} of {run.queries:,}." if run.marked else "",
            _rejected(run.unanswerable) if run.unanswerable else "",
        )
        yield from sentence(width, " ".join(filter(None, said)))


def _cells(measures: Measures | None) -> list[str]:
    return [f"{getattr(measures, name):.3f}" if measures else f"{'-':>5}" for name in NAMES]


def _rejected(unanswerable: UnanswerableReport) -> str:
    """Say what became of queries that have no answer."""
    least = unanswerable.min_confidence
    threshold = "the fitted threshold" if least < 0 else f"min_confidence {least:g}"
    figure = f"(mean confidence {unanswerable.confidence:.2f})"
    return f"Without an answer: {unanswerable.rejected:.0%} rejected at {threshold} {figure}."


def _draw_comparison(comparison: ComparisonRecord, width: int | None) -> Iterator[Text]:
    second, first = (comparison.second, "bold"), (comparison.first, "bold")
    yield from sentence(width, second, " compared with ", first)
    heads = ("", "first", "second", "change", "", "95 % interval", "p", "won", "same", " lost")
    rows: list[list[Part]] = [
        [
            NAMES[one.measure],
            f"{one.values.first:.3f}",
            f"{one.values.second:.3f}",
            _change(one.values.difference, one.values.p),
            "" if one.values.relative is None else f"{one.values.relative:+.1%}",
            f"{one.values.low:+.3f} {one.values.high:+.3f}",
            _chance(one.values.p),
            str(one.values.wins),
            str(one.values.ties),
            f"{one.values.losses:>5}",  # the last column is not set to the right
        ]
        for one in comparison.measures
    ]
    yield from _headed(heads, rows, width)


def _chance(p: float) -> str:
    return f"{p:.3f}" if p >= 0.0005 else "<.001"


def _change(difference: float, p: float) -> tuple[str, str]:
    """Write a difference; it has a colour when it is more than chance."""
    colour = "green" if difference > 0 else "red"
    return f"{difference:+.3f}", colour if p < _SURE else ""


@click.command(cls=Command, record=TuneRecord)
@click.option(
    "--on",
    type=click.Path(path_type=Path),
    metavar="SET",
    help="Judged queries over the documents of the project, as `dowse eval` takes them.",
)
@click.option(
    "--per-kind",
    type=click.IntRange(min=1),
    default=PER_KIND,
    show_default=True,
    metavar="N",
    help="Without --on: queries drawn of each kind at most.",
)
@click.option(
    "--confidence",
    is_flag=True,
    help="Fit only what the cosines of the embedding model mean, in seconds; nothing else changes.",
)
@click.option("--dry-run", is_flag=True, help="Only show what there is to gain.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@pass_call
def tune_command(
    call: Call,
    *,
    on: Path | None,
    per_kind: int,
    confidence: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Find the settings that rank best on a project's own documents.

    Tries how much meaning and words weigh, how their scores are scaled, and how much the chunks of
    a document help each other. Queries are drawn from the documents: headings, texts of links,
    descriptions and aliases, asked of a copy of the index that does not hold them. Settings are
    chosen on four fifths of the queries and judged on the rest, five times over. They are written,
    for this project alone, when the gain on queries that were not chosen on is more than chance.

    With --confidence, dowse learns how near an answer is by the project's embedding model, so that
    strong, likely, weak and "no good match" mean what they mean with the default one. The first run
    of dowse index with another model does this by itself.

    Examples:
      dowse tune --dry-run              what is there to gain?
      dowse tune                        and ask before anything is changed
      dowse tune --on judged --yes      by queries that you have judged
      dowse tune --confidence           what "strong" means for another model

    Take it back with: dowse config unset -p NAME SETTING
    """
    if confidence and (on or dry_run):
        raise UsageError("--confidence is a job of its own.", "Leave out the other options.")
    if dry_run and yes:
        raise UsageError("--dry-run and --yes contradict each other.", "Use one.")
    if confidence:
        _fit_confidence(call)
        return
    with call.progress() as announce, call.open(announce) as engine:
        if on:
            drawn: Sequence[OwnQuery] = ()
            asked = judged_queries(read_collection(real_path(on)).queries, engine)
        else:
            with engine.read() as reading:
                drawn = own_queries(reading, per_kind)
            asked = [query.judged for query in drawn]
        found = gather_evidence(call.workspace, engine, asked, drawn, announce)
        record = tune(engine.project.name, found, asked, engine.settings, announce)
    if not call.json:
        if drawn:
            call.remark(told_counts(drawn))
        call.out.show(draw_tune(record, call.out.width))
        call.remark(*record.notices)
    question = f"Write these settings for {record.project}?"
    if record.real and not dry_run and (yes or call.agrees(question)):
        record = _written(call, record)
    if call.json:
        call.write_json(record)
    elif record.real and not record.written:
        call.remark("Nothing was changed. Write these settings with: dowse tune --yes")


def _fit_confidence(call: Call) -> None:
    with call.progress() as announce, call.open(announce) as engine:
        fit = fit_confidence(engine, announce)
    if fit is None:
        raise UsageError(
            f"The confidence needs vectors and headings of at least {LEAST} documents, and a model"
            " to which made-up words are further away than these.",
            "Index more documents. Until then, results are called strong by their words alone.",
        )
    scaled = f"its cosines count as {fit.scale:.2f} × cosine {fit.shift:+.2f}"
    said = f"Fitted for {fit.model}: {scaled}."
    if fit == DEFAULT:
        said = f"{fit.model} needs no fit: its confidence was fitted on judged collections."
    call.answer(fit, said)


def _written(call: Call, record: TuneRecord) -> TuneRecord:
    project = call.workspace.projects.get(record.project)
    for change in record.best:
        file = call.workspace.change_setting(change.name, str(change.better), project)
    if not call.json:
        call.out.say(f"Written to {short_path(file)}.")
    return replace(record, written=True)


def draw_tune(record: TuneRecord, width: int | None) -> Iterator[Text]:
    """Draw what there is to gain, and by which settings."""
    asked, total = record.queries, sum(record.queries.values())
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in asked.items() if kind)
    summary = f": {counted(record.tried, 'setting')} tried on {counted(total, 'query', 'queries')}"
    yield from sentence(width, (record.project, "bold"), summary, f" ({kinds})" if kinds else "")
    yield Text()
    gain = record.gain
    chance = "p < 0.001" if gain.p < 0.001 else f"p = {gain.p:.3f}"
    relative = "" if gain.relative is None else f" ({gain.relative:+.1%})"
    figures = {
        "nDCG@10 now": f"{gain.first:.3f}",
        "tuned": f"{gain.second:.3f}, on queries that were not chosen on",
        "gain": f"{gain.difference:+.3f}{relative}",
        "95 % interval": f"{gain.low:+.3f} to {gain.high:+.3f}, {chance}",
        "queries": f"{gain.wins} better, {gain.ties} as good, {gain.losses} worse",
    }
    yield from table([((name, "dim"), figure) for name, figure in figures.items()], width)
    yield Text()
    if record.real:
        agreeing = f" ({record.agreeing} of {FOLDS} parts of the queries chose just these):"
        yield from sentence(width, ("These settings rank better", "bold"), agreeing)
        rows = [(f"  {one.name}", f"{_text(one.now)} → {_text(one.better)}") for one in record.best]
        yield from table(rows, width)
        return
    reasons = (
        (not record.best, "the present settings rank best."),
        (total < FEW and gain.low > 0, f"fewer than {FEW} queries cannot show it."),
        (gain.difference <= 0, "what ranks best for some queries does not for others."),
        (True, "on held-out queries, the gain may be chance."),
    )
    why = next(reason for applies, reason in reasons if applies)
    yield from sentence(width, ("Nothing to gain", "bold"), f": {why}")


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
