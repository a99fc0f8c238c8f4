"""The query and the options of a call that searches, from the one table; what a shell completes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import click

from dowse._config.parameters import Parameter
from dowse._config.request import Call as Operation
from dowse._config.request import options_of, parse_request, settable
from dowse._interfaces.cli.call import Call
from dowse.errors import DowseError

if TYPE_CHECKING:
    from dowse._model import DocumentEntry
    from dowse._search.listing import Filter

_SHORT = {"n": "-n"}
_VALUES = {"integer": "N", "number": "NUMBER", "date": "DATE", "assignments": "NAME=VALUE"}
_NAMED_BY_CLICK = frozenset({"choice", "boolean"})


def takes_query(operation: Operation) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the query and all options of an operation, gathered as `request`."""
    parameters = list(_parameters(operation))
    names = [one.name for one in parameters if one.name]

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def gathered(*arguments: Any, **given: Any) -> Any:
            said = {name: given.pop(name) for name in names}
            texts = _as_texts(said)
            request = parse_request(operation, texts, written=True)
            click.get_current_context().find_root().obj.asked = texts
            return function(*arguments, request=request, **given)

        command: Any = gathered
        command.__click_params__ = [
            *getattr(function, "__click_params__", ()),
            *reversed(parameters),
        ]
        return gathered

    return decorate


def _parameters(operation: Operation) -> Iterator[click.Parameter]:
    # A filter can take the place of the query, so the request says when there is none.
    yield click.Argument(["query"], nargs=-1, required=False, metavar="QUERY...")
    rows = [one for one in options_of(operation) if one.name != "query"]
    yield from (_option(row, row.name, operation) for row in rows)
    yield from (
        _option(row, alias, operation, hidden=True) for row in rows for alias in row.aliases
    )


def _option(
    row: Parameter, name: str, operation: Operation, *, hidden: bool = False
) -> click.Option:
    spelled = "--" + name.replace("_", "-")
    if row.kind == "boolean":
        spelled += f"/--no-{name.replace('_', '-')}"
    return click.Option(
        [name, _SHORT.get(name, spelled)],
        type=_type(row),
        default=None,
        multiple=row.is_list,
        metavar=None if row.kind in _NAMED_BY_CLICK else _VALUES.get(row.kind, name.upper()),
        shell_complete=_assignments(operation) if row.kind == "assignments" else FILTERS.get(name),
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


def _assignments(operation: Operation) -> Callable[..., list[str]]:
    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
        return [f"{name}=" for name in settable(operation) if name.startswith(incomplete)]

    return complete


def _as_texts(said: dict[str, Any]) -> dict[str, list[str]]:
    """Write what the line says, each as a list of texts; leave out what it does not say."""
    given = {name: value for name, value in said.items() if value is not None and value != ()}
    texts = {
        name: list(value) if isinstance(value, tuple) else [_as_text(value)]
        for name, value in given.items()
    }
    return texts | ({"query": [" ".join(texts["query"])]} if "query" in texts else {})


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


Complete = Callable[[click.Context, click.Parameter, str], list[str]]
"""What begins as typed."""


def document_ids(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Complete ids of documents; none if there is no index to ask."""
    return _beginning((entry.id for entry in _documents(context)), incomplete)


def setting_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Complete names of settings."""
    from dowse._config.schema import known_settings  # noqa: PLC0415  --help does not need it

    return [name for name in known_settings() if name.startswith(incomplete)]


def setting_values(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Complete values of the setting that is named before, if there are only a few."""
    from dowse._config.schema import known_settings  # noqa: PLC0415  as above

    setting = known_settings().get(str(context.params.get("name", "")))
    kind: Any = setting.type if setting else None
    if kind is bool:
        return _beginning(("true", "false"), incomplete)
    values = get_args(kind) if get_origin(kind) is Literal else ()
    return [str(one) for one in values if one and str(one).startswith(incomplete)]


def _documents(context: click.Context) -> list[DocumentEntry]:
    try:
        with context.find_root().ensure_object(Call).open() as engine:
            return engine.documents()
    except DowseError:
        return []


def _values_of(name: Filter) -> Complete:
    """Complete with the values of a filter."""

    def values(entry: DocumentEntry) -> Iterable[str]:
        from dowse._search.listing import VALUES  # noqa: PLC0415  --help does not need it

        return VALUES[name](entry)

    return _values_in_documents(values)


def _values_in_documents(values_of: Callable[[DocumentEntry], Iterable[str]]) -> Complete:
    """Complete with what the documents of the index have."""

    def complete(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
        found = (value for entry in _documents(context) for value in values_of(entry) if value)
        return _beginning(sorted(set(found)), incomplete)

    return complete


def _beginning(values: Iterable[str], incomplete: str) -> list[str]:
    return [one for one in values if one.startswith(incomplete)]


def _paths(entry: DocumentEntry) -> Iterable[str]:
    from dowse._search.listing import folders_of  # noqa: PLC0415  as above

    yield from folders_of(entry)
    yield entry.id


def _fields(entry: DocumentEntry) -> Iterable[str]:
    for name, values in entry.fields.properties:
        yield from (f"{name}={value}" for value in values)


FILTERS: Mapping[str, Complete] = {
    "tag": _values_of("tag"),
    "tags": _values_of("tag"),
    "path": _values_in_documents(_paths),
    "category": _values_of("category"),
    "author": _values_of("author"),
    "where": _values_in_documents(_fields),
    "source": _values_of("source"),
}
"""By option of a search: what the documents of the index have."""
