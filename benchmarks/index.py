"""How fast a folder is indexed: where the time goes, and against a plain stack in the same run.

    python -m benchmarks.index FOLDER [--files N] [--peer PYTHON] [--no-embed]

The peer is LlamaIndex's Markdown splitter, sentence-transformers and FAISS, with the same weights,
run by the Python of an environment that has benchmarks/peer-requirements.txt installed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from training.minilm import unpack

from dowse._model import IndexReport
from dowse._project.workspace import Workspace

STAGES = ("scan", "read", "parse", "chunk", "store", "waiting", "vocabulary", "communities")


def sample(folder: Path, count: int, target: Path) -> Path:
    """Copies evenly spread files, so that the peer and dowse index the very same ones."""
    files = sorted(path for path in folder.rglob("*.md") if path.is_file())
    count = min(count, len(files))
    for path in (files[place * len(files) // count] for place in range(count)):
        copy = target / path.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    return target


@contextmanager
def workspace(folder: Path) -> Iterator[Workspace]:
    """A user who has nothing but the weights."""
    before = {name: os.environ.get(name) for name in ("DOWSE_CONFIG_DIR", "DOWSE_DATA_DIR")}
    os.environ |= {"DOWSE_CONFIG_DIR": f"{folder}/config", "DOWSE_DATA_DIR": f"{folder}/data"}
    try:
        yield Workspace()
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


def measure_dowse(folder: Path, *, embed: bool) -> dict[str, float]:
    """Indexes from nothing, then again without any change."""
    with tempfile.TemporaryDirectory() as temporary, workspace(Path(temporary)) as user:
        project = user.projects.add([folder])
        overrides = {} if embed else {"embed.provider": "none"}
        with user.open(project, overrides) as engine:
            start = time.perf_counter()
            report = engine.index()
            if report.notices:
                raise SystemExit(" ".join(report.notices))
            seconds = time.perf_counter() - start
        with user.open(project, overrides) as engine:
            start = time.perf_counter()
            engine.index()
            rescan = time.perf_counter() - start
            size = engine.status().bytes
        return _figures(report, seconds, rescan, size)


def _figures(report: IndexReport, seconds: float, rescan: float, size: int) -> dict[str, float]:
    stages = {f"{stage} s": report.seconds.get(stage, 0.0) for stage in STAGES}
    return {
        "files": report.added,
        "chunks": report.chunks,
        "seconds": seconds,
        "files/s": report.added / seconds,
        "chunks/s": report.chunks / seconds,
        **stages,
        "rescan s": rescan,
        "index MB": size / 1e6,
    }


def measure_peer(python: str, folder: Path) -> dict[str, float]:
    """Runs the plain stack over the same files."""
    script = Path(__file__).with_name("peer_llamaindex.py")
    with tempfile.TemporaryDirectory() as weights:
        unpack(Path(weights))
        done = subprocess.run(
            [python, str(script), str(folder), weights], stdout=subprocess.PIPE, check=True
        )
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def show(title: str, figures: dict[str, float]) -> None:
    """Prints figures as rows of a Markdown table."""
    print(f"\n| {title} | |\n|---|---|")
    for name, value in figures.items():
        print(f"| {name} | {value:,.2f} |" if value % 1 else f"| {name} | {value:,.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, help="index only so many files, evenly spread")
    parser.add_argument("--peer", metavar="PYTHON", help="also run the plain stack")
    parser.add_argument("--no-embed", action="store_true", help="keyword index only")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder.resolve()
        if options.files:
            folder = sample(folder, options.files, Path(temporary))
        print(f"{options.folder.name}: Python {sys.version.split()[0]}, {os.cpu_count()} cores")
        ours = measure_dowse(folder, embed=not options.no_embed)
        show("dowse", ours)
        if options.peer:
            theirs = measure_peer(options.peer, folder)
            show("LlamaIndex + sentence-transformers + FAISS", theirs)
            print(f"\nfiles/s, dowse to the plain stack: {ours['files/s'] / theirs['files/s']:.2f}")
            ratio = theirs["again s"] / ours["rescan s"]
            print(f"second run without a change, the plain stack to dowse: {ratio:,.0f}")


if __name__ == "__main__":
    main()
