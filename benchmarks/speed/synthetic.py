"""Indexes of any size with synthetic vectors, made once and used by several tables."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from benchmarks.speed.figures import KEPT, Clock, kept_folder
from benchmarks.speed.material import SyntheticEmbedder, real_embedder
from benchmarks.speed.multiplied import Multiplied

from dowse import Dowse
from dowse._index.options import ChunkOptions
from dowse._model.ports import Embedder

COPIED = 95_000
"""An index of so many chunks becomes larger by copies of its rows."""


@dataclass(frozen=True, slots=True)
class Built:
    """An index on disk."""

    folder: str  # has docs/ and home/
    files: int
    chunks: int
    stored: int  # of these, what was stored in addition to a smaller index
    seconds: float  # that storing them took
    cpu: float


def built(files: Sequence[Path], chunks: int) -> Built:
    """The index of about so many chunks; one of an earlier run is used again."""
    folder = kept_folder(f"{chunks}-chunks", files)
    note = folder / "built.json"
    if note.exists():
        return _read(note)
    shutil.rmtree(folder, ignore_errors=True)
    smaller = _largest_below(folder, chunks)
    if smaller is None:
        (folder / "docs").mkdir(parents=True)
    else:
        _copy(Path(smaller.folder), folder)
    made = _grown(folder, smaller, _multiplied(tuple(files)), chunks)
    note.write_text(json.dumps(asdict(made)), "utf-8")
    return made


@cache
def _multiplied(files: tuple[Path, ...]) -> Multiplied:
    return Multiplied(files, ChunkOptions())


def _grown(folder: Path, smaller: Built | None, documents: Multiplied, chunks: int) -> Built:
    """The index with more documents; a run over the folder then finds nothing to change."""
    files, before = (smaller.files, smaller.chunks) if smaller else (0, 0)
    with opened(folder) as project:
        project.index()
        clock = Clock()
        if before >= COPIED:
            from benchmarks.speed.copied import Copies  # noqa: PLC0415  not for older checkouts

            files, after = Copies(project).store(chunks)
        else:
            new, stored = _stored(project, documents, files, chunks - before)
            files, after = files + new, before + stored
        seconds, cpu = clock.elapsed, clock.cpu
        report = project.index()
    if report.added or report.changed or report.removed:
        raise SystemExit(f"The index is not one of its folder: {report}")
    return Built(str(folder), files, after, after - before, seconds, cpu)


def _stored(project: Dowse, documents: Multiplied, first: int, chunks: int) -> tuple[int, int]:
    store, embedder = project._engine.parts.store, SyntheticEmbedder(real_embedder())  # noqa: SLF001
    with store.write() as writing:
        return documents.store(writing, embedder, project.project.roots[0], first, chunks)


def _largest_below(folder: Path, chunks: int) -> Built | None:
    """The largest index of the same files that is smaller; copies are not copied again."""
    made_of = folder.name.rpartition("-")[2]
    found = map(_read, KEPT.glob(f"*-chunks-{made_of}/built.json"))
    smaller = [one for one in found if one.chunks < chunks and one.chunks - one.stored < COPIED]
    return max(smaller, key=lambda one: one.chunks, default=None)


def _read(note: Path) -> Built:
    return Built(**json.loads(note.read_text("utf-8")))


def _copy(source: Path, target: Path) -> None:
    """Copies a folder and its index; times stay, so that no file seems to have changed."""
    shutil.copytree(source, target)
    (target / "built.json").unlink()
    for settings in (target / "home").rglob("project.toml"):
        text = settings.read_text("utf-8")
        text = text.replace(str(source.resolve()), str(target.resolve()))
        settings.write_text(text, "utf-8")


def opened(
    folder: Path | str, times: list[float] | None = None, real: Embedder | None = None
) -> Dowse:
    """The project of an index that was built here; `times` gets those of embedding queries."""
    place = Path(folder)
    embedder = SyntheticEmbedder(real or real_embedder(), times)
    return Dowse(place / "docs", home=place / "home", embedder=embedder)
