"""What a shell may complete an argument with; nothing where there is nobody to ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import click

from dowse._interfaces.cli.call import Call
from dowse.errors import DowseError

if TYPE_CHECKING:
    from dowse._model import DocumentEntry
    from dowse._search.listing import Filter

Complete = Callable[[click.Context, click.Parameter, str], list[str]]
"""What begins as typed."""


def document_ids(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Ids of documents; none when there is no index to ask."""
    return _beginning((entry.id for entry in _documents(context)), incomplete)


def setting_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Names of all settings."""
    from dowse._config.schema import known_settings  # noqa: PLC0415  --help does not need it

    return [name for name in known_settings() if name.startswith(incomplete)]


def setting_values(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Values of the setting that is named before, where there are only a few."""
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
    """Completes with the values of a filter."""

    def values(entry: DocumentEntry) -> Iterable[str]:
        from dowse._search.listing import VALUES  # noqa: PLC0415  --help does not need it

        return VALUES[name](entry)

    return _of_documents(values)


def _of_documents(values_of: Callable[[DocumentEntry], Iterable[str]]) -> Complete:
    """Completes with what the documents of the index have."""

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
    "path": _of_documents(_paths),
    "category": _values_of("category"),
    "author": _values_of("author"),
    "where": _of_documents(_fields),
    "source": _values_of("source"),
}
"""By option of a search: what the documents of the index have."""
