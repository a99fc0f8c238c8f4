"""How the time of a query, of an edit and to open, and memory grow with an index.

    python -m benchmarks.speed.growth [--data FOLDER] [--chunks 2000,20000]

Documents are copies of a collection with a fifth of their words replaced. Their vectors are random,
made by a hash of the text; queries are embedded by the model. Above 100,000 chunks the rows of the
database are copied (copied.py). An index is measured in processes of its own. Every query is asked
without a filter, with one that a fifth of the documents pass, with one that a hundredth pass, by
words alone, of SQLite's FTS5 over the same chunks (any of the words, bm25, snippet), and embedded
alone, in turns, so that a busy machine slows all of them. Results of any confidence are taken:
otherwise a search looks for a good match outside of its filter, and random vectors have none.
Ratios are of medians of CPU time, which is that of all threads, also of those that wait for work.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.speed.editing import measure_edits
from benchmarks.speed.figures import (
    Clock,
    command_line,
    documents,
    p50,
    p95,
    ratio,
    save,
    sizes,
    table,
)
from benchmarks.speed.material import ROOT, questions, real_embedder
from benchmarks.speed.synthetic import Built, built, opened

_ASKED, _WARM = 60, 5
_SHOWN = 5  # results


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--chunks", default="2000,20000", help="sizes, about")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--edit", help=argparse.SUPPRESS)
    options = parser.parse_args()
    files = documents(options)
    if options.measure:
        print(json.dumps(measure(Path(options.measure), questions(files, _ASKED + _WARM))))
        return
    if options.edit:
        print(json.dumps(measure_edits(Path(options.edit))))
        return
    rows = list[dict[str, Any]]()
    for size in sizes(options.chunks):
        rows.append(_row(built(files, size), options))
        save("growth", rows)  # the next size may take long
    print(growth_table(rows))


def _row(index: Built, options: argparse.Namespace) -> dict[str, Any]:
    figures = {"chunks": index.chunks, "files": index.files}
    for part in ("--measure", "--edit"):
        line = [sys.executable, "-m", "benchmarks.speed.growth", part, index.folder]
        line += ["--data", str(options.data)] if options.data else []
        done = subprocess.run(line, cwd=ROOT, stdout=subprocess.PIPE, check=True)
        figures |= json.loads(done.stdout.splitlines()[-1])
    return figures


def measure(folder: Path, asked: Sequence[str]) -> dict[str, float]:
    """The figures of one index."""
    clock, embedder = Clock(), real_embedder()
    with opened(folder, real=embedder) as project:
        project.search(asked[0], mode="keyword")
        figures = {"open": 1000 * clock.elapsed}
        any_match = partial(project.search, min_confidence=0.0)
        ways: dict[str, Callable[[str], object]] = {
            "all": any_match,
            "fifth": partial(any_match, where="part<20"),
            "hundredth": partial(any_match, where="part<1"),
            "fifth, no match": partial(project.search, where="part<20"),
            "keyword": partial(any_match, mode="keyword"),
            "fts5": fts5(folder),
            "embedding": embedder.query,
        }
        times, used = in_turns(ways, asked)
    figures["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures |= {name: p50(some) for name, some in times.items()}
    figures |= {f"{name} CPU": p50(some) for name, some in used.items()}
    figures |= {f"{name} least": 1000 * min(some) for name, some in used.items()}
    return figures | {"p95": p95(times["all"])}


def in_turns(
    ways: Mapping[str, Callable[[str], object]], asked: Sequence[str]
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Elapsed and CPU seconds of every query in every way; the first ones are not counted."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    used: dict[str, list[float]] = {name: [] for name in ways}
    for query in asked:
        for name, ask in ways.items():
            clock = Clock()
            ask(query)
            used[name].append(clock.cpu)
            times[name].append(clock.elapsed)
    return {name: some[_WARM:] for name, some in times.items()}, {
        name: some[_WARM:] for name, some in used.items()
    }


def fts5(folder: Path) -> Callable[[str], object]:
    """SQLite's own search, over the same chunks."""
    (index,) = (folder / "home").rglob("index.db")
    database = sqlite3.connect("file::memory:", uri=True)
    database.execute("ATTACH ? AS indexed", (f"file:{index}?mode=ro",))
    database.execute("CREATE VIRTUAL TABLE t USING fts5(text, tokenize='porter unicode61')")
    database.execute(
        'INSERT INTO t (rowid, text) SELECT c.key, substr(d.text, c.start + 1, c."end" - c.start)'
        " FROM indexed.chunks c JOIN indexed.documents d ON d.key = c.document"
    )
    found = (
        "SELECT rowid, text, snippet(t, 0, '**', '**', '…', 32) FROM t WHERE t MATCH ?"
        " ORDER BY bm25(t) LIMIT ?"
    )

    def ask(query: str) -> object:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
        return database.execute(found, (words, _SHOWN)).fetchall()

    return ask


HEADS = (
    "chunks",
    "hybrid query, p50 (p95), ms",
    "÷ the smallest index",
    "÷ embedding the query alone",
    "by words, ÷ SQLite FTS5",
    "a fifth passes, ÷ unfiltered",
    "a hundredth passes, ÷ unfiltered",
    "a fifth passes, no good match, ÷ unfiltered",
    "hybrid, by words, FTS5, embedding, CPU ms",
    "open and answer by words, ms",
    "peak memory, MB",
    "edit of one file, `dowse index`, ms (CPU)",
    "edit of one file, watched, ms (CPU)",
)


def growth_table(rows: list[dict[str, Any]]) -> str:
    """The figures, and how they relate to each other."""
    return table(HEADS, [_cells(row, rows[0]) for row in rows])


def _cells(row: dict[str, Any], smallest: dict[str, Any]) -> list[object]:
    return [
        row["chunks"],
        f"{row['all']:.1f} ({row['p95']:.1f})",
        ratio(row["all CPU"], smallest["all CPU"]),
        ratio(row["all CPU"], row["embedding CPU"]),
        ratio(row["keyword CPU"], row["fts5 CPU"]),
        ratio(row["fifth CPU"], row["all CPU"]),
        ratio(row["hundredth CPU"], row["all CPU"]),
        ratio(row["fifth, no match CPU"], row["all CPU"]),
        ", ".join(f"{row[f'{one} CPU']:.1f}" for one in ("all", "keyword", "fts5", "embedding")),
        row["open"],
        row["memory"],
        f"{row['index edit']:,.0f} ({row['index edit CPU']:,.0f})",
        f"{row['watch edit']:,.0f} ({row['watch edit CPU']:,.0f})",
    ]


if __name__ == "__main__":
    main()
