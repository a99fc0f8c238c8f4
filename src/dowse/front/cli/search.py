"""`dowse search`: the passages that answer a query."""

from __future__ import annotations

import click

from dowse.errors import UsageError
from dowse.front.cli.call import Call, Command, pass_call
from dowse.front.cli.draw_hits import draw_hits
from dowse.front.cli.shapes import ResponseShape

_EXAMPLES = """\
\b
Examples:
  dowse search "why do the masts carry no SIM card"
  dowse search get_station_by_id --mode keyword
  dowse search -n 10 --explain backup restore
  dowse search --json "restore a backup" | jq -r ".hits[].path"
  dowse search -- --rebuild               a query that begins with a dash
"""


@click.command(cls=Command, shape=ResponseShape, epilog=_EXAMPLES)
@click.argument("query", nargs=-1, required=True, metavar="QUERY...")
@click.option("-n", "--top-n", type=click.IntRange(min=1), metavar="N", help="How many results.")
@click.option(
    "--mode",
    type=click.Choice(["hybrid", "keyword", "semantic"]),
    help="Rank by words and meaning, by words alone, or by meaning alone.",
)
@click.option("--explain", is_flag=True, help="Show how each result came to its place.")
@pass_call
def command(
    call: Call, query: tuple[str, ...], top_n: int | None, mode: str | None, explain: bool
) -> None:
    """Find the passages that answer a query.

    The query is a question, some words or a name from code; quotes around it are not needed. Each
    result shows its score (0 to 99), where it stands, and an id that `dowse get` takes.
    """
    asked = " ".join(query).strip()
    if not asked:
        raise UsageError("The query is empty.", "Say what to look for: dowse search WORDS")
    chosen = {"search.top_n": top_n, "search.mode": mode}
    overrides = {name: value for name, value in chosen.items() if value is not None}
    with call.progress() as announce, call.open(overrides, announce) as engine:
        response = engine.search(asked)
        shape = ResponseShape.of(response, engine) if call.json else None
    call.answer(shape, lambda width: draw_hits(response, width, explain=explain))
    if not response.hits:
        call.remark("Nothing found. Try other words, or see what is indexed: dowse ls")
    if not call.json:
        call.remark(*response.notices)
