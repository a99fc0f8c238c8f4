"""Indexes of any size with synthetic vectors, made once and used by several tables."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.speed.figures import Clock, kept_folder
from benchmarks.speed.material import CHARACTERS, SyntheticEmbedder, real_embedder, write_copies

from dowse import Dowse
from dowse.ports import Embedder


@dataclass(frozen=True, slots=True)
class Built:
    """An index on disk."""

    folder: str  # has docs/ and home/
    files: int
    chunks: int
    seconds: float  # that building it took
    cpu: float


def built(files: Sequence[Path], chunks: int) -> Built:
    """The index of about so many chunks; one of an earlier run is used again."""
    folder = kept_folder(f"{chunks}-chunks", files)
    note = folder / "built.json"
    if note.exists():
        return Built(**json.loads(note.read_text("utf-8")))
    shutil.rmtree(folder, ignore_errors=True)
    count = write_copies(files, chunks * CHARACTERS, folder / "docs")
    clock = Clock()
    with opened(folder) as project:
        report = project.index()
    made = Built(str(folder), count, report.chunks, clock.elapsed, clock.cpu)
    note.write_text(json.dumps(asdict(made)), "utf-8")
    return made


def opened(
    folder: Path | str, times: list[float] | None = None, real: Embedder | None = None
) -> Dowse:
    """The project of an index that was built here; `times` gets those of embedding queries."""
    place = Path(folder)
    embedder = SyntheticEmbedder(real or real_embedder(), times)
    return Dowse(place / "docs", home=place / "home", embedder=embedder)
