"""Progress is for people who wait."""

from __future__ import annotations

import io
import time

import pytest

from dowse._interfaces.cli import draw
from dowse._interfaces.cli.draw import ProgressDrawer, Screen
from dowse._model import Event


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _until(condition: object, *, within: float = 60.0) -> None:
    assert callable(condition)
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_quick_work_draws_nothing() -> None:
    stream = _Terminal()
    with ProgressDrawer(Screen(stream, {})) as announce:
        for done in range(100):
            announce(Event("embed", done, 100))
    assert stream.getvalue() == ""


def test_long_work_draws_a_bar_with_rate_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw, "_PATIENCE", 0.0)
    monkeypatch.setattr(draw, "STEADY", 0.0)
    monkeypatch.setenv("COLUMNS", "80")
    stream = _Terminal()
    with ProgressDrawer(Screen(stream, {})) as announce:
        announce(Event("read", 0, 5000))
        _until(lambda: "Indexing" in stream.getvalue())
        for done, stage in ((100, "chunk"), (200, "embed"), (300, "store")):
            announce(Event(stage, done, 5000))  # one bar for all that happens to a batch
            time.sleep(0.01)
        _until(lambda: "left" in stream.getvalue())
        announce(Event("vocabulary", 10, 20, "words"))
        _until(lambda: "Learning words" in stream.getvalue())
    seen = stream.getvalue()
    assert "/5,000 files" in seen
    assert "/s" in seen
    assert seen.endswith(("\x1b[2K", "\x1b[?25h", "\r"))  # it is wiped away


def test_the_first_seconds_tell_no_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw, "_PATIENCE", 0.0)
    monkeypatch.setenv("COLUMNS", "80")
    stream = _Terminal()
    with ProgressDrawer(Screen(stream, {})) as announce:
        announce(Event("store", 0, 90_000))
        _until(lambda: "Indexing" in stream.getvalue())
        for done in range(1000, 9000, 1000):  # as a batch that needed no embedding
            announce(Event("store", done, 90_000))
        _until(lambda: "8,000/90,000" in stream.getvalue())
    assert "/s" not in stream.getvalue()
    assert "left" not in stream.getvalue()


def test_nobody_looking_means_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw, "_PATIENCE", 0.0)
    stream = io.StringIO()
    with ProgressDrawer(Screen(stream, {})) as announce:
        announce(Event("download", 0, None, "bytes", note="Fetching the weights."))
        for done in range(100):
            announce(Event("embed", done, 100))
    assert stream.getvalue() == "Fetching the weights.\n"


def test_nobody_looking_for_long_means_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw, "_LINE_EVERY", 0.0)
    stream = io.StringIO()
    with ProgressDrawer(Screen(stream, {})) as announce:
        announce(Event("embed", 1200, 14593))
        announce(Event("download", 1_500_000, 83_000_000, "bytes"))
    lines = ["Indexing: 1,200 of 14,593 files", "Downloading: 1.5 MB of 83.0 MB", ""]
    assert stream.getvalue().split("\n") == lines


def test_quiet_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw, "_LINE_EVERY", 0.0)
    stream = io.StringIO()
    with ProgressDrawer(Screen(stream, {}), quiet=True) as announce:
        announce(Event("embed", 1, 2, note="A note."))
    assert stream.getvalue() == ""
