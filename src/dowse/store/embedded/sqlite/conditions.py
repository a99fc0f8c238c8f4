"""Conditions as statements that list what they cover; values are bound, never written in."""

from __future__ import annotations

from dowse.store.fold import fold
from dowse.types import Condition

Statement = tuple[str, tuple[object, ...]]
"""A statement and the values bound to it."""

_EQUAL = {"category", "tag", "source"}
_BEGINS = {"under": "path"}
_DATED = {"after": ">=", "before": "<"}


def chunks_with(condition: Condition) -> Statement:
    """Lists the chunks that a condition on chunks covers: one on the language of code."""
    values = _folded(condition)
    return f"SELECT chunk FROM code_blocks WHERE language IN ({_marks(values)})", values


def documents_with(condition: Condition) -> Statement:
    """Lists the documents that a condition on documents covers."""
    if condition.kind in _DATED:
        sign = _DATED[condition.kind]
        return f"SELECT key FROM documents WHERE modified {sign} ?", (condition.bound,)
    kind, values = _BEGINS.get(condition.kind, condition.kind), _folded(condition)
    if condition.kind in _EQUAL:
        meets = f"value IN ({_marks(values)})"
    else:
        place = "= 1" if condition.kind in _BEGINS else "> 0"
        meets = " OR ".join([f"instr(value, ?) {place}"] * len(values)) or "FALSE"
    return f"SELECT document FROM facets WHERE kind = ? AND ({meets})", (kind, *values)


def _folded(condition: Condition) -> tuple[str, ...]:
    return tuple(fold(value) for value in condition.values)


def _marks(values: tuple[str, ...]) -> str:
    return ", ".join("?" * len(values))
