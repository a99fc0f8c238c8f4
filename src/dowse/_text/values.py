"""How the values of frontmatter fields are compared with what is asked for.

Values are kept as they are written, so whether one is a number, a date or a yes is decided when it
is compared. Both sides are folded. Every store compares by these rules.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from typing import Literal

from dowse._text.dates import period_of, read_date

Sign = Literal["=", "<", "<=", ">", ">=", "has", "empty"]
"""How a value is compared: `has` takes any value, `empty` one that says nothing."""

_NUMBER = re.compile(r"[+-]?(?:\d{1,15}(?:[,_]\d{3})*)(?:\.\d{1,15})?%?", re.ASCII)
_YES, _NO = frozenset({"true", "yes"}), frozenset({"false", "no"})
_ORDER: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def matcher(sign: Sign, wanted: Sequence[str]) -> Callable[[str], bool]:
    """Say whether a value meets a comparison with any of the wanted ones; all are folded."""
    if sign == "has":
        return lambda _: True
    if sign == "empty":
        return lambda written: not written
    tests = [_equal_to(one) if sign == "=" else _ordered(sign, one) for one in wanted]
    return lambda written: any(test(written) for test in tests)


def _equal_to(wanted: str) -> Callable[[str], bool]:
    """Match a value that has a text as whole words; `draft*` matches one that begins so."""
    if wanted.endswith("*") and len(wanted) > 1:
        return lambda written: written.startswith(wanted[:-1])
    if wanted in _YES | _NO:
        meant = _YES if wanted in _YES else _NO
        return lambda written: written in meant
    number, period = _number(wanted), period_of(wanted)
    words = re.compile(rf"(?<!\w){re.escape(wanted)}(?!\w)") if wanted else None

    def test(written: str) -> bool:
        if written == wanted:
            return True
        if number is not None and (found := _number(written)) is not None:
            return found == number
        if period is not None and (moment := _moment(written)) is not None:
            return period[0] <= moment < period[1]
        return words is not None and words.search(written) is not None

    return test


def _ordered(sign: Sign, wanted: str) -> Callable[[str], bool]:
    number, period, holds = _number(wanted), period_of(wanted), _ORDER[sign]

    def test(written: str) -> bool:
        if number is not None and (found := _number(written)) is not None:
            return holds(found, number)
        if period is not None and (moment := _moment(written)) is not None:
            return _in_order(sign, moment, period)
        if number is not None or period is not None:
            return False
        return bool(written) and holds((written > wanted) - (written < wanted), 0)

    return test


def _in_order(sign: Sign, moment: float, period: tuple[float, float]) -> bool:
    begins, ends = period
    return {
        "<": moment < begins,
        "<=": moment < ends,
        ">": moment >= ends,
        ">=": moment >= begins,
    }[sign]


def _number(text: str) -> float | None:
    if not _NUMBER.fullmatch(text):
        return None
    return float(text.rstrip("%").replace(",", "").replace("_", ""))


def _moment(written: str) -> float | None:
    return read_date(written) if written[:1].isalnum() else None
