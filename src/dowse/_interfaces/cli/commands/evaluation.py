"""`dowse eval`, `tune`: measure how well queries are answered, and find better settings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click
from msgspec.structs import replace

from dowse._config.presets import PRESETS
from dowse._interfaces.cli.call import Call
from dowse._interfaces.cli.command import Command, pass_call
from dowse._interfaces.cli.draw.evaluation import ChangeRecord, TuneRecord, draw_eval, draw_tune
from dowse._interfaces.cli.draw.text import folded, line
from dowse._interfaces.cli.options import setting_names
from dowse._model import Announce, ModelFit
from dowse._project.engine import Engine
from dowse._project.evaluation.bench import open_bench, open_own_bench
from dowse._project.evaluation.collections import read_collection, sample
from dowse._project.evaluation.evaluate import EvalRequest, evaluate
from dowse._project.evaluation.own_queries import (
    PER_KIND,
    OwnQuery,
    own_collection,
    own_queries,
    told_counts,
)
from dowse._project.evaluation.report import EvalRecord
from dowse._project.evaluation.tune import (
    BoostTrial,
    Question,
    Tuning,
    gather_evidence,
    judged_questions,
    own_questions,
    tune,
)
from dowse._search.confidence import DEFAULT
from dowse._search.fit import LEAST
from dowse._util.files import real_path
from dowse._util.locations import short_path
from dowse.errors import UsageError

_EVAL_EXAMPLES = """\
\b
Examples:
  dowse eval benchmarks/corpus                       measure the settings as they hold
  dowse eval SET --preset seed-a --save seed-a.run   and keep the run
  dowse eval SET --run seed-a.run --run other.run    judge run files
  dowse eval SET --compare seed-a default            is the second better?
  dowse eval SET --compare default fuse.keyword=2
  dowse eval SET --ablate                            what is each stage worth?
  dowse eval --self -p notes                         by queries out of the notes
"""


@click.command(cls=Command, record=EvalRecord, epilog=_EVAL_EXAMPLES)
@click.argument("set_", metavar="[SET]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--run",
    "runs",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Judge a TREC run file instead of searching; several: each.",
)
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
    help="Whether B is better than A: each a run file, a preset, a NAME=VALUE, or default.",
)
@click.option(
    "--ablate", "switch", is_flag=True, help="Switch every stage and strategy, one at a time."
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
    runs: tuple[Path, ...],
    save: Path | None,
    force: bool,
    assignments: tuple[str, ...],
    preset: str | None,
    compare: tuple[str, str] | None,
    switch: bool,
    queries: int | None,
    own: bool,
    per_kind: int,
) -> None:
    """Measure how well a judged collection is answered.

    SET is a folder with docs/ or corpus.jsonl, queries.jsonl and qrels.tsv, or with TREC's topics
    and qrels; for run files a qrels file will do. It is indexed apart from your projects, and your
    settings hold. Documents are judged, each by its best passage, down to the 100th.

    Recency does not count, because the files of a collection are as old as its download. Latency is
    that of a search with your own number of results; for the measures 300 passages are asked for,
    unless --set search.top_n says how many to judge. Queries of the type
    "unanswerable" should find nothing.

    With --self the queries are headings, texts of links, descriptions and aliases of your own
    documents, asked of a copy of the index that does not hold them. A document that says a query
    only because it links to the answer does not count.
    """
    request = EvalRequest(runs, save, assignments, preset, compare, switch, force)
    request.check()
    if own and (set_ or runs or queries):
        raise UsageError(
            "--self draws queries from the documents of a project.",
            "Leave out SET, --run and --queries; --per-kind says how many.",
        )
    with call.progress() as announce:
        if own:
            record = _evaluate_own(call, request, per_kind, announce)
        else:
            record = _evaluate_set(call, set_, queries, request, announce)
    call.answer(record, lambda width: draw_eval(record, width))
    if not call.json:
        call.remark(*record.notices)


def _evaluate_set(
    call: Call, path: Path | None, queries: int | None, request: EvalRequest, announce: Announce
) -> EvalRecord:
    if path is None:
        raise UsageError("There is nothing to measure.", "Name a SET, or use --self.")
    collection = read_collection(real_path(path))
    if queries:
        collection = sample(collection, queries)
    opened = partial(open_bench, call.workspace, collection)
    return evaluate(call.workspace, collection, request, opened, announce)


def _evaluate_own(
    call: Call, request: EvalRequest, per_kind: int, announce: Announce
) -> EvalRecord:
    with call.open(announce=announce) as engine:
        with engine.read() as reading:
            drawn = own_queries(reading, per_kind)
        collection = own_collection(engine.project.name, drawn)
        opened = partial(open_own_bench, call.workspace, engine, drawn)
        record = evaluate(call.workspace, collection, request, opened, announce)
    return replace(record, notices=(told_counts(drawn), *record.notices))


_TUNE_EXAMPLES = """\
\b
Examples:
  dowse tune --dry-run              what is there to gain?
  dowse tune                        and ask before anything is changed
  dowse tune --boosts               also how much titles and headings weigh
  dowse tune --on judged --yes      by queries that you have judged
  dowse tune --confidence           what "strong" means for another model

Take it back with: dowse config unset -p NAME SETTING
"""


@click.command(cls=Command, record=TuneRecord, epilog=_TUNE_EXAMPLES)
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
    "--boosts",
    is_flag=True,
    help="Also try how much title, headings, keywords, description and tags weigh.",
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
    boosts: bool,
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
    """
    if confidence:
        if on or boosts or dry_run:
            raise UsageError("--confidence is a job of its own.", "Leave out the other options.")
        _fit_confidence(call)
        return
    if dry_run and yes:
        raise UsageError("--dry-run and --yes contradict each other.", "Use one.")
    with call.progress() as announce, call.open(announce=announce) as engine:
        drawn, questions = _queries(engine, on, per_kind)
        evidence = list(
            gather_evidence(
                call.workspace, engine, questions, drawn, boosts=boosts, announce=announce
            )
        )
        tuning = tune(evidence, questions, engine.settings, announce)
    record = _record(engine, tuning, questions, evidence)
    if not call.json:
        if drawn:
            call.remark(told_counts(drawn))
        call.out.show(draw_tune(record, call.out.width))
        call.remark(*record.notices)
    if record.real and not dry_run and (yes or _agrees(call, engine)):
        record = _written(call, engine, record)
    if call.json:
        call.write_json(record)
    elif record.real and not record.written:
        call.remark("Nothing was changed. Write these settings with: dowse tune --yes")


def _fit_confidence(call: Call) -> None:
    with call.progress() as announce, call.open(announce=announce) as engine:
        fit = engine.fit_confidence(announce)
    if fit is None:
        raise UsageError(
            f"The confidence needs vectors and headings of at least {LEAST} documents, and a model"
            " to which made-up words are further away than these.",
            "Index more documents. Until then, results are called strong by their words alone.",
        )
    call.answer(fit, lambda width: folded(line(_said(fit)), width))


def _said(fit: ModelFit) -> str:
    if fit == DEFAULT:
        return f"{fit.model} needs no fit: its confidence was fitted on judged collections."
    return (
        f"Fitted for {fit.model}: its cosines count as {fit.scale:.2f} × cosine {fit.shift:+.2f}."
    )


def _queries(
    engine: Engine, on: Path | None, per_kind: int
) -> tuple[tuple[OwnQuery, ...], list[Question]]:
    if on is not None:
        return (), judged_questions(read_collection(real_path(on)).queries, engine)
    with engine.read() as reading:
        drawn = own_queries(reading, per_kind)
    return drawn, own_questions(drawn)


def _record(
    engine: Engine, tuning: Tuning, questions: Sequence[Question], evidence: Sequence[BoostTrial]
) -> TuneRecord:
    settings, best = engine.settings, tuning.best.items()
    changes = [ChangeRecord(name, settings.value(name), better) for name, better in best]
    notices = tuple(dict.fromkeys(notice for one in evidence for notice in one.notices))
    return TuneRecord.of(engine.project.name, tuning, questions, changes, notices)


def _agrees(call: Call, engine: Engine) -> bool:
    if not call.can_confirm():
        return False
    call.out.flush()
    return click.confirm(f"Write these settings for {engine.project.name}?", err=True)


def _written(call: Call, engine: Engine, record: TuneRecord) -> TuneRecord:
    project = call.workspace.projects.get(engine.project.name)
    for change in record.best:
        file = call.workspace.change_setting(change.name, str(change.better), project)
    if not call.json:
        call.out.show(folded(line(f"Written to {short_path(file)}."), call.out.width))
    if record.rebuild:
        call.remark(f"Rebuild the index for it: dowse index --rebuild -p {project.typed}")
    return replace(record, written=True)
