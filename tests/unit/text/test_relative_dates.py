from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from dowse._text.dates import day_of, moment_of
from rows import check_rows

NOW = datetime(2026, 3, 31, 15, 30, tzinfo=UTC).timestamp()  # a Tuesday


@pytest.fixture(autouse=True)
def _in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_dates_are_counted_from_today() -> None:
    def check(row: tuple[str, str]) -> None:
        said, day = row
        first = moment_of(said, NOW)
        assert first == datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()

    rows: list[tuple[str, str]] = [
        ("today", "2026-03-31"),
        ("Yesterday", "2026-03-30"),
        ("tomorrow", "2026-04-01"),
        ("7d", "2026-03-24"),
        ("7 days ago", "2026-03-24"),
        ("2w", "2026-03-17"),
        ("1m", "2026-02-28"),
        ("13 months ago", "2025-02-28"),
        ("2y", "2024-03-31"),
        ("this week", "2026-03-30"),
        ("last week", "2026-03-23"),
        ("last-week", "2026-03-23"),
        ("last  month", "2026-02-01"),
        ("this year", "2026-01-01"),
        ("next month", "2026-04-01"),
        ("2024-06", "2024-06-01"),
    ]
    check_rows(rows, check)


def test_hours_are_counted_from_now() -> None:
    assert moment_of("24h", NOW) == NOW - 24 * 3600
    assert moment_of("last hour", NOW) == NOW - 3600


@pytest.mark.parametrize("said", ["soon", "", "9999y", "d", "last", "2024-13", "next hour", "7 x"])
def test_other_words_are_no_dates(said: str) -> None:
    assert moment_of(said, NOW) is None


def test_a_day_is_written_as_iso_8601_writes_it() -> None:
    assert day_of("yesterday", NOW) == "2026-03-30"
    assert day_of("2024", NOW) is None
