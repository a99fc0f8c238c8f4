"""Times, ratios and tables of benchmarks, and where their figures are kept."""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import statistics
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.speed.material import ROOT, SHIPPED, markdown_files

from dowse._embed.models import SHIPPED_WEIGHTS
from dowse._model import ANALYZE_VERSION, CHUNK_VERSION, EMBEDDING_TEXT_VERSION, PARSE_VERSION

KEPT = ROOT / "build" / "bench"
"""Figures as JSON, of which pictures are drawn; and indexes that several tables use."""


class Clock:
    """Elapsed time and CPU time since it was made, in seconds."""

    def __init__(self) -> None:
        self._began = time.perf_counter(), _cpu()

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self._began[0]

    @property
    def cpu(self) -> float:
        return _cpu() - self._began[1]


def _cpu() -> float:
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def p50(seconds: Iterable[float]) -> float:
    """The median in milliseconds."""
    return 1000 * statistics.median(seconds)


def p95(seconds: Iterable[float]) -> float:
    """The 95th percentile in milliseconds."""
    return 1000 * statistics.quantiles(seconds, n=20)[-1]


def ratio(one: float | None, other: float | None) -> str:
    """How many times as much the one is; a dash where either is not known."""
    return f"{one / other:.2g} ×" if one is not None and other else "–"


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(map(cell, line)) + " |" for line in lines)


def cell(value: object) -> str:
    """A value as people read it: three digits of a fraction, a dash for what is not known."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def save(name: str, figures: Any) -> None:
    """Keeps figures for the pictures."""
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / f"{name}.json").write_text(json.dumps(figures, indent=1), "utf-8")


def saved(name: str) -> Any:
    """Figures that were kept; None where there are none."""
    path = KEPT / f"{name}.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def command_line(about: str | None) -> argparse.ArgumentParser:
    """Options that every table has."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, help="a folder of Markdown, by default the documents that ship"
    )
    return parser


def documents(options: argparse.Namespace) -> list[Path]:
    """The files that the command line names, or those that ship."""
    files = markdown_files([options.data] if options.data else SHIPPED)
    if not files:
        raise SystemExit(f"There is no Markdown file in {options.data}. Name another folder.")
    return files


def kept_folder(name: str, files: Sequence[Path]) -> Path:
    """Where something that is made of these files is kept; other files have another folder."""
    numbers = [PARSE_VERSION, CHUNK_VERSION, ANALYZE_VERSION, EMBEDDING_TEXT_VERSION]
    made_of = f"{len(files)} {files[0]} {files[-1]} {numbers} {SHIPPED_WEIGHTS}"
    return KEPT / f"{name}-{hashlib.sha256(made_of.encode()).hexdigest()[:8]}"


def sizes(text: str) -> list[int]:
    """Numbers that are separated by commas."""
    return [int(one) for one in text.split(",")]
