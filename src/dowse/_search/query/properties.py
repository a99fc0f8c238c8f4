"""Conditions on fields of the frontmatter, as a query or an option writes them."""

from __future__ import annotations

import re

from msgspec.structs import replace

from dowse._model import Condition
from dowse._text.dates import day_of
from dowse._text.values import Sign
from dowse.errors import UsageError

_TAGS = frozenset({"tag", "tags"})
_EMPTY = frozenset({"null", "none", "empty"})
_OR = re.compile(r"\s+OR\s+|\s*\|\s*")
_COMPARED = re.compile(r"(?P<sign>[<>]=?|=)\s*(?P<value>.+)", re.DOTALL)
_WHERE = re.compile(
    r"\s*(?P<not>[-!]?)(?P<name>[^<>=!:\x00]{1,100}?)\s*"
    r"(?:(?P<sign><=|>=|!=|<|>|=|:)\s*(?P<value>.*?))?\s*",
    re.DOTALL,
)
_QUOTES = "\"'“”„«»"
_HOW = "Write it as status=draft, status!=draft, rating>3, due<2026-01-01, or only the name."


def property_condition(
    name: str, value: str, now: float, *, negated: bool = False, written: str = ""
) -> Condition:
    """The condition that `name:value` sets: `value` may be empty, compared (`>3`) or `a OR b`."""
    inner = value.strip()
    if inner.startswith("(") and inner.endswith(")"):
        inner = inner[1:-1].strip()
    plain = Condition("field", negated=negated, written=written, name=name)
    if not inner:
        return replace(plain, sign="has")
    if inner.casefold() in _EMPTY:
        return replace(plain, sign="empty")
    values = [_bare(one) for one in _OR.split(inner)]
    compared = _COMPARED.fullmatch(inner)
    if compared and len(values) == 1:
        sign: Sign = compared["sign"]  # type: ignore[assignment]  # the expression takes no other
        return _compared(plain, sign, _bare(compared["value"]), now)
    return _equal(plain, tuple(filter(None, values)), now)


def where_condition(text: str, now: float) -> Condition:
    """The condition that `--where` sets; raises `UsageError` when it sets none."""
    found = _WHERE.fullmatch(text)
    name = found["name"].strip().strip("[]").strip(_QUOTES).strip() if found else ""
    if found is None or not name:
        raise UsageError(f"{text!r} names no field.", _HOW)
    sign, value = found["sign"] or "", (found["value"] or "").strip().rstrip("]")
    if sign and not value:
        raise UsageError(f"{text!r} names no value.", _HOW)
    negated = bool(found["not"]) != (sign == "!=")
    if sign in {"<", "<=", ">", ">="}:
        value = sign + value
    return property_condition(name, value, now, negated=negated, written=f"--where {text}")


def _compared(plain: Condition, sign: Sign, value: str, now: float) -> Condition:
    if sign == "=":
        return _equal(plain, (value,), now)
    return replace(plain, values=(day_of(value, now) or value,), sign=sign)


def _equal(plain: Condition, values: tuple[str, ...], now: float) -> Condition:
    if plain.name.casefold() in _TAGS:
        tags = tuple(value.lstrip("#").strip("/") for value in values)
        return replace(plain, kind="tag", values=tags, name="")
    # A field may hold the word itself as well as the day that it stands for.
    days = tuple(day for value in values if value.isalpha() and (day := day_of(value, now)))
    return replace(plain, values=(*values, *days))


def _bare(value: str) -> str:
    return value.strip().strip(_QUOTES).strip()
