"""`dowse recent`: what changed last."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.text import Text

from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.counted import say_rest, takes_limit, takes_path
from dowse._interfaces.cli.draw.text import Part, table
from dowse._interfaces.records import DocumentListRecord, DocumentRecord

_EXAMPLES = """\
\b
Examples:
  dowse recent                   the last ten documents that changed
  dowse recent --since 7d        in the last week
  dowse recent --since 2025-06-30 -n 100 --json
"""


@click.command(cls=Command, shape=DocumentListRecord, epilog=_EXAMPLES)
@click.option("--since", default="", metavar="DATE", help="Only since: 2024-06, yesterday, 7d.")
@takes_path
@takes_limit(10)
@pass_call
def command(call: Call, since: str, path: tuple[str, ...], limit: int) -> None:
    """List the documents that changed last, newest first.

    The date is that of the frontmatter where it has one, otherwise that of the file.
    """
    with call.open() as engine:
        listed = engine.listed("modified", since, path)
        shape = DocumentListRecord.of(listed, engine, limit)
    call.answer(shape, lambda width: _draw(shape.items, width))
    if not shape.items:
        call.remark(f"Nothing changed since {since}." if since else "The index is empty.")
    say_rest(call, len(shape.items), shape.total)


def _draw(items: Sequence[DocumentRecord], width: int | None) -> list[Text]:
    rows: list[tuple[Part, ...]] = [
        (one.modified[:10], (one.id, "cyan"), (one.title, "dim")) for one in items
    ]
    return table(rows, width)
