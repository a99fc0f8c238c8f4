"""dowse next to other ways to search a folder, in one run.

    python -m benchmarks.speed.peers [--data FOLDER] [--files 100] [--only NAME,NAME | all]

SQLite's FTS5 needs no package. Each other peer is installed from its own, in an environment below
build/bench/peers; all of them take 14 GB. All of them get the same chunks, and the vectors that
dowse has made of them with its own model, so that no model is part of the comparison. dowse reads,
parses and cuts the files in addition. One row more has sentence-transformers make the vectors, with
all-MiniLM-L6-v2, next to dowse with its own model. A peer that cannot be installed or run is listed
with the reason.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.speed.figures import Clock, cell, command_line, documents, p50, ratio, save, table
from benchmarks.speed.installing import Failed, Installed, install_dowse, install_npm, install_pip
from benchmarks.speed.material import questions, real_embedder, write_files
from benchmarks.speed.peer_dowse import WEIGHTS, Known, measure_dowse, write_material

_ASKED = 45  # of which the first five are not counted
_COMMANDS = 8  # queries for programs that are started for each
Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Peer:
    """Another way to search."""

    name: str  # of the function in peer.py
    words: str
    packages: tuple[str, ...]  # from PyPI; none: the standard library of Python is enough
    against: str = "hybrid"  # the row of dowse that does the same


PEERS = (
    Peer("fts5", "SQLite FTS5: words", (), "keyword"),
    Peer("plain", "Whoosh + FAISS, fused", ("whoosh", "faiss-cpu", "sentence-transformers")),
    Peer(
        "plain_embedding",
        "Whoosh + FAISS + sentence-transformers",
        ("whoosh", "faiss-cpu", "sentence-transformers"),
        "with the model",
    ),
    Peer("lancedb", "LanceDB: hybrid", ("lancedb",)),
    Peer("chroma", "Chroma: vectors alone", ("chromadb",)),
    Peer("txtai", "txtai: hybrid", ("txtai",)),
)


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--only", default="fts5", help="names of peers, or all")
    options = parser.parse_args()
    names = [*(peer.name for peer in PEERS), "qmd"]
    wanted = set(names if options.only == "all" else options.only.split(","))
    if unknown := wanted.difference(names):
        raise SystemExit(f"There is no peer {', '.join(unknown)}. There are: {', '.join(names)}.")
    files = documents(options)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_files(files, options.files, folder / "docs")
        known = Known(real_embedder())
        asked = questions(files, _ASKED)
        ours = measure_dowse(folder, known, asked)
        write_material(folder, known, asked)
        if "plain_embedding" in wanted:
            from training.minilm import unpack  # noqa: PLC0415  it needs what developers install

            unpack(folder / WEIGHTS)
        rows: dict[str, Figures] = {f"dowse: {name}": dict(row) for name, row in ours.items()}
        rows["dowse: hybrid"] |= _attempt(lambda: vars_of(install_dowse()))
        for peer in PEERS:
            if peer.name in wanted:
                rows[peer.words] = {"against": peer.against} | _attempt(_of(peer, folder))
        if "qmd" in wanted:
            rows |= commands(folder, asked[:_COMMANDS])
    save("peers", {"files": options.files, "chunks": len(known.vectors), "rows": rows})
    print(f"{options.files:,} files, {len(known.vectors):,} chunks\n\n{peer_table(rows)}")


def _attempt(measure: Callable[[], Figures]) -> Figures:
    try:
        return measure()
    except Failed as error:
        return {"failed": str(error)}


def vars_of(installed: Installed) -> Figures:
    """What installing has cost."""
    return {"install": installed.seconds, "size": installed.megabytes}


def _of(peer: Peer, folder: Path) -> Callable[[], Figures]:
    def measure() -> Figures:
        installed = install_pip("-".join(peer.packages), peer.packages) if peer.packages else None
        python = installed.program("python") if installed else sys.executable
        script = Path(__file__).with_name("peer.py")
        done = _run([python, "-P", str(script), peer.name, str(folder), *peer.packages])
        figures: Figures = json.loads(done.splitlines()[-1])
        return figures | (vars_of(installed) if installed else {"install": 0.0, "size": 0.0})

    return measure


def _run(line: list[str], environment: Mapping[str, str] | None = None) -> str:
    """Runs a command without a model hub; returns what it prints."""
    hubs = {"HF_HUB_OFFLINE": "1", "ANONYMIZED_TELEMETRY": "False", "PYTHONPATH": ""}
    set_up = os.environ | hubs | dict(environment or {})
    try:
        done = subprocess.run(
            line, env=set_up, capture_output=True, text=True, check=True, timeout=600
        )
    except subprocess.TimeoutExpired:
        raise Failed("it takes longer than ten minutes") from None
    except subprocess.CalledProcessError as error:
        raise Failed((error.stderr.strip().splitlines() or ["it failed"])[-1][:150]) from error
    return done.stdout


def commands(folder: Path, asked: list[str]) -> dict[str, Figures]:
    """qmd is a command, not a library: its keyword search next to the command of dowse."""
    own = {"DOWSE_CONFIG_DIR": f"{folder}/config", "DOWSE_DATA_DIR": f"{folder}/data"}
    own |= {"DOWSE_EMBED_PROVIDER": "none"}
    dowse = str(Path(sys.executable).with_name("dowse"))
    rows = {}
    docs = str(folder / "docs")

    def measure_own() -> Figures:
        index = [dowse, "index", docs, "-p", "bench"]
        search = [dowse, "search", "-p", "bench", "--mode", "keyword"]
        return _timed(index, search, asked, own)

    def measure_qmd() -> Figures:
        installed = install_npm("@tobilu/qmd", "bun")
        modules = installed.folder / "node_modules"
        qmd, path = str(modules / ".bin" / "qmd"), f"{modules / '.bin'}:{os.environ['PATH']}"
        home = {"HOME": str(folder), "XDG_CACHE_HOME": f"{folder}/cache", "PATH": path}
        package = json.loads((modules / "@tobilu" / "qmd" / "package.json").read_text("utf-8"))
        index = [qmd, "collection", "add", docs, "--name", "bench"]
        return (
            _timed(index, [qmd, "search"], asked, home)
            | vars_of(installed)
            | {"version": package["version"]}
        )

    rows["dowse: command, words"] = _attempt(measure_own)
    rows["qmd: command, words"] = {"against": "command, words"} | _attempt(measure_qmd)
    return rows


def _timed(
    index: list[str], search: list[str], asked: list[str], environment: Mapping[str, str]
) -> Figures:
    clock = Clock()
    _run(index, environment)
    figures: Figures = {"index": clock.elapsed, "index CPU": clock.cpu}
    times, used = list[float](), list[float]()
    for query in asked:
        clock = Clock()
        _run([*search, query], environment)
        times.append(clock.elapsed)
        used.append(clock.cpu)
    return figures | {"query": p50(times), "query CPU": p50(used)}


def peer_table(rows: Mapping[str, Figures]) -> str:
    """The figures of each, and how they relate to those of dowse."""
    heads = (
        "",
        "version",
        "installing, s",
        "installed, MB",
        "index, s (CPU s)",
        "÷ dowse, CPU",
        "query, ms (CPU ms)",
        "÷ dowse, CPU",
    )
    return table(heads, [_cells(name, row, rows) for name, row in rows.items()])


def _cells(name: str, row: Figures, rows: Mapping[str, Figures]) -> list[object]:
    ours = rows.get(f"dowse: {row.get('against', '')}", {})
    cells: list[object] = [name, row.get("version"), row.get("install"), row.get("size")]
    if "failed" in row and "index" not in row:
        return [*cells, f"could not be measured: {row['failed']}", *([None] * 3)]
    for what in ("index", "query"):
        elapsed, used = row.get(what), row.get(f"{what} CPU")
        cells.append(f"{cell(elapsed)} ({cell(used)})")
        cells.append(ratio(used, ours.get(f"{what} CPU")))
    return cells


if __name__ == "__main__":
    main()
