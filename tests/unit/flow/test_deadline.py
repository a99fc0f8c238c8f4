"""A file that takes too long is left out, and the others are indexed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from dowse._config.schema import Settings
from dowse._index.chunk import chunk
from dowse._index.markdown.document import parse
from dowse._index.options import ChunkOptions, ReadOptions
from dowse._util.process import Deadline, TookTooLong
from dowse.errors import BadSettings
from vaults import open_engine

PARAGRAPHS = "# Heading\n\nSome text with a [[link]] and a #tag.\n\n" * 50


def deadline_of(looks: int) -> Deadline:
    """A deadline whose clock goes on by a second whenever it is looked at."""
    ticks: Iterator[int] = count()
    return Deadline(looks, clock=lambda: float(next(ticks)), pause=0.0)


def test_a_deadline_passes_once_its_time_is_over() -> None:
    deadline = deadline_of(2)
    deadline.check()
    deadline.check()

    with pytest.raises(TookTooLong, match="2 seconds"):
        deadline.check()


def test_a_deadline_looks_at_its_clock_only_now_and_then() -> None:
    ticks: Iterator[int] = count()
    deadline = Deadline(1000, clock=lambda: float(next(ticks)), pause=600.0)
    for _ in range(100):
        deadline.check()

    assert next(ticks) == 2


def test_a_deadline_does_not_count_what_happens_during_a_pause() -> None:
    now = [0.0]
    deadline = Deadline(10, clock=lambda: now[0], pause=0.0)
    now[0] = 8.0
    deadline.pause()
    now[0] = 1000.0
    deadline.resume()
    now[0] = 1002.0
    deadline.check()
    now[0] = 1002.5

    with pytest.raises(TookTooLong, match="10 seconds"):
        deadline.check()


def test_a_deadline_without_a_limit_never_passes() -> None:
    Deadline().check()


@pytest.mark.parametrize("looks", [0, 1, 20, 70])
def test_parsing_looks_at_the_clock_again_and_again(looks: int) -> None:
    with pytest.raises(TookTooLong):
        parse("a.md", PARAGRAPHS, deadline_of(looks))


@pytest.mark.parametrize("strategy", ["headers", "fixed"])
@pytest.mark.parametrize("looks", [0, 2])
def test_cutting_looks_at_the_clock_again_and_again(strategy: str, looks: int) -> None:
    options = ChunkOptions(strategy="fixed" if strategy == "fixed" else "headers")

    with pytest.raises(TookTooLong):
        chunk(parse("a.md", PARAGRAPHS * 5), options, deadline_of(looks))


def test_a_file_that_takes_too_long_is_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "slow.md").write_text("slow\n")
    (vault / "quick.md").write_text("quick\n")

    def slow_parse(id: str, text: str, deadline: Deadline) -> object:  # noqa: A002
        if "slow" in text:
            raise TookTooLong(60)
        return parse(id, text, deadline)

    monkeypatch.setattr("dowse._index.prepare.parse", slow_parse)
    engine = open_engine(vault, tmp_path / "index")
    report = engine.index()

    (left_out,) = report.left_out
    assert (left_out.id, left_out.whole) == ("slow.md", True)
    assert left_out.reason == (
        "It takes longer than 60 seconds to parse and cut; split it, or raise read.file_seconds "
        "in the settings."
    )
    assert report.added == 1
    assert not report.complete


def test_a_file_that_became_too_slow_is_no_longer_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "a.md").write_text("first\n")
    engine = open_engine(vault, tmp_path / "index")
    engine.index()
    (vault / "a.md").write_text("second, which is longer\n")

    def slow_parse(*_: object) -> None:
        raise TookTooLong(60)

    monkeypatch.setattr("dowse._index.prepare.parse", slow_parse)
    report = engine.index()

    assert [item.id for item in report.left_out] == ["a.md"]
    assert engine.status().counts.documents == 0


def test_the_limit_is_a_setting() -> None:
    assert Settings().read.file_seconds == 60

    with pytest.raises(BadSettings, match="file_seconds must be above 0"):
        ReadOptions(file_seconds=0)
