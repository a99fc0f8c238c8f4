"""Writes all tables of the last run into benchmarks/results/speed.md.

python -m benchmarks.speed.report
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Callable
from typing import Any

from benchmarks.speed.clients import clients_table
from benchmarks.speed.edited import edited_table
from benchmarks.speed.figures import saved
from benchmarks.speed.first_answer import first_table
from benchmarks.speed.growth import growth_table
from benchmarks.speed.material import ROOT
from benchmarks.speed.memory import Sizes, memory_table
from benchmarks.speed.peers import peer_table
from benchmarks.speed.recall import recall_table
from benchmarks.speed.stages import stage_table
from benchmarks.speed.start import start_table

REPORT = ROOT / "benchmarks" / "results" / "speed.md"


def main() -> None:
    parts = [_BEGINNING.format(**_conditions())]
    for name, (title, draw) in TABLES.items():
        if (figures := saved(name)) is not None:
            parts.append(f"## {title}\n\n`benchmarks/speed/{name}.py`\n\n{draw(figures)}\n")
    REPORT.write_text("\n".join(parts), "utf-8")
    print(REPORT.relative_to(ROOT))


def _conditions() -> dict[str, object]:
    line = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    return {
        "commit": done.stdout.strip() or "unknown",
        "cores": os.cpu_count(),
        "load": f"{os.getloadavg()[1]:.1f}",
        "python": platform.python_version(),
    }


_BEGINNING = """# Speed, as last measured

`make bench` wrote this page, at commit {commit}, with Python {python} on {cores} cores. In the five
minutes before its end, {load} processes on average had work for them. Only figures of one table can
be compared; where other programs use the machine, CPU time says more than elapsed time. What each
table measures is explained at the beginning of its program.
"""


def _stages(figures: dict[str, Any]) -> str:
    chunks = figures.pop("chunks")
    return f"{chunks:,} chunks\n\n{stage_table(figures)}"


def _memory(figures: dict[str, dict[str, Sizes]]) -> str:
    by_number = {
        name: {int(after): size for after, size in sizes.items()} for name, sizes in figures.items()
    }
    return memory_table(by_number)


TABLES: dict[str, tuple[str, Callable[[Any], str]]] = {
    "growth": ("A warm query and an edit, by the size of the index", growth_table),
    "stages": ("Where the time of a query goes", _stages),
    "clients": ("HTTP, and many clients at once", clients_table),
    "first_answer": ("The first answer in a new folder", first_table),
    "edited": ("An edit while a first index is embedded", edited_table),
    "start": ("Commands from a cold shell", start_table),
    "memory": ("Memory over many requests", _memory),
    "recall": ("How many of the nearest vectors a scan finds", recall_table),
    "peers": (
        "Next to other ways to search a folder",
        lambda figures: f"{figures['chunks']:,} chunks\n\n{peer_table(figures['rows'])}",
    ),
}


if __name__ == "__main__":
    main()
