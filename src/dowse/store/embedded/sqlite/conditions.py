"""Conditions as statements that list what they cover; values are bound, never written in."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from dowse.arrays import np
from dowse.ports import KeywordField
from dowse.store.embedded.sqlite.facets import field_facet
from dowse.store.embedded.sqlite.statements import Statements
from dowse.text.fold import fold
from dowse.text.values import matcher
from dowse.types import Condition, Keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

Statement = tuple[str, *tuple[object, ...]]
"""A statement, then the values bound to it."""

Phrase = Callable[[KeywordField, Sequence[str]], Keys]
"""Finds the chunks in which some terms follow each other."""

Met: TypeAlias = "NDArray[np.bool_]"
"""Whether a condition covers each chunk."""

_REMEMBERED = 16  # conditions; each takes a byte for every chunk
_EQUAL = {"category", "tag", "source"}
_BEGINS = {"under": "path"}
_DATED = {"after": ">=", "before": "<"}


class Owners:
    """The chunks of a generation and their documents, loaded when a condition is first asked for.

    It remembers what the last conditions covered.
    """

    def __init__(self) -> None:
        self._loaded: tuple[Keys, Keys] | None = None
        self._met: dict[Condition, Met] = {}  # the oldest first

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

    def met(self, condition: Condition, find: Callable[[], Met]) -> Met:
        """Which of the chunks a condition covers; `find` says it when it was not asked lately."""
        key = replace(condition, negated=False, written="")
        met = self._met.get(key)
        if met is None:
            met = find()
            # A page asks the same with every key that is pressed. What another thread removes in
            # the same moment is not needed.
            for oldest in list(self._met)[: len(self._met) + 1 - _REMEMBERED]:
                self._met.pop(oldest, None)
            self._met[key] = met
        return met


def matching(
    sql: Statements, phrase: Phrase, owners: Owners, conditions: Sequence[Condition]
) -> Keys:
    """The chunks of one generation for which every condition holds."""
    keys, documents = owners.get(
        lambda: sql.rows(tuple[int, int], "SELECT key, document FROM chunks")
    )
    kept = np.ones(len(keys), dtype=bool)
    for condition in conditions:
        find = partial(_find, sql, phrase, keys, documents, condition)
        kept &= owners.met(condition, find) != condition.negated
    return keys[kept]


def _find(
    sql: Statements, phrase: Phrase, keys: Keys, documents: Keys, condition: Condition
) -> Met:
    if condition.kind == "phrase":
        return np.isin(keys, phrase("body", condition.values))
    if condition.kind == "language":
        return np.isin(keys, sql.keys(*_chunks_with(condition)))
    if condition.kind == "field":
        return np.isin(documents, _documents_with_field(sql, condition))
    return np.isin(documents, sql.keys(*_documents_with(condition)))


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
