"""Compares models by what the judge has written.

    python -m training.compare RESULTS BASELINE MODEL

Prints, for each task, both means and the difference with its 95 % interval.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from training.measures import interval

Results = Mapping[str, Mapping[str, Sequence[float]]]
"""nDCG@10 of each query, by task and by model."""


class Row(NamedTuple):
    """One line of the comparison."""

    task: str
    queries: int
    baseline: float
    model: float
    low: float  # of the interval of the difference
    high: float


def rows(results: Results, baseline: str, model: str) -> Iterator[Row]:
    """The tasks that both models were judged on."""
    for task, by_model in results.items():
        if baseline in by_model and model in by_model:
            old, new = np.array(by_model[baseline]), np.array(by_model[model])
            low, high = interval(new - old)
            yield Row(task, len(old), float(old.mean()), float(new.mean()), low, high)


def main(path: Path, baseline: str, model: str) -> None:
    """Prints the comparison as a table in Markdown."""
    print(f"| task | queries | {baseline} | {model} | difference |\n|---|---|---|---|---|")
    for one in rows(json.loads(path.read_text("utf-8")), baseline, model):
        change = f"{one.model - one.baseline:+.3f} ({one.low:+.3f} to {one.high:+.3f})"
        print(f"| {one.task} | {one.queries} | {one.baseline:.3f} | {one.model:.3f} | {change} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
