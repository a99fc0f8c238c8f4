"""Where the time of a query goes, stage by stage, next to embedding the query alone.

    python -m benchmarks.speed.stages [--data FOLDER] [--chunks 20000] [--before CHECKOUT]

CHECKOUT is the root of another checkout of dowse that can read the same index. Both answer the same
queries, in turns, each time in a process of its own, with the packages of this environment. The
table has the round of each that other programs have disturbed least, in CPU time of the one thread
that searches.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from unittest import mock

from benchmarks.speed.figures import Clock, command_line, documents, p50, ratio, save, table
from benchmarks.speed.material import ROOT, questions
from benchmarks.speed.synthetic import built, opened

_ASKED, _WARM, _ROUNDS = 60, 5, 4
_SHOWN = 0.02  # share of the whole under which a stage is one of the others

Spent = Mapping[str, float]
"""Milliseconds by stage; "embedding", "whole" and "CPU" are not stages."""


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--before", type=Path, metavar="CHECKOUT")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    files = documents(options)
    if options.measure:
        print(json.dumps(measure(Path(options.measure), questions(files, _ASKED + _WARM))))
        return
    index = built(files, options.chunks)
    checkouts = {"before": options.before, "now": ROOT} if options.before else {"now": ROOT}
    runs: dict[str, list[Spent]] = {name: [] for name in checkouts}
    for _ in range(_ROUNDS):
        for name, checkout in checkouts.items():
            runs[name].append(_run(checkout, index.folder, options))
    figures = {name: best_of(some) for name, some in runs.items()}
    save("stages", {"chunks": index.chunks} | figures)
    print(f"{index.chunks:,} chunks\n\n{stage_table(figures)}")


def _run(checkout: Path, folder: str, options: argparse.Namespace) -> Spent:
    line = [sys.executable, "-m", "benchmarks.speed.stages", "--measure", folder]
    line += ["--data", str(options.data)] if options.data else []
    environment = os.environ | {"PYTHONPATH": str(checkout.resolve() / "src")}
    done = subprocess.run(line, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True)
    spent: Spent = json.loads(done.stdout.splitlines()[-1])
    return spent


def measure(folder: Path, asked: Sequence[str]) -> Spent:
    """The mean of each stage over all queries; the model is timed inside the search."""
    stages: dict[str, list[float]] = {}
    whole, cpu, embedding = list[float](), list[float](), list[float]()
    with (
        opened(folder, embedding) as project,
        mock.patch.object(time, "perf_counter", time.thread_time),
    ):
        for place, query in enumerate(asked):
            clock = Clock()
            response = project.search(query)
            if place < _WARM:
                embedding.clear()
                continue
            whole.append(clock.elapsed)
            cpu.append(clock.cpu)
            for stage, seconds in response.seconds.items():
                stages.setdefault(stage, []).append(seconds)
    # A stage that ran for some of the queries took no time for the others.
    absent = {name: [0.0] * (len(whole) - len(some)) for name, some in stages.items()}
    spent = {name: 1000 * statistics.fmean(some + absent[name]) for name, some in stages.items()}
    spent["retrieve"] -= 1000 * statistics.fmean(embedding)
    means = {"whole": 1000 * statistics.fmean(whole), "CPU": 1000 * statistics.fmean(cpu)}
    return {"embedding": 1000 * statistics.fmean(embedding)} | spent | means | {"p50": p50(whole)}


def best_of(runs: Sequence[Spent]) -> dict[str, float]:
    """The run that other programs have disturbed least; stages of one run add up."""
    return dict(min(runs, key=lambda run: run["whole"]))


def parts_of(spent: Spent) -> dict[str, float]:
    """Embedding, the stages that take long, and the others together; they add up to the whole."""
    stages = {name: ms for name, ms in spent.items() if name not in {"whole", "CPU", "p50"}}
    long = {name: ms for name, ms in stages.items() if ms >= _SHOWN * spent["whole"]}
    return long | {"others": spent["whole"] - sum(long.values())}


def stage_table(figures: Mapping[str, Spent]) -> str:
    """Milliseconds by stage, a column for each checkout."""
    parts = {name: parts_of(spent) for name, spent in figures.items()}
    names = list(dict.fromkeys(stage for part in parts.values() for stage in part))
    names.sort(key=lambda name: name == "others")
    rows: list[list[object]] = [
        [name, *(one.get(name) for one in parts.values())] for name in names
    ]
    rows.append(["**whole, mean**", *(spent["whole"] for spent in figures.values())])
    rows.append(["whole, all threads", *(spent["CPU"] for spent in figures.values())])
    beyond = [ratio(spent["whole"], spent["embedding"]) for spent in figures.values()]
    rows.append(["whole ÷ embedding", *beyond])
    return table(["stage", *(f"{name}, CPU ms" for name in figures)], rows)


if __name__ == "__main__":
    main()
