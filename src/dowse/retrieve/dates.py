"""Dates as people write them in queries and filters."""

from __future__ import annotations

from datetime import UTC, datetime

_FORMS = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d", "%Y-%m", "%Y")


def first_moment(text: str) -> float | None:
    """The first moment (UTC) of a year, a month, a day or a minute; None when it is no date."""
    for form in _FORMS if text.isascii() else ():  # digits of other scripts are words here
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    return None
