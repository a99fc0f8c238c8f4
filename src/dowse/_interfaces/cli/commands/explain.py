"""`dowse explain`: why a document is among the results, or is not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import click
from rich.text import Text

from dowse._interfaces.cli.asking import takes_query
from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.complete import document_ids
from dowse._interfaces.cli.draw.text import folded, line
from dowse._interfaces.cli.draw.trace import draw_trace
from dowse._interfaces.records import ExplanationRecord
from dowse._model import header_line
from dowse._search.explain import ChunkOutcome, Explanation, lines_of
from dowse._search.request import SearchRequest
from dowse._text.amounts import counted

_INDENT = 4
_BEST = 5

_EXAMPLES = """\
\b
Examples:
  dowse explain "restore a backup" --doc guides/restore.md
  dowse explain masts --doc gateway --mode keyword --all
  dowse explain tag:draft masts --doc gateway --json
"""


@click.command(cls=Command, shape=ExplanationRecord, epilog=_EXAMPLES)
@takes_query("explain")
@click.option(
    "--doc",
    "--reference",
    "reference",
    required=True,
    metavar="DOC",
    shell_complete=document_ids,
    help="The document, as `dowse get` takes it.",
)
@click.option("--all", "everything", is_flag=True, help="Show all of its chunks, not only 5.")
@pass_call
def command(call: Call, request: SearchRequest, reference: str, everything: bool) -> None:
    """Say why a document is, or is not, among the results.

    The same options as in `dowse search` give the same search. The output shows the rank of the
    document in each strategy, and the stage that dropped it.
    """
    with call.progress() as announce, call.ask(partial(call.open, announce=announce)) as engine:
        explanation = engine.explain(request, reference, here=call.here)
        shape = ExplanationRecord.of(explanation, engine)
    shown = len(explanation.chunks) if everything else _BEST
    call.answer(shape, lambda width: _draw(explanation, shown, width))
    if not call.json:
        call.remark(*explanation.notices)


def _draw(explanation: Explanation, shown: int, width: int | None) -> Iterator[Text]:
    named = line((explanation.document, "cyan"), "  ", (explanation.title, "bold"))
    yield from folded(named, width)
    yield from folded(line(explanation.why), width)
    for outcome in explanation.chunks[:shown]:
        yield Text()
        yield from _draw_fate(outcome, width)
    left = len(explanation.chunks) - shown
    if left > 0:
        yield Text()
        yield from folded(line((f"{counted(left, 'chunk')} more: --all", "dim")), width)


def _draw_fate(outcome: ChunkOutcome, width: int | None) -> Iterator[Text]:
    headings = header_line(outcome.header_path)
    above = ("  " + headings if headings else "", "dim")
    yield from folded(
        line((lines_of(outcome), "cyan"), "  ", (_outcome_of(outcome), "bold"), above), width
    )
    yield from draw_trace(outcome.trace, width, _INDENT, outcome.standing)


def _outcome_of(outcome: ChunkOutcome) -> str:
    if outcome.rank is not None:
        return f"result {outcome.rank}"
    if outcome.trace.steps and outcome.trace.steps[-1].dropped:
        return f"dropped by {outcome.trace.steps[-1].stage}"
    return "no candidate" if outcome.standing else "not found"
