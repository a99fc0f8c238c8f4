"""What the commands that list values with counts share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from dowse._interfaces.cli.call import Call
from dowse._interfaces.cli.complete import FILTERS
from dowse._interfaces.cli.draw.text import number, table
from dowse._interfaces.records import CountedListRecord
from dowse._search.listing import Counted, Filter

_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])


def takes_limit(default: int | None = None) -> Callable[[_Decorated], _Decorated]:
    """Gives a command the option that limits its list."""
    return click.option(
        "-n",
        "--limit",
        type=click.IntRange(min=1),
        default=default,
        show_default=default is not None,
        metavar="N",
        help="How many at most." if default else "How many at most; by default all.",
    )


def takes_path(function: _Decorated) -> _Decorated:
    """Gives a command the option that counts only a part of the documents."""
    option = click.option(
        "--path",
        multiple=True,
        metavar="PATH",
        help="Only documents whose path begins so. Can be repeated.",
        shell_complete=FILTERS["path"],
    )
    return option(function)


def list_values_of(
    call: Call, name: Filter, path: tuple[str, ...], limit: int | None, *, nothing: str
) -> None:
    """Lists the values of a filter; `nothing` is said where there are none."""
    with call.open() as engine:
        shape = CountedListRecord.of(engine.values_of(name, path), engine, limit)
    call.answer(shape, lambda width: table(counted_rows(shape.items), width, right=(0,)))
    if not shape.items:
        call.remark(nothing)
    say_rest(call, len(shape.items), shape.total)


def counted_rows(items: Iterable[Counted]) -> list[tuple[str, str]]:
    """The rows of values: how many documents, and the value."""
    return [(number(one.documents), one.name) for one in items]


def say_rest(call: Call, shown: int, total: int) -> None:
    """Says that there are more than are shown."""
    if 0 < shown < total and not call.json:
        call.remark(f"{number(shown)} of {number(total)} are shown.")
