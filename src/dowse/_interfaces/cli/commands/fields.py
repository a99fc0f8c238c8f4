"""`dowse fields`: the fields of the frontmatter, with their values and counts."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.text import Text

from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.counted import counted_rows, say_rest, takes_limit, takes_path
from dowse._interfaces.cli.draw.text import Part, number, table
from dowse._interfaces.records import FieldListRecord, FieldRecord
from dowse._search.listing import FieldValues
from dowse._text.fold import fold
from dowse.errors import NotFound

_MOST = 20  # values of each field, where all fields are listed
_SHOWN = 3  # values of each field on a line
_ALL = 1_000_000

_EXAMPLES = """\
\b
Examples:
  dowse fields                   all fields, with their most frequent values
  dowse fields status            all values of one field
  dowse search --where status=draft
"""


@click.command(cls=Command, shape=FieldListRecord, epilog=_EXAMPLES)
@click.argument("name", required=False)
@takes_path
@takes_limit()
@pass_call
def command(call: Call, name: str | None, path: tuple[str, ...], limit: int | None) -> None:
    """List the fields of the frontmatter, with how many documents have each.

    With NAME, list all values of this field.
    """
    with call.open() as engine:
        fields = engine.fields(path)
        if name is not None:
            fields = [_named(fields, name)]
        most = (limit or _ALL) if name else _MOST
        shape = FieldListRecord.of(fields, engine, None if name else limit, values=most)
    call.answer(shape, lambda width: _draw(shape.items, name, width))
    if not shape.items:
        call.remark("No document has frontmatter.")
    elif name:
        say_rest(call, len(shape.items[0].values), shape.items[0].different)
    else:
        say_rest(call, len(shape.items), shape.total)


def _named(fields: Sequence[FieldValues], name: str) -> FieldValues:
    for one in fields:
        if fold(one.name) == fold(name):
            return one
    raise NotFound(f"No document has the field {name!r}.", "List all of them with: dowse fields")


def _draw(items: Sequence[FieldRecord], name: str | None, width: int | None) -> list[Text]:
    if name:
        return table(counted_rows(items[0].values), width, right=(0,))
    rows: list[tuple[Part, ...]] = [
        (number(one.documents), (one.name, "bold"), _values(one)) for one in items
    ]
    return table(rows, width, right=(0,))


def _values(field: FieldRecord) -> str:
    shown = ", ".join(f"{one.name} ({number(one.documents)})" for one in field.values[:_SHOWN])
    rest = field.different - _SHOWN
    return f"{shown} and {number(rest)} more" if rest > 0 else shown
