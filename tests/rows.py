"""One test over a table of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import pytest

Row = TypeVar("Row")


def check_rows(rows: Iterable[Row], check: Callable[[Row], object]) -> None:
    """Check every row; fail with all rows that failed, each with its reason."""
    findings = []
    for row in rows:
        try:
            check(row)
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  all are reported
            findings.append(f"{row!r}: {type(error).__name__}: {error}")
    assert not findings, "\n".join([f"{len(findings)} rows failed:", *findings])
