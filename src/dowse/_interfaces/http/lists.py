"""The routes that list what an index has, each with how many there are in all."""

from __future__ import annotations

from collections.abc import Sequence

from dowse._config.parameters import Arguments
from dowse._interfaces.records import CountedListRecord, DocumentListRecord, FieldListRecord
from dowse._project.engine import Engine
from dowse._search.listing import Filter
from dowse._text.fold import fold


def documents(engine: Engine, asked: Arguments) -> DocumentListRecord:
    """The documents in an order."""
    listed = engine.listed(asked["sort"], asked.get("since", ""), _paths(asked))
    return DocumentListRecord.of(listed, engine, asked["limit"], asked["offset"])


def tags(engine: Engine, asked: Arguments) -> CountedListRecord:
    """The tags."""
    return _values(engine, "tag", asked)


def folders(engine: Engine, asked: Arguments) -> CountedListRecord:
    """The folders."""
    return _values(engine, "path", asked)


def values(engine: Engine, asked: Arguments) -> CountedListRecord:
    """The values of one filter."""
    return _values(engine, asked["filter"], asked)


def fields(engine: Engine, asked: Arguments) -> FieldListRecord:
    """The fields of the frontmatter, or one of them."""
    found, name = engine.fields(_paths(asked)), asked.get("name")
    if name is not None:
        found = [one for one in found if fold(one.name) == fold(name)]
    return FieldListRecord.of(
        found, engine, asked["limit"], asked["offset"], values=asked["values"]
    )


def _values(engine: Engine, name: Filter, asked: Arguments) -> CountedListRecord:
    found = engine.values_of(name, _paths(asked))
    return CountedListRecord.of(found, engine, asked["limit"], asked["offset"])


def _paths(asked: Arguments) -> Sequence[str]:
    return tuple(asked.get("path", ()))
