"""`dowse related`: what belongs to a document."""

from __future__ import annotations

from collections.abc import Iterator

import click
from rich.text import Text

from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.complete import document_ids
from dowse._interfaces.cli.draw.text import folded, line
from dowse._interfaces.records import RelatedRecord
from dowse._search.related import Neighbour, Related

_INDENT = 2

_EXAMPLES = """\
\b
Examples:
  dowse related guides/restore.md
  dowse related restore -n 3              a part of the path is enough
  dowse related Home --json
"""


@click.command(cls=Command, shape=RelatedRecord, epilog=_EXAMPLES)
@click.argument("reference", metavar="DOC", shell_complete=document_ids)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="How many of each kind at most.",
)
@pass_call
def command(call: Call, reference: str, limit: int) -> None:
    """Show what belongs to a document.

    What it links to, what links to it, what else is in its community, and what is similar, with
    the cosine; then links of it that lead nowhere yet. DOC is what `dowse get` takes.
    """
    with call.ask(call.open) as engine:
        related = engine.related(reference, limit, here=call.here)
        shape = RelatedRecord.of(related, engine) if call.json else None
    call.answer(shape, lambda width: _draw(related, width))
    if not any(_groups(related).values()) and not related.dangling:
        call.remark("Nothing is linked with it, and nothing is known to be similar.")


def _groups(related: Related) -> dict[str, tuple[Neighbour, ...]]:
    return {
        "Links to": related.linked,
        "Linked from": related.linking,
        "Same community": related.community,
        "Similar": related.similar,
    }


def _draw(related: Related, width: int | None) -> Iterator[Text]:
    yield from folded(line((related.document, "cyan"), "  ", (related.title, "bold")), width)
    for heading, neighbours in _groups(related).items():
        yield from _headed(heading, [_drawn(one) for one in neighbours], width)
    yield from _headed("Leads nowhere yet", [line(name) for name in related.dangling], width)


def _drawn(neighbour: Neighbour) -> Text:
    cosine = "" if neighbour.score is None else f"{neighbour.score:.2f}  "
    return line(cosine, (neighbour.id, "cyan"), "  ", neighbour.title)


def _headed(heading: str, lines: list[Text], width: int | None) -> Iterator[Text]:
    if lines:
        yield Text()
        yield line((heading, "bold"))
    for one in lines:
        yield from folded(one, width, _INDENT)
