"""The query and the options of a call that searches, from the one table; what a shell completes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial, wraps
from typing import Any

import click

from dowse._config.parameters import Parameter
from dowse._config.request import Call as Operation
from dowse._config.request import options_of, parse_request
from dowse._interfaces.cli.call import Call
from dowse._model import DocumentEntry
from dowse._search.listing import VALUES, folders_of
from dowse.errors import DowseError

_SHORT = {"n": "-n"}
_VALUES = {"integer": "N", "number": "NUMBER", "date": "DATE", "assignments": "NAME=VALUE"}
_NAMED_BY_CLICK = frozenset({"choice", "boolean"})


def takes_query(operation: Operation) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the query and all options of an operation, gathered as `request`."""
    rows = [one for one in options_of(operation) if one.name != "query"]
    # A filter can take the place of the query, so the request says when there is none.
    parameters = {
        "query": click.Argument(["query"], nargs=-1, required=False, metavar="QUERY..."),
        **{row.name: _option(row, row.name, operation) for row in rows},
        **{
            alias: _option(row, alias, operation, hidden=True)
            for row in rows
            for alias in row.aliases
        },
    }

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def gathered(*arguments: Any, **given: Any) -> Any:
            texts: dict[str, list[str]] = {}
            for name in parameters:
                said = given.pop(name)
                values = said if isinstance(said, tuple) else () if said is None else (said,)
                if values:
                    texts[name] = list(map(_as_text, values))
            if "query" in texts:
                texts["query"] = [" ".join(texts["query"])]
            request = parse_request(operation, texts, written=True)
            click.get_current_context().find_root().obj.asked = texts
            return function(*arguments, request=request, **given)

        command: Any = gathered
        own = getattr(function, "__click_params__", ())
        command.__click_params__ = [*own, *reversed(parameters.values())]
        return gathered

    return decorate


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _option(
    row: Parameter, name: str, operation: Operation, *, hidden: bool = False
) -> click.Option:
    spelled, complete = "--" + name.replace("_", "-"), FILTERS.get(name)
    kind: Any = str
    if row.kind == "boolean":
        spelled += f"/--no-{name.replace('_', '-')}"
        kind = bool
    if row.kind == "choice":
        kind = _Choice(row.choices)
    if row.kind == "assignments":
        complete = partial(setting_names, operation=operation, end="=")
    return click.Option(
        [name, _SHORT.get(name, spelled)],
        type=kind,
        default=None,
        multiple=row.is_list,
        metavar=None if row.kind in _NAMED_BY_CLICK else _VALUES.get(row.kind, name.upper()),
        shell_complete=complete,
        help=f"{row.meaning} Can be repeated." if row.is_list else row.meaning,
        hidden=hidden,
    )


class _Choice(click.Choice[str]):
    """Choices that are listed and completed; the request refuses the others, as at every door."""

    def convert(self, value: Any, *_: object) -> Any:
        return value


# ── What a shell completes ───────────────────────────────────────────────────

Complete = Callable[[click.Context, click.Parameter, str], list[str]]
"""What begins as typed."""


def setting_names(
    _: click.Context,
    __: click.Parameter,
    incomplete: str,
    operation: Operation | None = None,
    end: str = "",
) -> list[str]:
    """Complete names of settings, or of those that an operation may change, each with an end."""
    from dowse._config.schema import known_settings, settable  # noqa: PLC0415  --help does not need it

    names = settable(operation) if operation else known_settings()
    return [f"{name}{end}" for name in names if name.startswith(incomplete)]


def _in_documents(
    values_of: Callable[[DocumentEntry], Iterable[str]],
    context: click.Context,
    _: click.Parameter,
    incomplete: str,
) -> list[str]:
    """Complete with what the documents of the index have; with nothing where there is no index."""
    try:
        with context.find_root().ensure_object(Call).open() as engine:
            documents = engine.documents()
    except DowseError:
        return []
    found = {value for entry in documents for value in values_of(entry) if value}
    return sorted(one for one in found if one.startswith(incomplete))


def _id(entry: DocumentEntry) -> Iterable[str]:
    return [entry.id]


def _paths(entry: DocumentEntry) -> Iterable[str]:
    return [*folders_of(entry), entry.id]


def _fields(entry: DocumentEntry) -> Iterable[str]:
    for name, values in entry.fields.properties:
        yield from (f"{name}={value}" for value in values)


document_ids = partial(_in_documents, _id)
FILTERS: Mapping[str, Complete] = {
    **{name: partial(_in_documents, values) for name, values in VALUES.items()},
    "tags": partial(_in_documents, VALUES["tag"]),
    "path": partial(_in_documents, _paths),
    "where": partial(_in_documents, _fields),
}
"""By option of a search: what the documents of the index have."""
