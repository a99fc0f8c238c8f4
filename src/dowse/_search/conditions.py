"""Which chunks meet conditions, also those that are made of others: any of some, all, in one line.

A store knows the plain ones. Here they are put together, so that no store has to know more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dowse._model import Condition, Fields
from dowse._model.ports import Analyzer, IndexReader
from dowse._util.arrays import np
from dowse._util.cancellation import raise_if_cancelled

if TYPE_CHECKING:
    from dowse._model import Keys

_MADE_OF_OTHERS = frozenset({"any", "all", "line"})
_AT_ONCE = 500  # chunks whose text is held while lines are looked through


def meeting(conditions: Sequence[Condition], reading: IndexReader, analyzer: Analyzer) -> Keys:
    """Find the chunks for which every condition holds."""
    plain = [one for one in conditions if one.kind not in _MADE_OF_OTHERS]
    keys = reading.matching(plain)
    for condition in conditions:
        if condition.kind in _MADE_OF_OTHERS:
            met = _meeting_parts(condition, reading, analyzer)
            combine = np.setdiff1d if condition.negated else np.intersect1d
            keys = combine(keys, met, assume_unique=True)
    return keys


def leaves(condition: Condition) -> Iterator[Condition]:
    """Return the plain conditions that a condition is made of."""
    if condition.kind in _MADE_OF_OTHERS:
        for part in condition.parts:
            yield from leaves(part)
    else:
        yield condition


def _meeting_parts(condition: Condition, reading: IndexReader, analyzer: Analyzer) -> Keys:
    """Find the chunks for which a condition holds, whether or not it is negated."""
    if condition.kind == "all":
        return meeting(condition.parts, reading, analyzer)
    if condition.kind == "any":
        found = [meeting([part], reading, analyzer) for part in condition.parts]
        return np.unique(np.concatenate(found)) if found else reading.matching([])[:0]
    possible = meeting(_without_negated(condition.parts), reading, analyzer)
    return np.array(
        sorted(_with_such_a_line(condition.parts, possible, reading, analyzer)), np.int64
    )


def _without_negated(parts: Iterable[Condition]) -> list[Condition]:
    """Choose what a chunk must meet so that a line of it can meet all parts."""
    return [
        replace(part, parts=tuple(_without_negated(part.parts))) if part.kind == "all" else part
        for part in parts
        if not part.negated and part.kind != "any"
    ]


def _with_such_a_line(
    parts: Sequence[Condition], keys: Keys, reading: IndexReader, analyzer: Analyzer
) -> Iterator[int]:
    for start in range(0, len(keys), _AT_ONCE):
        raise_if_cancelled()
        for stored in reading.catalogue.chunks(keys[start : start + _AT_ONCE].tolist()):
            for line in stored.text.splitlines():
                placed = set(analyzer.chunk_terms(Fields(), (), line)) if line.strip() else set()
                if placed and all(_holds(part, placed) for part in parts):
                    yield stored.key
                    break


def _holds(condition: Condition, placed: set[tuple[str, int]]) -> bool:
    """Tell whether a condition holds of a line with these terms at these places."""
    if condition.kind == "all":
        met = all(_holds(part, placed) for part in condition.parts)
    elif condition.kind == "any":
        met = any(_holds(part, placed) for part in condition.parts)
    else:
        phrase = condition.values
        starts = [place for term, place in placed if term == phrase[0]]
        met = any(
            all((term, start + step) in placed for step, term in enumerate(phrase))
            for start in starts
        )
    return met != condition.negated
