"""Whether a warm process keeps its memory over many requests.

    python -m benchmarks.speed.memory [--data FOLDER] [--chunks 2000] [--requests 2000]

The same queries, all of them different, are asked of `Dowse.search` and of `dowse serve` over HTTP,
one after the other. The table has the memory after so many answers, without and with the pages of
mapped files that have been read (the model's table of words, which the system can take back), and
the ratio of the first to that after the first hundred. Linux says how much memory a process has;
other systems are not measured.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from urllib.parse import quote

from benchmarks.load import serving
from benchmarks.speed.figures import command_line, documents, ratio, save, table
from benchmarks.speed.material import ROOT, words_of
from benchmarks.speed.synthetic import built, opened

Sizes = tuple[float, float]
"""Megabytes without and with the pages of mapped files."""

AFTER = (100, 400, 1_000, 2_000, 5_000, 10_000)
"""After so many answers memory is looked at."""

_WORDS = 5  # of a query


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--chunks", type=int, default=2000, help="of the index, about")
    parser.add_argument("--requests", type=int, default=AFTER[3])
    parser.add_argument("--library", help=argparse.SUPPRESS)
    options = parser.parse_args()
    files = documents(options)
    asked = list(islice(different_queries(words_of(files)), options.requests))
    if options.library:
        print(json.dumps(ask_library(Path(options.library), asked)))
        return
    folder = Path(built(files, options.chunks).folder)
    figures = {
        "`Dowse.search`": _library(folder, options),
        "`dowse serve`": ask_server(folder, asked),
    }
    save("memory", figures)
    print(memory_table(figures))


def different_queries(words: Sequence[str]) -> Iterator[str]:
    """Words that follow each other in the documents; no query is asked twice."""
    starts = range(0, len(words) - _WORDS, _WORDS)
    return iter(dict.fromkeys(" ".join(words[start : start + _WORDS]) for start in starts))


def ask_library(folder: Path, asked: Iterable[str]) -> dict[int, Sizes]:
    """The memory of this process while it searches."""
    with opened(folder) as project:
        return watched(project.search, asked, os.getpid())


def _library(folder: Path, options: argparse.Namespace) -> dict[int, Sizes]:
    """The same in a process of its own, which has not made the index."""
    line = [sys.executable, "-m", "benchmarks.speed.memory", "--library", str(folder)]
    line += ["--requests", str(options.requests)]
    line += ["--data", str(options.data)] if options.data else []
    done = subprocess.run(line, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return {int(after): size for after, size in json.loads(done.stdout).items()}


def ask_server(folder: Path, asked: Iterable[str]) -> dict[int, Sizes]:
    """The memory of a server while one client asks it."""
    with opened(folder) as project:
        name = project.project.name
    home = {"DOWSE_CONFIG_DIR": f"{folder}/home/config", "DOWSE_DATA_DIR": f"{folder}/home/data"}
    with serving(name, {**os.environ, **home}) as (port, process):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

        def ask(query: str) -> None:
            connection.request("GET", f"/api/v1/search?query={quote(query)}")
            answer = connection.getresponse()
            said = answer.read()
            if answer.status != http.client.OK:
                raise SystemExit(f"The server does not answer: {said.decode()}")

        return watched(ask, asked, process)


def watched(ask: Callable[[str], object], asked: Iterable[str], process: int) -> dict[int, Sizes]:
    """Asks all queries; the memory of a process in megabytes, by how many it has answered."""
    sizes = {}
    for number, query in enumerate(asked, 1):
        ask(query)
        if number in AFTER:
            sizes[number] = resident(process)
    return sizes


def resident(process: int) -> Sizes:
    """The memory that a process and its workers have at this moment.

    What several of them share is counted once.
    """
    found = [0, 0]
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended, or is of another user
            parent = int(status.read_text("utf-8").rpartition(")")[2].split()[1])
            if process in {int(status.parent.name), parent}:
                sizes = (status.parent / "smaps_rollup").read_text("utf-8")
                for place, name in enumerate(("Pss_Anon", "Pss")):
                    found[place] += int(sizes.partition(f"\n{name}:")[2].split()[0])
    return found[0] * 1024 / 1e6, found[1] * 1024 / 1e6


def memory_table(figures: dict[str, dict[int, Sizes]]) -> str:
    """Megabytes, and how many times as much it is as after the first requests."""
    seen = [after for after in AFTER if all(after in sizes for sizes in figures.values())]
    heads = ["memory, MB (with mapped files), after", *(f"{after:,} requests" for after in seen)]
    return table(heads, [_row(name, sizes, seen) for name, sizes in figures.items()])


def _row(name: str, sizes: dict[int, Sizes], seen: Sequence[int]) -> list[object]:
    cells = []
    for after in seen:
        own, whole = sizes[after]
        cells.append(f"{own:,.0f} ({whole:,.0f}), {ratio(own, sizes[AFTER[0]][0])}")
    return [name, *cells]


if __name__ == "__main__":
    main()
