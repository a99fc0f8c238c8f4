"""What lists with counts look like: a part of the items, and how many there are in all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Struct

from dowse._interfaces.records.project import DocumentShape
from dowse._project.engine import Engine
from dowse._search.listing import Counted, FieldValues, ListedDocument, page_of


class DocumentListShape(Struct, frozen=True):
    """Documents in an order."""

    project: Annotated[str, "Name of the project."]
    items: Annotated[tuple[DocumentShape, ...], "In the order asked for."]
    total: Annotated[int, "How many there are; `items` may be a part of them."]

    @classmethod
    def of(
        cls, listed: Sequence[ListedDocument], engine: Engine, limit: int | None, offset: int = 0
    ) -> DocumentListShape:
        """The shape of a part of a list."""
        shown = tuple(DocumentShape.of(one, engine) for one in page_of(listed, limit, offset))
        return cls(engine.project.name, shown, len(listed))


class CountedListShape(Struct, frozen=True):
    """Values that documents have: tags, folders, or the values of another filter."""

    project: Annotated[str, "Name of the project."]
    items: Annotated[tuple[Counted, ...], "Most frequent first; folders by their path."]
    total: Annotated[int, "How many there are; `items` may be a part of them."]

    @classmethod
    def of(
        cls, counted: Sequence[Counted], engine: Engine, limit: int | None, offset: int = 0
    ) -> CountedListShape:
        """The shape of a part of a list."""
        shown = tuple(page_of(counted, limit, offset))
        return cls(engine.project.name, shown, len(counted))


class FieldShape(Struct, frozen=True):
    """A field of the frontmatter."""

    name: Annotated[str, "As most documents write it; `where` takes it."]
    documents: Annotated[int, "How many have the field."]
    different: Annotated[int, "How many different values it has."]
    values: Annotated[tuple[Counted, ...], "The most frequent values."]

    @classmethod
    def of(cls, field: FieldValues, most: int) -> FieldShape:
        """The shape of a field, with its most frequent values."""
        return cls(field.name, field.documents, len(field.values), field.values[:most])


class FieldListShape(Struct, frozen=True):
    """The fields of the frontmatter."""

    project: Annotated[str, "Name of the project."]
    items: Annotated[tuple[FieldShape, ...], "Most frequent first."]
    total: Annotated[int, "How many there are; `items` may be a part of them."]

    @classmethod
    def of(
        cls,
        fields: Sequence[FieldValues],
        engine: Engine,
        limit: int | None,
        offset: int = 0,
        *,
        values: int,
    ) -> FieldListShape:
        """The shape of a part of a list, with at most so many values of each field."""
        shown = tuple(FieldShape.of(one, values) for one in page_of(fields, limit, offset))
        return cls(engine.project.name, shown, len(fields))
