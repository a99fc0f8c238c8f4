"""What a shell may complete an argument with; nothing where there is nobody to ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import click

from dowse.errors import DowseError
from dowse.front.cli.call import Call

if TYPE_CHECKING:
    from dowse.types import DocumentEntry

Complete = Callable[[click.Context, click.Parameter, str], list[str]]
"""What begins as typed."""


def document_ids(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Ids of documents; none when there is no index to ask."""
    return _beginning((entry.id for entry in _documents(context)), incomplete)


def setting_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Names of all settings."""
    from dowse.settings.schema import known_settings  # noqa: PLC0415  --help does not need it

    return [name for name in known_settings() if name.startswith(incomplete)]


def setting_values(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Values of the setting that is named before, where there are only a few."""
    from dowse.settings.schema import known_settings  # noqa: PLC0415  as above

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


def _of_documents(values_of: Callable[[DocumentEntry], Iterable[str]]) -> Complete:
    """Completes with what the documents of the index have."""

    def complete(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
        found = (value for entry in _documents(context) for value in values_of(entry) if value)
        return _beginning(sorted(set(found)), incomplete)

    return complete


def _beginning(values: Iterable[str], incomplete: str) -> list[str]:
    return [one for one in values if one.startswith(incomplete)]


def _tags(entry: DocumentEntry) -> Iterable[str]:
    """Each tag, and what it is below."""
    for tag in entry.fields.tags:
        yield tag
        yield from (tag[:place] for place, sign in enumerate(tag) if sign == "/")


def _folders(entry: DocumentEntry) -> Iterable[str]:
    yield from (entry.id[: place + 1] for place, sign in enumerate(entry.id) if sign == "/")
    yield entry.id


def _fields(entry: DocumentEntry) -> Iterable[str]:
    for name, values in entry.fields.properties:
        yield from (f"{name}={value}" for value in values)


FILTERS: Mapping[str, Complete] = {
    "tag": _of_documents(_tags),
    "tags": _of_documents(_tags),
    "path": _of_documents(_folders),
    "category": _of_documents(lambda entry: (entry.fields.category,)),
    "author": _of_documents(lambda entry: entry.fields.author),
    "where": _of_documents(_fields),
    "source": _of_documents(lambda entry: (entry.id.rpartition(".")[2],)),
}
"""By option of a search: what the documents of the index have."""
