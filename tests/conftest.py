"""What holds for all tests."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vaults import close_engines

pytest_plugins = ["gates"]

_MEMORY = Path("/dev/shm")  # noqa: S108  (pytest makes a private folder in it)
if os.access(
    _MEMORY, os.W_OK
):  # dowse syncs what it writes: on a disk, that takes most of the time
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))
    os.environ.setdefault("TMPDIR", str(_MEMORY))
    tempfile.tempdir = os.environ["TMPDIR"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--torture", action="store_true", help="run the campaigns of tests/torture at full length"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Has properties tried with all their examples, when everything is."""
    if config.getoption("--torture"):
        from hypothesis import settings  # noqa: PLC0415  most runs can do without it

        from effort import TORTURE  # noqa: PLC0415

        settings.register_profile(TORTURE)
        settings.load_profile(TORTURE)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Puts the longest campaigns first, so that no worker begins one when others are done."""
    if config.getoption("--torture"):
        items.sort(key=_seconds, reverse=True)


def _seconds(item: pytest.Item) -> int:
    mark = item.get_closest_marker("takes")
    return int(mark.args[0]) if mark else 0


@pytest.fixture(autouse=True)
def _engines_are_closed() -> Iterator[None]:
    yield
    close_engines()


@pytest.fixture
def rounds(request: pytest.FixtureRequest) -> Callable[[int, int], int]:
    """How often a campaign tries: `rounds(short, long)`, long with `make torture`."""
    full: bool = request.config.getoption("--torture")
    return lambda short, long: long if full else short


@pytest.fixture
def tally(record_property: Callable[[str, object], None]) -> Callable[[str, object], None]:
    """Reports a figure of a campaign, `tally("kills survived", 200)`; the run ends with all."""
    return lambda what, figure: record_property("tally", (what, str(figure)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the figures of the campaigns that ran at full length."""
    if not terminalreporter.config.getoption("--torture"):
        return
    terminalreporter.section("figures")
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, value in report.user_properties:
            if name == "tally":
                terminalreporter.write_line(f"{value[0]}: {value[1]}  ({report.nodeid})")
