"""A search as a caller asks for it, what must hold of its results, and which chunks meet that."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from dowse._model import Condition, ConditionKind, Fields
from dowse._model.ports import Analyzer, IndexReader
from dowse._text.dates import EXAMPLES, day_of, moment_of
from dowse._text.matching import Sign
from dowse._util.arrays import np
from dowse._util.process import raise_if_cancelled
from dowse.errors import UsageError

if TYPE_CHECKING:
    from dowse._model import Keys


# ── Which chunks meet conditions ────────────────────────────────────────────────


_MADE_OF_OTHERS = frozenset({"any", "all", "line"})
_AT_ONCE = 500  # chunks whose text is held while lines are looked through


def meeting(conditions: Sequence[Condition], reading: IndexReader, analyzer: Analyzer) -> Keys:
    """Find the chunks for which every condition holds."""
    keys = reading.matching([one for one in conditions if one.kind not in _MADE_OF_OTHERS])
    for condition in conditions:
        if condition.kind == "all":
            met = meeting(condition.parts, reading, analyzer)
        elif condition.kind == "any":
            found = [meeting([part], reading, analyzer) for part in condition.parts]
            met = np.unique(np.concatenate(found)) if found else keys[:0]
        elif condition.kind == "line":
            possible = meeting(_without_negated(condition.parts), reading, analyzer)
            having = _with_such_a_line(condition.parts, possible, reading, analyzer)
            met = np.array(sorted(having), np.int64)
        else:
            continue
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


# ── What a caller can demand of every result in addition to the query ─────


class Filters(Struct, frozen=True):
    """What must hold of every result; what is empty demands nothing."""

    category: tuple[str, ...] = ()  # one of these
    author: tuple[str, ...] = ()  # one of these is part of an author's name
    tag: tuple[str, ...] = ()  # all of these, or tags below them
    path: tuple[str, ...] = ()  # the document's id begins with one of these
    source: tuple[str, ...] = ()  # one of these endings of the file's name: md, pdf
    language: tuple[str, ...] = ()  # the chunk holds code in one of these
    after: str = ""  # a date: modified then or later
    before: str = ""  # a date: modified before it
    where: tuple[str, ...] = ()  # all of these hold of the frontmatter: status=draft, rating>3

    def conditions(self, now: float | None = None) -> tuple[Condition, ...]:
        """Return the same as conditions of a store; dates such as `7d` are counted from `now`.

        Raise `UsageError` for what is no date, for dates between which nothing can be, and for a
        `where` that names no field.
        """
        now = time.time() if now is None else now
        any_of: tuple[tuple[str, ConditionKind, tuple[str, ...]], ...] = (
            ("category", "category", self.category),
            ("author", "author", self.author),
            ("path", "under", tuple(one.removeprefix("./") for one in self.path)),
            ("source", "source", tuple(one.removeprefix(".") for one in self.source)),
            ("language", "language", self.language),
            *(("tag", "tag", (tag.removeprefix("#"),)) for tag in self.tag),
        )
        found = [
            Condition(kind, values, written=" ".join(f"--{name} {value}" for value in values))
            for name, kind, values in any_of
            if values
        ]
        found += [where_condition(text, now) for text in self.where]
        dates: tuple[ConditionKind, ...] = ("after", "before")
        said = {kind: getattr(self, kind) for kind in dates if getattr(self, kind)}
        bounds = {kind: moment_said(date, now) for kind, date in said.items()}
        if len(bounds) == 2 and bounds["after"] >= bounds["before"]:
            raise UsageError(
                f"Nothing was changed after {self.after} and before {self.before}.",
                "Swap the dates, or leave one out.",
            )
        found += [
            Condition(kind, bound=bound, written=f"--{kind} {said[kind]}")
            for kind, bound in bounds.items()
        ]
        return tuple(found)


def moment_said(text: str, now: float) -> float:
    """Read the first moment of a date such as 2024-06 or 7d; raise `UsageError` when it is none."""
    moment = moment_of(text, now)
    if moment is None:
        raise UsageError(f"{text!r} is not a date.", f"Write it as {EXAMPLES}.")
    return moment


NO_FILTERS = Filters()
"""Filters that let everything pass."""


class SearchRequest(Struct, frozen=True):
    """What is searched for, and how. Interfaces build it with `dowse._config.request`."""

    query: str
    filters: Filters = NO_FILTERS  # what must hold of every result
    changes: Mapping[str, Any] = field(default_factory=dict)  # settings for this call, by full name
    max_tokens: int | None = None  # of the texts that are returned; None: the interface's own limit
    offset: int = 0  # how many of the first results are skipped


# ── Conditions on fields of the frontmatter, as a query or an option writes them ─────────────────

_TAGS = frozenset({"tag", "tags"})
_EMPTY = frozenset({"null", "none", "empty"})
_OR = re.compile(r"\s+OR\s+|\s*\|\s*")
_COMPARED = re.compile(r"(?P<sign>[<>]=?|=)\s*(?P<value>.+)", re.DOTALL)
_WHERE = re.compile(
    r"\s*(?P<not>[-!]?)(?P<name>[^<>=!:\x00]{1,100}?)\s*"
    r"(?:(?P<sign><=|>=|!=|<|>|=|:)\s*(?P<value>.*?))?\s*",
    re.DOTALL,
)
_AROUND = "\"'“”„«»"
_HOW = "Write it as status=draft, status!=draft, rating>3, due<2026-01-01, or only the name."


def property_condition(
    name: str, value: str, now: float, *, negated: bool = False, written: str = ""
) -> Condition:
    """Make the condition of `name:value`; the value may be empty, compared (`>3`) or `a OR b`."""
    inner = value.strip()
    if inner.startswith("(") and inner.endswith(")"):
        inner = inner[1:-1].strip()
    plain = Condition("field", negated=negated, written=written, name=name)
    if not inner:
        return replace(plain, sign="has")
    if inner.casefold() in _EMPTY:
        return replace(plain, sign="empty")
    ways = [_bare(one) for one in _OR.split(inner)]
    compared = _COMPARED.fullmatch(inner) if len(ways) == 1 else None
    if compared and compared["sign"] != "=":
        sign: Sign = compared["sign"]  # type: ignore[assignment]  # the expression takes no other
        value = _bare(compared["value"])
        return replace(plain, values=(day_of(value, now) or value,), sign=sign)
    values = (_bare(compared["value"]),) if compared else tuple(filter(None, ways))
    if name.casefold() in _TAGS:
        return replace(
            plain, kind="tag", values=tuple(one.lstrip("#").strip("/") for one in values), name=""
        )
    # A field may hold the word itself as well as the day that it stands for.
    days = tuple(day for value in values if value.isalpha() and (day := day_of(value, now)))
    return replace(plain, values=(*values, *days))


def where_condition(text: str, now: float) -> Condition:
    """Make the condition that `--where` sets; raise `UsageError` when it sets none."""
    found = _WHERE.fullmatch(text)
    name = found["name"].strip().strip("[]").strip(_AROUND).strip() if found else ""
    if found is None or not name:
        raise UsageError(f"{text!r} names no field.", _HOW)
    sign, value = found["sign"] or "", (found["value"] or "").strip().rstrip("]")
    if sign and not value:
        raise UsageError(f"{text!r} names no value.", _HOW)
    negated = bool(found["not"]) != (sign == "!=")
    if sign in {"<", "<=", ">", ">="}:
        value = sign + value
    return property_condition(name, value, now, negated=negated, written=f"--where {text}")


def _bare(value: str) -> str:
    return value.strip().strip(_AROUND).strip()
