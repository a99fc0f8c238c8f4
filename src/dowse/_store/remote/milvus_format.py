"""Rows and conditions as Milvus and its client write them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dowse._store.remote.rows import AllOf, Between, HasAny, In, Not, Row, Where

_PAYLOAD = 4_000_000  # bytes of one answer: many servers refuse more


class _Whole(str):
    """A text that the client does not look at letter by letter.

    For each row it checks every letter of a text as if the text were a list of texts, which takes
    longer than all else. The server checks the length.
    """

    __slots__ = ()

    def __iter__(self) -> Iterator[str]:
        return iter(())


def plain_row(row: Row) -> Row:
    """A row as the client takes it."""
    return {name: plain_value(value) for name, value in row.items()}


def plain_value(value: Any) -> Any:
    """A value as the client takes it."""
    if isinstance(value, str):
        return _Whole(value)
    return value.tolist() if isinstance(value, np.ndarray) else value


def payloads(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Rows in calls that no server refuses for their size."""
    some: list[Row] = []
    size = 0
    for row in rows:
        own = len(row.get("data", "")) + 9 * len(row.get("tokens", ())) + 2000
        own += 4 * len(row.get("dense", ())) + 8 * len(row.get("body", ()))
        if some and size + own > _PAYLOAD:
            yield some
            some, size = [], 0
        some.append(row)
        size += own
    if some:
        yield some


def expression(where: Where) -> str:
    """A condition as Milvus writes it; nothing for every row."""
    if isinstance(where, In):
        return f"{where.field} in {json.dumps(list(where.values), ensure_ascii=False)}"
    if isinstance(where, Between):
        least = [] if where.least is None else [f"{where.field} >= {where.least!r}"]
        below = [] if where.below is None else [f"{where.field} < {where.below!r}"]
        return " and ".join([*least, *below])
    if isinstance(where, HasAny):
        if len(where.tokens) == 1:
            return f"array_contains(tokens, {where.tokens[0]})"
        return f"array_contains_any(tokens, {list(where.tokens)})"
    if isinstance(where, Not):
        return f"not ({expression(where.condition)})"
    word = " and " if isinstance(where, AllOf) else " or "
    parts = [part for one in where.conditions if (part := expression(one))]
    return word.join(f"({part})" for part in parts) if len(parts) > 1 else "".join(parts)
