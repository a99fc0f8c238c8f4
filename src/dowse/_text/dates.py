"""Dates as people and programs write them ↔ seconds since 1970."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone

from dowse._text.scripts import late_pattern

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_YEAR = r"(?P<year>\d{4})"
_DAY = r"(?P<day>\d\d?) (?:st|nd|rd|th)?"
_MONTH = r"(?P<month>[a-z]{3,9}) \.?"
_WEEKDAY = r"(?: [a-z]{3,9},?[ ] )?"
_CLOCK = r"""
    (?: (?: [ ]*T[ ]* | [ ]*,[ ]* | [ ]+ | [ ]at[ ] )
        (?P<hour>\d{1,2}) : (?P<minute>\d\d)
        (?: : (?P<second>\d\d) (?: [.,] (?P<fraction>\d{1,6}) \d* )? )?
        (?: [ ]? (?P<half>[ap]m) )?
        (?: [ ]? (?: Z | UTC | GMT | (?P<offset>[+-]\d\d?) :? (?P<offset_minutes>\d\d)? ) )?
    )?
"""
# Numbers alone are only read with the year first: the other orders mean different days in
# different countries.
_FORMS = [
    late_pattern(day + _CLOCK, re.IGNORECASE | re.VERBOSE)
    for day in (
        rf"{_YEAR} [-/.] (?P<month>\d\d?) (?: [-/.] (?P<day>\d\d?) )?",
        rf"{_YEAR} (?P<month>\d\d) (?P<day>\d\d)",
        rf"{_WEEKDAY} {_DAY} [ -] {_MONTH} [ -] {_YEAR}",
        rf"{_WEEKDAY} {_MONTH} [ ] {_DAY} ,?[ ] {_YEAR}",
        rf"{_MONTH} ,?[ ] {_YEAR}",
        r"(?P<year> (?:19|20) \d\d )",
    )
]
# What a filter takes: as ISO 8601 writes it, from a year down to a second with its zone.
_ISO = late_pattern(
    rf"{_YEAR} (?: - (?P<month>\d\d?) (?: - (?P<day>\d\d?) {_CLOCK} )? )?",
    re.IGNORECASE | re.VERBOSE | re.ASCII,
)
_SECONDS = re.compile(r"\d{9,10}(?:\.\d+)?")
_MILLISECONDS = re.compile(r"\d{12,13}")
_FIRST = datetime(1, 1, 1, tzinfo=UTC).timestamp()
_LAST = datetime(9999, 12, 31, tzinfo=UTC).timestamp()


def iso(seconds: float) -> str:
    """Write a time in ISO 8601, in UTC; one that no calendar has becomes the nearest it has."""
    known = min(max(seconds, _FIRST), _LAST)
    return datetime.fromtimestamp(known, UTC).isoformat(timespec="seconds")


def first_moment(text: str) -> float | None:
    """Return the first moment (UTC) of a year, month, day or minute; None when it is no date."""
    return _moment(_ISO.fullmatch(text))


def period_of(text: str) -> tuple[float, float] | None:
    """Return when the period that a date names begins and ends; None when it is no date."""
    match = _ISO.fullmatch(text)
    begins = first_moment(text)
    if match is None or begins is None:
        return None
    if match["hour"]:
        return begins, begins + (1 if match["second"] else 60)
    if match["day"]:
        return begins, begins + 86_400
    year, month = int(match["year"]), int(match["month"] or 12)
    after = date(year + month // 12, month % 12 + 1, 1) if year < 9999 else date.max
    return begins, _start(after)


def read_date(value: object) -> float | None:
    """Return seconds since 1970 (UTC, where no zone is given); None for what is no date."""
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, date):
        return _start(value)
    written = " ".join(str(value).split())
    if _MILLISECONDS.fullmatch(written):
        return int(written) / 1000
    if _SECONDS.fullmatch(written):
        return float(written)
    return _moment(next(filter(None, (form.fullmatch(written) for form in _FORMS)), None))


def _moment(match: re.Match[str] | None) -> float | None:
    if match is None:
        return None
    parts = match.groupdict()

    def number(name: str, missing: int = 0) -> int:
        return int(parts.get(name) or missing)

    month, hour = parts.get("month") or "1", number("hour")
    if half := parts["half"]:
        hour = hour % 12 + (12 if half.lower() == "pm" else 0)
    ahead = timedelta(hours=abs(number("offset")), minutes=number("offset_minutes"))
    try:
        return datetime(
            number("year"),
            int(month) if month.isdecimal() else _MONTHS.index(month[:3].lower()) + 1,
            number("day", 1),
            hour,
            number("minute"),
            number("second"),
            int((parts["fraction"] or "0").ljust(6, "0")),
            tzinfo=timezone(-ahead if (parts["offset"] or "").startswith("-") else ahead),
        ).timestamp()
    except (ValueError, OverflowError):  # a day, an hour or a name of a month that there is not
        return None


# ── Seen from today: yesterday, 7d, last week ───────────────────────────────────

EXAMPLES = "2024, 2024-06, 2024-06-30, yesterday, 7d or last week"
"""Dates of every form, for messages."""

_DAYS = {"today": 0, "yesterday": -1, "tomorrow": 1}
_UNITS = {"d": "day", "w": "week", "m": "month", "mo": "month", "y": "year"}
_AGO = re.compile(r"(\d{1,4})\s*(hours?|days?|weeks?|months?|years?|h|d|w|mo?|y)(?:\s+ago)?")
_NAMED = re.compile(r"(last|past|this|next)\s+(day|week|month|year)")
_TURNS = {"last": -1, "past": -1, "this": 0, "next": 1}


def moment_of(text: str, now: float) -> float | None:
    """Return the first moment of a date, also of one seen from today; None when it is no date.

    `now` is in seconds since 1970. A week begins on Monday.
    """
    exact = first_moment(text)
    return exact if exact is not None else _relative(text, now)


def day_of(text: str, now: float) -> str | None:
    """Return the day that is said from today in ISO 8601; None when nothing such is said."""
    moment = _relative(text, now)
    return None if moment is None else datetime.fromtimestamp(moment, UTC).date().isoformat()


def _relative(text: str, now: float) -> float | None:
    said = " ".join(text.casefold().replace("-", " ").replace("_", " ").split())
    try:
        if said in {"now", "last hour", "past hour"}:
            return now - (0 if said == "now" else 3600)
        today = datetime.fromtimestamp(now).astimezone().date()  # as the user's calendar shows it
        if said in _DAYS:
            day = today + timedelta(days=_DAYS[said])
        elif found := _AGO.fullmatch(said):
            count, unit = int(found[1]), found[2]
            if unit.startswith("h"):
                return now - 3600 * count
            day = _moved(today, _UNITS.get(unit, unit.rstrip("s")), -count)
        elif found := _NAMED.fullmatch(said):
            turn, unit = found.groups()
            first = {
                "week": today - timedelta(days=today.weekday()),
                "month": today.replace(day=1),
                "year": today.replace(month=1, day=1),
            }
            day = _moved(first.get(unit, today), unit, _TURNS[turn])
        else:
            return None
        return _start(day)
    except (OverflowError, ValueError):  # before the first year, or after the last
        return None


def _moved(day: date, unit: str, count: int) -> date:
    if unit in {"day", "week"}:
        return day + timedelta(days=count * (7 if unit == "week" else 1))
    months = day.year * 12 + day.month - 1 + count * (12 if unit == "year" else 1)
    first = date(months // 12, months % 12 + 1, 1)
    last = (first.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
    return first.replace(day=min(day.day, last.day))


def _start(day: date) -> float:
    # In UTC, as dates in documents are read.
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
