"""How long it takes until an edit of one file can be searched, in an index that is there."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.speed.figures import Clock
from benchmarks.speed.synthetic import opened

from dowse import Dowse

_EDITS = 5


def measure_edits(folder: Path) -> dict[str, float]:
    """Milliseconds from an edit until words find it: with a run over the folder, and as watched.

    A run opens the index as a new process does. The first edit is not counted: it takes notes that
    the copy of an index does not have.
    """
    files = sorted((folder / "docs").rglob("*.md"))[:: 2 * _EDITS]

    def run(_: Path, word: str) -> None:
        with opened(folder) as project:
            project.index()
            _find(project, word)

    run_times = [_timed(path, run) for path in files[: _EDITS + 1]][1:]
    with opened(folder) as watched:
        watched.search("everything is open")

        def follow(path: Path, word: str) -> None:
            watched._engine.index([path])  # noqa: SLF001  (as the watcher does)
            _find(watched, word)

        watch_times = [_timed(path, follow) for path in files[-_EDITS:]]
    return _medians("index edit", run_times) | _medians("watch edit", watch_times)


def _timed(path: Path, update: Callable[[Path, str], None]) -> tuple[float, float]:
    """Elapsed and CPU milliseconds of one edit."""
    word = f"quokka{time.time_ns()}"
    path.write_text(f"{path.read_text('utf-8')}\n{word}\n", "utf-8")
    clock = Clock()
    update(path, word)
    return 1000 * clock.elapsed, 1000 * clock.cpu


def _find(project: Dowse, word: str) -> None:
    if not project.search(word, mode="keyword").hits:
        raise SystemExit(f"The edit with {word} was not found.")


def _medians(name: str, times: list[tuple[float, float]]) -> dict[str, float]:
    elapsed, cpu = zip(*times, strict=True)
    return {name: median(elapsed), f"{name} CPU": median(cpu)}
