"""The query and the options of a call that searches, on the command line: from the one table."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import click

from dowse._config.parameters import Parameter
from dowse._config.request import Call, options_of, parse_request, settable
from dowse._interfaces.cli.complete import FILTERS

_SHORT = {"n": "-n"}
_VALUES = {"integer": "N", "number": "NUMBER", "date": "DATE", "assignments": "NAME=VALUE"}
_NAMED_BY_CLICK = frozenset({"choice", "boolean"})


def takes_query(call: Call) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a command the query and all options of a call, gathered as `request`."""
    parameters = list(_parameters(call))
    names = [one.name for one in parameters if one.name]

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def gathered(*arguments: Any, **given: Any) -> Any:
            said = {name: given.pop(name) for name in names}
            texts = _as_texts(said)
            request = parse_request(call, texts, written=True)
            click.get_current_context().find_root().obj.asked = texts
            return function(*arguments, request=request, **given)

        command: Any = gathered
        command.__click_params__ = [
            *getattr(function, "__click_params__", ()),
            *reversed(parameters),
        ]
        return gathered

    return decorate


def _parameters(call: Call) -> Iterator[click.Parameter]:
    # A filter can take the place of the query, so the request says when there is none.
    yield click.Argument(["query"], nargs=-1, required=False, metavar="QUERY...")
    rows = [one for one in options_of(call) if one.name != "query"]
    yield from (_option(row, row.name, call) for row in rows)
    yield from (_option(row, alias, call, hidden=True) for row in rows for alias in row.aliases)


def _option(row: Parameter, name: str, call: Call, *, hidden: bool = False) -> click.Option:
    spelled = "--" + name.replace("_", "-")
    if row.kind == "boolean":
        spelled += f"/--no-{name.replace('_', '-')}"
    return click.Option(
        [name, _SHORT.get(name, spelled)],
        type=_type(row),
        default=None,
        multiple=row.is_list,
        metavar=None if row.kind in _NAMED_BY_CLICK else _VALUES.get(row.kind, name.upper()),
        shell_complete=_assignments(call) if row.kind == "assignments" else FILTERS.get(name),
        help=f"{row.meaning} Can be repeated." if row.is_list else row.meaning,
        hidden=hidden,
    )


def _type(row: Parameter) -> Any:
    if row.kind == "boolean":
        return bool
    return _Choice(row.choices) if row.kind == "choice" else str


class _Choice(click.Choice[str]):
    """Choices that are listed and completed; the request refuses the others, as at every door."""

    def convert(self, value: Any, *_: object) -> Any:
        return value


def _assignments(call: Call) -> Callable[..., list[str]]:
    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
        return [f"{name}=" for name in settable(call) if name.startswith(incomplete)]

    return complete


def _as_texts(said: dict[str, Any]) -> dict[str, list[str]]:
    """What the line says, each as a list of texts; what it does not say is left out."""
    given = {name: value for name, value in said.items() if value is not None and value != ()}
    texts = {
        name: list(value) if isinstance(value, tuple) else [_as_text(value)]
        for name, value in given.items()
    }
    return texts | ({"query": [" ".join(texts["query"])]} if "query" in texts else {})


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
