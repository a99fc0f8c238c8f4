"""What a remote store needs of an engine: rows with scalars, tokens and vectors, and filters.

An engine promises for one call: each row of it is written as a whole, and once the call has
returned, the writer reads its own rows. It promises nothing over two rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct, field

from dowse._model import Vector

Row = dict[str, Any]
"""The fields of a row by name; `key` names it."""

Key = str | int
"""The name of a row: a text in a collection of records, a number in one of chunks."""

Sparse = Mapping[int, float]
"""A sparse vector: weights by dimension."""

FieldKind = Literal["text", "number", "time", "tokens", "dense", "sparse"]

TOKENS = 4096
"""The most tokens that a row may have: what Milvus takes in one array."""

TEXT = 60_000
"""The most bytes of a text in a row: Milvus takes 65,535."""

MOST_HITS = 16_384
"""The most rows that one search returns: Milvus takes no higher limit."""


class RowCollection(Struct, frozen=True):
    """A collection of rows that all have the same fields."""

    name: str
    fields: Mapping[str, FieldKind]
    dimensions: int = 0  # of the dense vectors; 0 when the collection has none

    def of_kind(self, *kinds: FieldKind) -> list[str]:
        """The fields of some kinds."""
        return [name for name, kind in self.fields.items() if kind in kinds]


class In(Struct, frozen=True):
    """A text or number is one of these values."""

    field: str
    values: Sequence[Key]


class Between(Struct, frozen=True):
    """A number or time is at or above `least` and below `below`; None sets no bound."""

    field: str
    least: float | None = None
    below: float | None = None


class HasAny(Struct, frozen=True):
    """The tokens of a row hold at least one of these."""

    tokens: Sequence[int]


class Not(Struct, frozen=True):
    """A condition does not hold."""

    condition: Where


class AllOf(Struct, frozen=True):
    """Every condition holds; no conditions hold for every row."""

    conditions: Sequence[Where] = field(default=())


class AnyOf(Struct, frozen=True):
    """At least one condition holds."""

    conditions: Sequence[Where]


Where = In | Between | HasAny | Not | AllOf | AnyOf
"""Which rows are meant."""

EVERY = AllOf()
"""All rows."""


class Rows(Protocol):
    """The rows of an engine; safe from several threads.

    Every method raises `EngineFailed` when the engine refuses or does not answer in time.
    """

    @property
    def place(self) -> str:
        """The address of the engine, without secrets, for people."""
        ...

    @property
    def negates_tokens(self) -> bool:
        """Whether `Not(HasAny(...))` can be asked."""
        ...

    def exists(self, name: str) -> bool:
        """Whether there is a collection of this name."""
        ...

    def make(self, collection: RowCollection) -> None:
        """Makes a collection unless there is one of its name."""
        ...

    def drop(self, name: str) -> None:
        """Removes a collection with its rows, if there is one."""
        ...

    def names(self, prefix: str) -> list[str]:
        """The collections whose names begin so."""
        ...

    def put(self, collection: RowCollection, rows: Sequence[Row]) -> None:
        """Writes rows; one whose key is known is replaced."""
        ...

    def remove(self, collection: RowCollection, keys: Sequence[Key]) -> None:
        """Removes the rows of these keys, as far as there are any."""
        ...

    def remove_where(self, collection: RowCollection, where: Where) -> None:
        """Removes rows by a condition."""
        ...

    def get(
        self, collection: RowCollection, keys: Sequence[Key], fields: Sequence[str]
    ) -> dict[Key, Row]:
        """The rows of these keys, with some fields, as far as there are any."""
        ...

    def scan(self, collection: RowCollection, where: Where, fields: Sequence[str]) -> Iterator[Row]:
        """All rows that a condition covers, in any order, fetched in pages."""
        ...

    def count(self, collection: RowCollection, where: Where) -> int:
        """How many rows a condition covers."""
        ...

    def nearest(
        self,
        collection: RowCollection,
        field: str,
        query: Vector | Sparse,
        limit: int,
        *,
        where: Where,
        fields: Sequence[str],
    ) -> list[tuple[Row, float]]:
        """The rows with the highest inner product, best first, with some fields.

        The condition is applied before the limit. At most `MOST_HITS` rows are returned.
        """
        ...

    def close(self) -> None:
        """Closes the connection; a later call opens it again."""
        ...
