"""`dowse eval`: measure how well a judged collection is answered."""

from __future__ import annotations

from pathlib import Path

import click

from dowse.evaluate import read_collection, sample
from dowse.front.cli.call import Call, Command, pass_call, real_path
from dowse.front.cli.draw_eval import draw_eval
from dowse.front.cli.eval_shapes import EvalShape
from dowse.front.cli.evaluating import Wanted, evaluate
from dowse.front.cli.suggest import setting_names
from dowse.presets import PRESETS

_EXAMPLES = """\
\b
Examples:
  dowse eval benchmarks/corpus                       measure the settings as they hold
  dowse eval SET --preset seed-a --save seed-a.run   and keep the run
  dowse eval SET --run seed-a.run --run other.run    judge run files
  dowse eval SET --compare seed-a default            is the second better?
  dowse eval SET --compare default fuse.keyword=2
  dowse eval SET --ablate                            what is each stage worth?
"""


@click.command(cls=Command, shape=EvalShape, epilog=_EXAMPLES)
@click.argument("set_", metavar="SET", type=click.Path(path_type=Path))
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
    help="Keep what was found as a TREC run file.",
)
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
@pass_call
def command(
    call: Call,
    set_: Path,
    *,
    runs: tuple[Path, ...],
    save: Path | None,
    assignments: tuple[str, ...],
    preset: str | None,
    compare: tuple[str, str] | None,
    switch: bool,
    queries: int | None,
) -> None:
    """Measure how well a judged collection is answered.

    SET is a folder with docs/ or corpus.jsonl, queries.jsonl and qrels.tsv, or with TREC's topics
    and qrels; for run files a qrels file will do. It is indexed apart from your projects, and your
    settings hold. Documents are judged, each by its best passage, down to the 100th.

    Recency does not count, because the files of a collection are as old as its download. Latency is
    that of a search with your own number of results; for the measures 300 passages are asked for,
    unless --set search.top_n says how many to judge. Queries of the type
    "unanswerable" should find nothing.
    """
    wanted = Wanted(runs, save, assignments, preset, compare, switch)
    wanted.check()
    collection = read_collection(real_path(set_))
    if queries:
        collection = sample(collection, queries)
    with call.progress() as announce:
        shape = evaluate(call.workspace, collection, wanted, announce)
    call.answer(shape, lambda width: draw_eval(shape, width))
    if not call.json:
        call.remark(*shape.notices)
