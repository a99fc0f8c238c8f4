"""`dowse tune`: find the settings that rank best on a project's own documents."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from msgspec.structs import replace

from dowse._interfaces.cli.call import Call
from dowse._interfaces.cli.command import Command, pass_call
from dowse._interfaces.cli.draw.text import folded, line
from dowse._interfaces.cli.draw.tune import ChangeRecord, TuneRecord, draw_tune
from dowse._model import ModelFit
from dowse._project.engine import Engine
from dowse._project.evaluation.collections import read_collection
from dowse._project.evaluation.own_queries import PER_KIND, OwnQuery, own_queries, told_counts
from dowse._project.evaluation.tune import (
    BoostTrial,
    Question,
    Tuning,
    gather_evidence,
    judged_questions,
    own_questions,
    tune,
)
from dowse._search.confidence.fit import LEAST
from dowse._search.confidence.model import DEFAULT
from dowse._util.files import real_path
from dowse._util.locations import short_path
from dowse.errors import UsageError

_EXAMPLES = """\
\b
Examples:
  dowse tune --dry-run              what is there to gain?
  dowse tune                        and ask before anything is changed
  dowse tune --boosts               also how much titles and headings weigh
  dowse tune --on judged --yes      by queries that you have judged
  dowse tune --confidence           what "strong" means for another model

Take it back with: dowse config unset -p NAME SETTING
"""


@click.command(cls=Command, record=TuneRecord, epilog=_EXAMPLES)
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
        drawn, questions = _asked(engine, on, per_kind)
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


def _asked(
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
    if call.json or not (sys.stdin.isatty() and call.aside.is_terminal):
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
