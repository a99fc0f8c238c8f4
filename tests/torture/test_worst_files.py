"""The worst files known, each indexed by `dowse index` in a process of its own.

Without a model: its own memory is the same for every file. The process is forked from one that has
loaded all of dowse, which is more than the command itself would load: about 70 MB.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from command_line import process
from forked import forker
from worst_documents import NAMED, WORST

MOST_MEMORY = 400.0  # MB
MOST_TIMES = 10.0  # the size of the file
FLOOR = 1_000_000  # bytes of an index, however small the file
FULL = 9_900_000  # bytes: just under the size that is read


class Cost(NamedTuple):
    """What indexing a file took."""

    name: str
    code: int
    memory: float  # MB at the peak
    seconds: float  # computed
    times: float  # size of the index, in times of the file's
    report: dict[str, object]


def index(folder: Path, name: str, text: str) -> Cost:
    """Indexes a folder with one file."""
    vault, data = folder / "vault", folder / "data"
    vault.mkdir(parents=True)
    written = text.encode()[:FULL].decode("utf-8", "ignore").encode()
    (vault / "a.md").write_bytes(written)
    own = {f"DOWSE_{kind}_DIR": str(folder / kind.lower()) for kind in ("CONFIG", "DATA", "CACHE")}
    done = process("index", vault, "--json", **own, DOWSE_EMBED_PROVIDER="none")
    used = forker().used
    taken = sum(path.stat().st_size for path in data.rglob("*") if path.is_file())
    return Cost(
        name,
        done.returncode,
        used.memory,
        used.seconds,
        max(0, taken - FLOOR) / len(written),
        json.loads(done.stdout) if done.stdout else {},
    )


def check(cost: Cost) -> None:
    assert cost.code == 0, cost
    assert cost.memory < MOST_MEMORY, cost
    assert cost.times < MOST_TIMES, cost


def tell(costs: list[Cost], tally: Callable[[str, object], None]) -> None:
    for what, key in (("MB", "memory"), ("times the file", "times"), ("seconds", "seconds")):
        worst = max(costs, key=lambda cost: getattr(cost, key))
        figure = f"{getattr(worst, key):.1f} {what} ({worst.name})"
        tally(f"worst of {len(costs)} files: {key}", figure)


@pytest.mark.takes(8)
@pytest.mark.parametrize("name", NAMED)
def test_the_files_that_broke_dowse(
    name: str,
    tmp_path: Path,
    rounds: Callable[[int, int], int],
    tally: Callable[[str, object], None],
) -> None:
    make, full = NAMED[name]
    cost = index(tmp_path, name, make(min(full, rounds(300_000, full))))

    tell([cost], tally)
    check(cost)


HEAVIEST = [
    "prose with one wide character", "paragraphs", "Chinese on one line", "nested headings",
    "one long fence",
]  # fmt: skip


_GROUPS = 4  # so that two workers share them


@pytest.mark.takes(25)
@pytest.mark.parametrize("group", range(_GROUPS))
def test_all_other_worst_files(
    group: int,
    tmp_path: Path,
    rounds: Callable[[int, int], int],
    tally: Callable[[str, object], None],
) -> None:
    others = [name for name in WORST if name not in HEAVIEST]
    costs = []
    for name in others[group :: _GROUPS * rounds(24, 1)]:
        costs.append(index(tmp_path / name, name, WORST[name](rounds(100_000, 400_000))))
        check(costs[-1])

    tell(costs, tally)


@pytest.mark.takes(30)
@pytest.mark.parametrize("name", HEAVIEST)
def test_the_heaviest_files_of_the_largest_size(
    name: str,
    tmp_path: Path,
    rounds: Callable[[int, int], int],
    tally: Callable[[str, object], None],
) -> None:
    cost = index(tmp_path, name, WORST[name](rounds(50_000, FULL)))

    tell([cost], tally)
    check(cost)


def test_what_was_cut_is_reported(tmp_path: Path) -> None:
    cost = index(tmp_path, "tag", f"#{'a/' * 200}a and some text\n")

    assert cost.code == 0
    assert cost.report["left_out"] == [
        {
            "id": "a.md",
            "reason": "Line 1: the tag has more than 100 characters or 10 levels and was ignored; "
            "shorten it to have it found.",
            "whole": False,
            "lost": True,
        }
    ]
