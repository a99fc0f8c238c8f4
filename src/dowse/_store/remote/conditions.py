"""Conditions on chunks: what the engine can filter by, and what is checked on the rows it returns.

Tokens say exactly whether a chunk has a tag or a term. Of a phrase, or of a part of a title, they
only say which chunks can have it; those are checked before anything is counted or cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence

from msgspec import Struct

from dowse._model import Condition, modified
from dowse._model.ports import Analyzer
from dowse._store.remote.documents import Entry, FoundChunk, ending_of
from dowse._store.remote.rows import AllOf, AnyOf, Between, HasAny, Not, Where
from dowse._store.remote.tokens import OVERFLOW, token, wanted_grams
from dowse._text.fold import fold
from dowse._text.values import matcher

_EXACT = {"category", "tag", "source", "language"}
_PARTS = {"author": "author", "title": "title", "path": "path", "file": "path", "under": "path"}
_CHECKED = {"field", "file", "under"}  # the filter only says which rows can meet them
_LONG = 8000  # characters from which on a chunk may have more tokens than fit
_GRAM = 3


class Compiled(Struct, frozen=True):
    """Conditions as a filter of the engine, and those that must be checked on its rows."""

    where: Where
    checked: tuple[Condition, ...]  # that the filter does not decide alone
    never: bool = False  # whether nothing can meet them


def compiled(conditions: Sequence[Condition], *, negates: bool) -> Compiled:
    """Conditions for an engine; `negates` says whether it can ask for absent tokens."""
    filters: list[Where] = []
    checked: list[Condition] = []
    for condition in conditions:
        where = _filter(condition)
        exact = _is_exact(condition)
        if isinstance(where, bool):
            if where == condition.negated:
                return Compiled(AllOf(), (), never=True)
            continue
        if not condition.negated:
            filters.append(where)
        elif isinstance(where, Between):
            filters.append(_outside(where))
        elif exact and negates:
            filters.append(Not(_without_overflow(where)))
        else:
            exact = False
        if not exact:
            checked.append(condition)
    return Compiled(AllOf(filters), tuple(checked))


def _filter(condition: Condition) -> Where | bool:
    """What a row must have for a condition to hold, negation aside; True or False for any row."""
    kind, values = condition.kind, condition.values
    if kind in {"after", "before"}:
        return _dated(condition)
    if kind == "phrase":
        found = [_has([token("body", term)]) for term in dict.fromkeys(values)]
        return AllOf(found) if found else True
    if kind == "field":
        return _has([token("field", fold(condition.name))])
    if not values:
        return False
    if kind in _EXACT:
        return _has([token(kind, fold(value)) for value in values])
    return _holding(_PARTS[kind], values)


def _holding(kind: str, values: Sequence[str]) -> Where | bool:
    choices: list[Where] = []
    for value in values:
        if fold(value):
            choices.append(AllOf([_has([gram]) for gram in wanted_grams(kind, value)]))
        elif kind == "author":
            choices.append(_has([token("authored", "")]))
        else:
            return True
    return choices[0] if len(choices) == 1 else AnyOf(choices)


def _dated(condition: Condition) -> Between | bool:
    bound = condition.bound
    if math.isinf(bound):
        return (bound < 0) == (condition.kind == "after")
    if condition.kind == "after":
        return Between("modified", least=bound)
    return Between("modified", below=bound)


def _outside(where: Between) -> Between:
    if where.least is not None:
        return Between(where.field, below=where.least)
    return Between(where.field, least=where.below)


def _has(tokens: Sequence[int]) -> HasAny:
    return HasAny([*tokens, OVERFLOW])


def _without_overflow(where: Where) -> Where:
    if isinstance(where, HasAny):
        return HasAny([one for one in where.tokens if one != OVERFLOW])
    if isinstance(where, AllOf):
        return AllOf([_without_overflow(one) for one in where.conditions])
    if isinstance(where, AnyOf):
        return AnyOf([_without_overflow(one) for one in where.conditions])
    return where


def _is_exact(condition: Condition) -> bool:
    if condition.kind == "phrase":
        return len(condition.values) <= 1
    if condition.kind in _EXACT or condition.kind in {"after", "before"}:
        return True
    return condition.kind not in _CHECKED and all(len(fold(v)) <= _GRAM for v in condition.values)


def may_be_incomplete(found: FoundChunk) -> bool:
    """Whether a chunk may have more tokens than its row holds."""
    return found.text is None or len(found.text) > _LONG


def holds(
    condition: Condition, entry: Entry, found: FoundChunk, text: str, analyzer: Analyzer
) -> bool:
    """Whether a condition holds of a chunk, by its document and its text."""
    return _is_met(condition, entry, found, text, analyzer) != condition.negated


def _is_met(
    condition: Condition, entry: Entry, found: FoundChunk, text: str, analyzer: Analyzer
) -> bool:
    if condition.kind == "phrase":
        placed = analyzer.chunk_terms(entry.fields, found.chunk.header_path, text)
        return _has_phrase(condition.values, placed)
    when = modified(entry.fields, entry.state.mtime_ns)
    if condition.kind == "after":
        return when >= condition.bound
    if condition.kind == "before":
        return when < condition.bound
    values = [fold(value) for value in condition.values]
    if condition.kind == "field":
        meets = matcher(condition.sign, values)
        return any(map(meets, _values_of(condition.name, entry)))
    compare = _COMPARE.get(condition.kind, str.__eq__)
    return any(
        compare(fold(one), value)
        for one in _values(condition.kind, entry, found)
        for value in values
    )


def _values(kind: str, entry: Entry, found: FoundChunk) -> Collection[str]:
    fields = entry.fields
    known: dict[str, Collection[str]] = {
        "category": (fields.category,),
        "author": fields.author,
        "tag": fields.tags,
        "title": (fields.title,),
        "path": (entry.id,),
        "file": (entry.id.rpartition("/")[2],),
        "under": (entry.id,),
        "source": (ending_of(entry.id),),
        "language": found.languages,
    }
    return known[kind]


def _values_of(name: str, entry: Entry) -> Iterator[str]:
    """The values of a frontmatter field, folded; an empty one has an empty text."""
    for one, values in entry.fields.properties:
        if fold(one) == fold(name):
            yield from map(fold, values or ("",))


_COMPARE: dict[str, Callable[[str, str], bool]] = {
    "author": lambda found, value: value in found,
    "title": lambda found, value: value in found,
    "path": lambda found, value: value in found,
    "file": lambda found, value: value in found,
    "under": lambda found, value: found.startswith(value),
    "tag": lambda found, value: found == value or found.startswith(value + "/"),
}


def _has_phrase(terms: Sequence[str], placed: Sequence[tuple[str, int]]) -> bool:
    places = set(placed)
    starts = {position for _, position in placed} | {0}
    return any(
        all((term, start + step) in places for step, term in enumerate(terms)) for start in starts
    )
