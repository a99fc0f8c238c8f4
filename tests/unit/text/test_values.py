from __future__ import annotations

from dowse._text.matching import Sign, matcher
from rows import check_rows


def test_values_are_compared_by_what_they_are() -> None:
    def check(row: tuple[str, Sign, str, bool]) -> None:
        written, sign, wanted, met = row
        assert matcher(sign, [wanted])(written) is met

    rows: list[tuple[str, Sign, str, bool]] = [
        ("draft", "=", "draft", True),
        ("first draft", "=", "draft", True),
        ("[[draft]]", "=", "draft", True),
        ("drafts", "=", "draft", False),
        ("drafts", "=", "draft*", True),
        ("草稿", "=", "草稿", True),
        ("4", "=", "4.0", True),
        ("14", "=", "4", False),
        ("1,000", "=", "1000", True),
        ("80%", ">", "75", True),
        ("9", "<", "10", True),
        ("ten", "<", "10", False),
        ("-2", "<", "-1.5", True),
        ("yes", "=", "true", True),
        ("true", "=", "yes", True),
        ("no", "=", "true", False),
        ("2026-03-31t10:00", "=", "2026-03-31", True),
        ("2026-03-31t10:00", ">", "2026-03-31", False),
        ("2026-03-31t10:00", ">=", "2026-03-31", True),
        ("2026-12-31", "<=", "2026-12", True),
        ("2027-01-01", "<=", "2026-12", False),
        ("9999-06-01", "=", "9999", True),
        ("march 2026", "<", "2026-04", True),
        ("b", ">", "a", True),
        ("", "<", "a", False),
        ("", "has", "", True),
        ("", "empty", "", True),
        ("x", "empty", "", False),
    ]
    check_rows(rows, check)
