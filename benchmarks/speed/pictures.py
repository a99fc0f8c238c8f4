"""Draws the pictures of docs/measurements.md and benchmarks/results from the last run's figures.

python -m benchmarks.speed.pictures
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.speed.figures import saved
from benchmarks.speed.material import ROOT
from benchmarks.speed.stages import parts_of
from benchmarks.speed.svg import bar_chart, line_chart

IMAGES = ROOT / "docs" / "images"


def main() -> None:
    for name, draw in PICTURES.items():
        figures = saved(name)
        if figures is None:
            print(f"There are no figures for {name} yet. Run: python -m benchmarks.speed.{name}")
            continue
        path = IMAGES / f"speed-{name.replace('_', '-')}.svg"
        path.write_text(draw(figures), "utf-8")
        print(path.relative_to(ROOT))


def draw_growth(rows: Sequence[Mapping[str, float]]) -> str:
    """Latency against size."""
    shown = {
        "hybrid query": "all CPU",
        "a hundredth passes a filter": "hundredth CPU",
        "by words": "keyword CPU",
        "SQLite FTS5": "fts5 CPU",
        "embedding alone": "embedding CPU",
    }
    lines = {name: [(row["chunks"], row[key]) for row in rows] for name, key in shown.items()}
    return line_chart("A warm query by size of the index, median, CPU ms", "chunks", lines)


def draw_stages(figures: Mapping[str, Any]) -> str:
    """Where the time of a query goes."""
    chunks = figures["chunks"]
    bars = {name: parts_of(spent) for name, spent in figures.items() if name != "chunks"}
    return bar_chart(f"Where the time of a query goes, {chunks:,} chunks", "CPU ms", bars)


def draw_first_answer(rows: Sequence[Mapping[str, float]]) -> str:
    """When words can be searched, and when everything."""
    bars = {
        f"{row['files']:,} files": {
            "until words can be searched": row["words CPU"],
            "until all vectors are there": row["vectors CPU"] - row["words CPU"],
        }
        for row in rows
    }
    return bar_chart("The first answer in a new folder", "CPU s", bars)


PICTURES: dict[str, Callable[[Any], str]] = {
    "growth": draw_growth,
    "stages": draw_stages,
    "first_answer": draw_first_answer,
}


if __name__ == "__main__":
    main()
