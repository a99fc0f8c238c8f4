"""`dowse eval`: measure how well a judged collection is answered."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click
from msgspec.structs import replace

from dowse._config.presets import PRESETS
from dowse._interfaces.cli.call import Call
from dowse._interfaces.cli.command import Command, pass_call
from dowse._interfaces.cli.draw.eval import draw_eval
from dowse._interfaces.cli.options import setting_names
from dowse._model import Announce
from dowse._project.evaluation.bench import open_bench, open_own_bench
from dowse._project.evaluation.collections import read_collection, sample
from dowse._project.evaluation.evaluate import EvalRequest, evaluate
from dowse._project.evaluation.own_queries import (
    PER_KIND,
    own_collection,
    own_queries,
    told_counts,
)
from dowse._project.evaluation.report import EvalRecord
from dowse._util.files import real_path
from dowse.errors import UsageError

_EXAMPLES = """\
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


@click.command(cls=Command, record=EvalRecord, epilog=_EXAMPLES)
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
    wanted = EvalRequest(runs, save, assignments, preset, compare, switch, force)
    wanted.check()
    if own and (set_ or runs or queries):
        raise UsageError(
            "--self draws queries from the documents of a project.",
            "Leave out SET, --run and --queries; --per-kind says how many.",
        )
    with call.progress() as announce:
        if own:
            record = _evaluate_own(call, wanted, per_kind, announce)
        else:
            record = _evaluate_set(call, set_, queries, wanted, announce)
    call.answer(record, lambda width: draw_eval(record, width))
    if not call.json:
        call.remark(*record.notices)


def _evaluate_set(
    call: Call, path: Path | None, queries: int | None, wanted: EvalRequest, announce: Announce
) -> EvalRecord:
    if path is None:
        raise UsageError("There is nothing to measure.", "Name a SET, or use --self.")
    collection = read_collection(real_path(path))
    if queries:
        collection = sample(collection, queries)
    opened = partial(open_bench, call.workspace, collection)
    return evaluate(call.workspace, collection, wanted, opened, announce)


def _evaluate_own(call: Call, wanted: EvalRequest, per_kind: int, announce: Announce) -> EvalRecord:
    with call.open(announce=announce) as engine:
        with engine.read() as reading:
            drawn = own_queries(reading, per_kind)
        collection = own_collection(engine.project.name, drawn)
        opened = partial(open_own_bench, call.workspace, engine, drawn)
        record = evaluate(call.workspace, collection, wanted, opened, announce)
    return replace(record, notices=(told_counts(drawn), *record.notices))
