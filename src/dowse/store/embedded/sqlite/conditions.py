"""Conditions as statements that list what they cover; values are bound, never written in."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import chain

from dowse.arrays import np
from dowse.ports import KeywordField
from dowse.store.embedded.sqlite.facets import field_facet
from dowse.store.embedded.sqlite.statements import Statements
from dowse.text.fold import fold
from dowse.text.values import matcher
from dowse.types import Condition, Keys

Statement = tuple[str, *tuple[object, ...]]
"""A statement, then the values bound to it."""

Phrase = Callable[[KeywordField, Sequence[str]], Keys]
"""Finds the chunks in which some terms follow each other."""

_EQUAL = {"category", "tag", "source"}
_BEGINS = {"under": "path"}
_DATED = {"after": ">=", "before": "<"}


class Owners:
    """The chunks and their documents, loaded when a condition is first asked for."""

    def __init__(self) -> None:
        self._loaded: tuple[Keys, Keys] | None = None

    def get(self, load: Callable[[], Sequence[tuple[int, int]]]) -> tuple[Keys, Keys]:
        """The chunks, ascending, and the document of each; `load` gives pairs of both."""
        # Two threads may both load it; what they load is the same.
        if self._loaded is None:
            pairs = load()
            flat = np.fromiter(chain.from_iterable(pairs), np.int64, 2 * len(pairs))
            chunks, documents = flat[::2], flat[1::2]
            order = np.argsort(chunks)
            self._loaded = chunks[order], documents[order]
        return self._loaded


def matching(
    sql: Statements, phrase: Phrase, owners: Owners, conditions: Sequence[Condition]
) -> Keys:
    """The chunks of one generation for which every condition holds."""
    keys, documents = owners.get(
        lambda: sql.rows(tuple[int, int], "SELECT key, document FROM chunks")
    )
    kept = np.ones(len(keys), dtype=bool)
    for condition in conditions:
        if condition.kind == "phrase":
            met = np.isin(keys, phrase("body", condition.values))
        elif condition.kind == "language":
            met = np.isin(keys, sql.keys(*_chunks_with(condition)))
        elif condition.kind == "field":
            met = np.isin(documents, _documents_with_field(sql, condition))
        else:
            met = np.isin(documents, sql.keys(*_documents_with(condition)))
        kept &= met != condition.negated
    return keys[kept]


def _chunks_with(condition: Condition) -> Statement:
    """Lists the chunks that a condition on chunks covers: one on the language of code."""
    values = _folded(condition)
    return f"SELECT chunk FROM code_blocks WHERE language IN ({_marks(values)})", *values


def _documents_with(condition: Condition) -> Statement:
    """Lists the documents that a condition on documents covers."""
    if condition.kind in _DATED:
        sign = _DATED[condition.kind]
        return f"SELECT key FROM documents WHERE modified {sign} ?", condition.bound
    kind, values = _BEGINS.get(condition.kind, condition.kind), _folded(condition)
    if condition.kind in _EQUAL:
        meets = f"value IN ({_marks(values)})"
    else:
        place = "= 1" if condition.kind in _BEGINS else "> 0"
        meets = " OR ".join([f"instr(value, ?) {place}"] * len(values)) or "FALSE"
    bound = (kind, *values)
    return f"SELECT document FROM facets WHERE kind = ? AND ({meets})", *bound


def _documents_with_field(sql: Statements, condition: Condition) -> Keys:
    """The documents whose frontmatter has a field that meets a condition.

    Each value is compared once, however many documents have it.
    """
    kind, meets = field_facet(condition.name), matcher(condition.sign, _folded(condition))
    known = sql.rows(tuple[str], "SELECT DISTINCT value FROM facets WHERE kind = ?", kind)
    met = json.dumps([value for (value,) in known if meets(value)])
    return sql.keys(
        "SELECT DISTINCT document FROM facets WHERE kind = ?"
        " AND value IN (SELECT value FROM json_each(?))",
        kind,
        met,
    )


def _folded(condition: Condition) -> tuple[str, ...]:
    return tuple(fold(value) for value in condition.values)


def _marks(values: tuple[str, ...]) -> str:
    return ", ".join("?" * len(values))
