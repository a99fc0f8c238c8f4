from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from dowse._text.dates import first_moment, iso, read_date
from rows import check_rows


def at(*parts: int) -> float:
    year, month, day, *time = parts
    return datetime(year, month, day, *time, tzinfo=UTC).timestamp()  # type: ignore[misc, arg-type]


def test_dates_as_people_write_them() -> None:
    def check(row: tuple[object, float]) -> None:
        written, seconds = row
        assert read_date(written) == seconds

    rows: list[tuple[object, float]] = [
        ("2024-01-05", at(2024, 1, 5)),
        ("2024-1-5", at(2024, 1, 5)),
        ("2024/01/05", at(2024, 1, 5)),
        ("2024.01.05", at(2024, 1, 5)),
        ("20240105", at(2024, 1, 5)),
        ("2024-01", at(2024, 1, 1)),
        ("2024", at(2024, 1, 1)),
        ("2024-01-05T10:20", at(2024, 1, 5, 10, 20)),
        ("2024-01-05 10:20:30", at(2024, 1, 5, 10, 20, 30)),
        ("2024-01-05t10:20:30z", at(2024, 1, 5, 10, 20, 30)),
        ("2024-01-05T10:20:30.5Z", at(2024, 1, 5, 10, 20, 30, 500_000)),
        ("2024-01-05T10:20:30.123456789Z", at(2024, 1, 5, 10, 20, 30, 123_456)),
        ("2024-01-05 10:20:30 UTC", at(2024, 1, 5, 10, 20, 30)),
        ("2024-01-05T10:20:30+02:00", at(2024, 1, 5, 8, 20, 30)),
        ("2024-01-05 10:20:30 -0530", at(2024, 1, 5, 15, 50, 30)),
        ("2024-01-05 10:20 +2", at(2024, 1, 5, 8, 20)),
        ("January 5, 2024", at(2024, 1, 5)),
        ("Jan 5 2024", at(2024, 1, 5)),
        ("Sept. 5, 2024", at(2024, 9, 5)),
        ("5 January 2024", at(2024, 1, 5)),
        ("5th Jan 2024", at(2024, 1, 5)),
        ("Friday, January 5, 2024", at(2024, 1, 5)),
        ("Fri, 05 Jan 2024 10:20:30 +0100", at(2024, 1, 5, 9, 20, 30)),
        ("January 5, 2024 12:04 am", at(2024, 1, 5, 0, 4)),
        ("January 5, 2024 at 3:04 PM", at(2024, 1, 5, 15, 4)),
        ("05-Jan-2024", at(2024, 1, 5)),
        ("January 2024", at(2024, 1, 1)),
        ("1704449430", 1_704_449_430.0),
        ("1704449430.25", 1_704_449_430.25),
        ("1704449430250", 1_704_449_430.25),
        ("  2024-01-05  ", at(2024, 1, 5)),
        (date(2024, 1, 5), at(2024, 1, 5)),
        (datetime(2024, 1, 5, 10), at(2024, 1, 5, 10)),  # noqa: DTZ001 - TOML has such times
        (datetime(2024, 1, 5, 10, tzinfo=timezone(timedelta(hours=1))), at(2024, 1, 5, 9)),
        ("0001-01-01", at(1, 1, 1)),
        ("1969-12-31", -86_400.0),
    ]
    check_rows(rows, check)


def test_what_is_no_date() -> None:
    def check(written: object) -> None:
        assert read_date(written) is None

    rows: list[object] = [
        "",
        "soon",
        "2024-13-01",
        "2024-02-30",
        "2024-01-05 25:00",
        "2024-01-05 10:60",
        "0000-01-01",
        "99999-01-01",
        "05/01/2024",
        "5 Foo 2024",
        "2024-01-05 10:00:00 +99:00",
        "12",
        "1" * 40,
        "2024-01-05 and more",
        "²⁰²⁴-01-05",
        None,
        [],
    ]
    check_rows(rows, check)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("1850", at(1850, 1, 1)),
        ("2024-1", at(2024, 1, 1)),
        ("2024-01-05", at(2024, 1, 5)),
        ("2024-01-05T10:20", at(2024, 1, 5, 10, 20)),
        ("2024-01-05 10:20:30", at(2024, 1, 5, 10, 20, 30)),
        ("2024-01-05T10:20:30.000Z", at(2024, 1, 5, 10, 20, 30)),
        ("2024-01-05T10:20:30+02:00", at(2024, 1, 5, 8, 20, 30)),
    ],
)
def test_a_filter_takes_the_dates_that_programs_write(written: str, seconds: float) -> None:
    assert first_moment(written) == seconds


@pytest.mark.parametrize(
    "written", ["", "5", "May 2024", "1704449430", "2024-13", "2024-02-30", "0000", "٢٠٢٤", "2024 "]
)
def test_a_filter_takes_no_other_dates(written: str) -> None:
    assert first_moment(written) is None


def test_a_time_beyond_the_calendar_is_written_as_the_nearest_in_it() -> None:
    assert iso(at(2024, 1, 5)) == "2024-01-05T00:00:00+00:00"
    assert iso(-1e15)[:4] == "0001"
    assert iso(1e15)[:4] == "9999"
