"""What is missing on a user's machine is skipped, and counted; in CI the same is a failure."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Generator
from typing import TypeVar

import pytest

_Report = TypeVar("_Report", pytest.TestReport, pytest.CollectReport)

_MISSING = re.compile(r"not installed|could not import")
"""In the reason of a skip: a program or a package that CI has to have."""


_GIVEN = dict(os.environ)  # tests take variables away


def find_tool(*names: str) -> str | None:
    """Find a program that tests can use: CI names it in a variable, a user has it on the path."""
    given = _GIVEN.get(f"DOWSE_TEST_{names[0].upper()}")
    return given or next(filter(None, map(shutil.which, names)), None)


def _judged(report: _Report) -> _Report:
    """The report, which is a failure when CI lacks something."""
    reason = str(report.longrepr)
    if report.skipped and os.environ.get("CI") and _MISSING.search(reason):
        report.outcome = "failed"
        report.longrepr = f"In CI this must not be skipped: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Judges the tests."""
    return _judged((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Judges the files, which can be skipped as a whole."""
    return _judged((yield))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints how many tests were left out, by reason; a file that was left out counts as one."""
    skipped = terminalreporter.getreports("skipped")
    if not skipped:
        return
    terminalreporter.section(f"left out: {len(skipped)}")
    for reason, count in Counter(map(_reason, skipped)).most_common():
        terminalreporter.write_line(f"{count:5}  {reason}")


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Why a test was left out, without the place; a worker of xdist sends both as a list."""
    why = report.longrepr
    return str(why[2] if isinstance(why, (tuple, list)) else why).removeprefix("Skipped: ")
