"""Lines as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from dowse._interfaces.cli.draw import (
    amount,
    duration,
    fitted,
    folded,
    line,
    marked,
    table,
)
from dowse._util.messages import counted, safe, size


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (123_456, "123 kB"),
        (83_506_384, "83.5 MB"),
    ],
)
def test_sizes(count: int, said: str) -> None:
    assert size(count) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.0004, "0 ms"), (0.25, "250 ms"), (3.14, "3.1 s"), (61, "1 min 01 s"), (3725, "1 h 02 min")],
)
def test_durations(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_counts() -> None:
    assert [counted(number, "file") for number in (0, 1, 1200)] == [
        "0 files",
        "1 file",
        "1,200 files",
    ]
    assert amount(0.4, "files") == "0.4"
    assert amount(1200, "files", named=True) == "1,200 files"
    assert amount(1500, "bytes") == "1.5 kB"


def test_marks_become_a_style_and_disappear() -> None:
    drawn = marked("a **b** c **d\ne** 2**3", "bold")
    assert drawn.plain == "a b c d e 2**3"
    assert [drawn.plain[span.start : span.end] for span in drawn.spans] == ["b", "d e"]


def test_a_line_is_one_line() -> None:
    assert line("a\nb\r\n", ("c\u2028d\te", "bold")).plain == "a b c d e"


@settings(deadline=None, max_examples=200, derandomize=True)
@given(st.text(), st.integers(10, 120), st.integers(0, 8))
def test_folded_lines_fit_and_lose_no_word(text: str, width: int, indent: int) -> None:
    whole = line(text)
    lines = folded(whole, width + indent, indent)
    assert all(one.cell_len <= width + indent for one in lines)
    together = "".join(one.plain for one in lines)
    assert "".join(together.split()) == "".join(whole.plain.split())


@settings(deadline=None, max_examples=200, derandomize=True)
@given(st.text(), st.integers(8, 100))
def test_fitted_text_fits(text: str, width: int) -> None:
    cut = fitted(text, width)
    assert cell_len(cut) <= width
    assert cut == text or "…" in cut


@settings(deadline=None, max_examples=200, derandomize=True)
@given(st.text())
def test_nothing_unsafe_is_left(text: str) -> None:
    cleaned = safe(text)
    assert len(cleaned) == len(text)
    assert not set(cleaned) & {chr(code) for code in range(32)} - {"\n", "\t"}
    assert "\x9b" not in cleaned


def test_columns_are_aligned() -> None:
    drawn = table([("a", "10", "x"), ("点検", "9", "y z")], None, right=(1,))
    assert [one.plain for one in drawn] == ["a     10  x", "点検   9  y z"]
    narrow = table([("name", "word " * 10)], 20)
    assert all(one.plain.startswith(("name  word", "      word")) for one in narrow)
    assert table([], 80) == []
