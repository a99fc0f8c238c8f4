"""Conditions as SQL over the table of chunks; values are bound, never written in."""

from __future__ import annotations

from collections.abc import Sequence

from dowse.store.fold import fold
from dowse.types import Condition

Clause = tuple[str, tuple[object, ...]]
"""An expression and the values bound to it."""

_EQUAL = {"category", "tag", "source"}
_BEGINS = {"under": "path"}
_DATED = "document IN (SELECT key FROM documents WHERE modified {} ?)"


def clause_of(conditions: Sequence[Condition]) -> Clause:
    """What holds for a chunk when all the conditions do; phrases are not for SQL to judge."""
    clauses = [_clause(condition) for condition in conditions]
    text = " AND ".join(text for text, _ in clauses) or "TRUE"
    return text, tuple(value for _, values in clauses for value in values)


def _clause(condition: Condition) -> Clause:
    text, values = _positive(condition)
    return (f"NOT ({text})" if condition.negated else text), values


def _positive(condition: Condition) -> Clause:
    if condition.kind == "after":
        return _DATED.format(">="), (condition.bound,)
    if condition.kind == "before":
        return _DATED.format("<"), (condition.bound,)
    values = tuple(fold(value) for value in condition.values)
    if not values:
        return "FALSE", ()
    if condition.kind == "language":
        blocks = f"SELECT chunk FROM code_blocks WHERE language IN ({_marks(values)})"
        return f"key IN ({blocks})", values
    return _on_facets(condition.kind, values)


def _on_facets(kind: str, values: tuple[str, ...]) -> Clause:
    if kind in _EQUAL:
        meets = f"value IN ({_marks(values)})"
    else:
        place = "= 1" if kind in _BEGINS else "> 0"
        wanted = ", ".join(["(?)"] * len(values))
        meets = f"EXISTS (SELECT 1 FROM (VALUES {wanted}) WHERE instr(value, column1) {place})"
    inner = f"SELECT document FROM facets WHERE kind = ? AND {meets}"
    return f"document IN ({inner})", (_BEGINS.get(kind, kind), *values)


def _marks(values: tuple[str, ...]) -> str:
    return ", ".join("?" * len(values))
