"""Dates as people say them, seen from today: yesterday, 7d, last week, 3 months ago."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

from dowse._text.dates import first_moment

EXAMPLES = "2024, 2024-06, 2024-06-30, yesterday, 7d or last week"
"""Dates of every form, for messages."""

_DAYS = {"today": 0, "yesterday": -1, "tomorrow": 1}
_UNITS = {"d": "day", "w": "week", "m": "month", "mo": "month", "y": "year"}
_AGO = re.compile(r"(\d{1,4})\s*(hours?|days?|weeks?|months?|years?|h|d|w|mo?|y)(?:\s+ago)?")
_NAMED = re.compile(r"(last|past|this|next)\s+(hour|day|week|month|year)")
_TURNS = {"last": -1, "past": -1, "this": 0, "next": 1}


def moment_of(text: str, now: float) -> float | None:
    """The first moment of a date, also of one that is said from today; None when it is no date.

    `now` is in seconds since 1970. A week begins on Monday.
    """
    exact = first_moment(text)
    return exact if exact is not None else _relative(text, now)


def day_of(text: str, now: float) -> str | None:
    """The day that is said from today, as ISO 8601 writes it; None when nothing such is said."""
    moment = _relative(text, now)
    return None if moment is None else datetime.fromtimestamp(moment, UTC).date().isoformat()


def _relative(text: str, now: float) -> float | None:
    said = " ".join(text.casefold().replace("-", " ").replace("_", " ").split())
    try:
        if said in {"now", "last hour", "past hour"}:
            return now - (0 if said == "now" else 3600)
        if found := _AGO.fullmatch(said):
            count, unit = int(found[1]), found[2]
            if unit.startswith("h"):
                return now - 3600 * count
            return _start(_moved(_today(now), _UNITS.get(unit, unit.rstrip("s")), -count))
        day = _named_day(said, _today(now))
        return None if day is None else _start(day)
    except (OverflowError, ValueError):  # before the first year, or after the last
        return None


def _named_day(said: str, today: date) -> date | None:
    if said in _DAYS:
        return today + timedelta(days=_DAYS[said])
    found = _NAMED.fullmatch(said)
    if found is None or found[2] == "hour":
        return None
    return _moved(_first_of(today, found[2]), found[2], _TURNS[found[1]])


def _first_of(day: date, unit: str) -> date:
    if unit == "week":
        return day - timedelta(days=day.weekday())
    if unit == "month":
        return day.replace(day=1)
    return day.replace(month=1, day=1) if unit == "year" else day


def _moved(day: date, unit: str, count: int) -> date:
    if unit in {"day", "week"}:
        return day + timedelta(days=count * (7 if unit == "week" else 1))
    months = day.year * 12 + day.month - 1 + count * (12 if unit == "year" else 1)
    first = date(months // 12, months % 12 + 1, 1)
    last = (first.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
    return first.replace(day=min(day.day, last.day))


def _today(now: float) -> date:
    """The day that the user's calendar shows."""
    return datetime.fromtimestamp(now).astimezone().date()


def _start(day: date) -> float:
    # In UTC, as dates in documents are read.
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
