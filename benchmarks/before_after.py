"""Whether this checkout indexes and searches as fast as another one, in one run.

    python benchmarks/before_after.py OTHER FOLDER [--files N] [--rounds N] [--words]

OTHER is the root of another checkout of dowse. Both index the same files and answer the same
queries, in turns, each time in a process of its own, so that a busy machine slows both. Where
other programs use the machine, the figures in CPU time say more than those in elapsed time. The
Python packages are those of this environment. The cost of the built-in reranker is measured for
this checkout, on one core and on two.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
ASKED, WORDS = 60, 7  # queries, and words of each
PASSAGES = 10  # that a search reranks by default
Figures = Mapping[str, float]
_AFTER_STORING = ("waiting", "vocabulary")  # stages of indexing: all files are stored


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path, help="the root of another checkout")
    parser.add_argument("folder", type=Path, help="documents")
    parser.add_argument("--files", type=int, default=200, help="index so many, evenly spread")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--words", action="store_true", help="only storing, without a model")
    parser.add_argument("--measure", choices=tuple(_MEASURES), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(_MEASURES[arguments.measure](arguments.folder)))
        return
    what = "words" if arguments.words else "speed"
    with tempfile.TemporaryDirectory() as temporary:
        documents = _sample(arguments.folder, arguments.files, Path(temporary) / "docs")
        rounds = [
            (_run(arguments.other, documents, what), _run(HERE, documents, what))
            for _ in range(arguments.rounds)
        ]
        print("| | before | after | after ÷ before |\n|---|---|---|---|")
        for name in rounds[0][0]:
            _print_row(name, rounds)
        if arguments.words:
            return
        print("\n| cores | built-in reranker, ms per passage | CPU ms |\n|---|---|---|")
        for cores in (1, 2):
            costs = _run(HERE, documents, "rerank", cores)
            print(f"| {cores} | {costs['elapsed']:.1f} | {costs['CPU']:.1f} |")


def _print_row(name: str, rounds: Sequence[tuple[Figures, Figures]]) -> None:
    before, after = (statistics.median(one[side][name] for one in rounds) for side in (0, 1))
    ratios = [new[name] / old[name] for old, new in rounds]
    spread = f"({min(ratios):.2f} to {max(ratios):.2f})"
    print(f"| {name} | {before:.1f} | {after:.1f} | {statistics.median(ratios):.2f} {spread} |")


def _sample(folder: Path, count: int, target: Path) -> Path:
    files = sorted(path for path in folder.rglob("*.md") if path.is_file())
    count = min(count, len(files))
    for path in (files[place * len(files) // count] for place in range(count)):
        copy = target / path.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    return target


def _run(checkout: Path, documents: Path, what: str, cores: int = 0) -> Figures:
    """Measures a checkout in a process of its own, with an index of its own."""
    with tempfile.TemporaryDirectory() as home:
        own = {"DOWSE_CONFIG_DIR": f"{home}/config", "DOWSE_DATA_DIR": f"{home}/data"}
        environment = os.environ | own | {"PYTHONPATH": str(checkout / "src")}
        line = [sys.executable, __file__, str(checkout), str(documents), "--measure", what]
        if cores:
            allowed = ",".join(map(str, sorted(os.sched_getaffinity(0))[:cores]))
            line = ["taskset", "--cpu-list", allowed, *line]
        done = subprocess.run(line, env=environment, stdout=subprocess.PIPE, check=True)
        figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return figures


def measure_speed(folder: Path) -> dict[str, float]:
    """Chunks per second when a folder is indexed, and the time of a search in milliseconds."""
    from dowse import Dowse  # noqa: PLC0415  (the checkout that this process was started for)

    with Dowse(folder) as project:
        clock, stored = Clock(), list[tuple[float, float]]()

        def note(event: Any) -> None:  # an `Event`, which other checkouts keep elsewhere
            if event.stage in _AFTER_STORING and not stored:
                stored.append(clock.seconds())

        report = project.index(progress=note)
        elapsed, cpu = clock.seconds()
        if report.notices:
            raise SystemExit(" ".join(report.notices))
        project.search("warm up")
        times = []
        for query in _queries(folder):
            clock = Clock()
            project.search(query)
            times.append(clock.seconds())
    return {
        "all words searchable after, s": stored[0][0],
        "all words searchable after, CPU s": stored[0][1],
        "chunks": report.chunks,
        "chunks per second": report.chunks / elapsed,
        "chunks per CPU second": report.chunks / cpu,
        "search, p50, ms": 1000 * statistics.median(one for one, _ in times),
        "search, p50, CPU ms": 1000 * statistics.median(one for _, one in times),
    }


def measure_words(folder: Path) -> dict[str, float]:
    """How long it takes to store a folder so that its words can be searched."""
    from dowse import Dowse  # noqa: PLC0415  (as above)

    with Dowse(folder, settings={"embed.provider": "none"}) as project:
        clock = Clock()
        report = project.index()
        elapsed, cpu = clock.seconds()
    return {
        "all words searchable after, s": elapsed,
        "all words searchable after, CPU s": cpu,
        "chunks per second": report.chunks / elapsed,
    }


def measure_rerank(folder: Path) -> dict[str, float]:
    """What reranking costs for each passage; one that was read before costs nothing."""
    from dowse import Dowse  # noqa: PLC0415  (as above)

    seconds: dict[bool, tuple[float, float]] = {}
    read: set[str] = set()
    with Dowse(folder, settings={"vocabulary.size": 0}) as project:
        project.index()
        project.search("warm up", rerank=True)
        for rerank in (False, True):
            clock = Clock()
            for query in _queries(folder):
                found = project.search(query, rerank=rerank, n=PASSAGES).hits
                read |= {hit.id for hit in found} if rerank else set()
            seconds[rerank] = clock.seconds()
    elapsed, cpu = (1000 * (seconds[True][n] - seconds[False][n]) / len(read) for n in (0, 1))
    return {"elapsed": elapsed, "CPU": cpu}


_MEASURES = {"speed": measure_speed, "words": measure_words, "rerank": measure_rerank}


class Clock:
    """Elapsed time and CPU time since it was made, with that of processes that have ended."""

    def __init__(self) -> None:
        self._began = time.perf_counter(), sum(os.times()[:4])

    def seconds(self) -> tuple[float, float]:
        elapsed, cpu = self._began
        return time.perf_counter() - elapsed, sum(os.times()[:4]) - cpu


def _queries(folder: Path) -> list[str]:
    """The first words of the longest line of evenly spread files."""
    files = sorted(folder.rglob("*.md"))
    some = files[:: max(1, len(files) // ASKED)][:ASKED]
    longest = (max(path.read_text("utf-8", "replace").splitlines(), key=len) for path in some)
    return [" ".join(line.split()[:WORDS]).replace('"', "") for line in longest]


if __name__ == "__main__":
    main()
