"""When a new folder can be searched: by words, and by meaning as well.

    python -m benchmarks.speed.first_answer [--data FOLDER] [--files 100]

The model is the one that ships. When a run says that it begins to make vectors, a second reader
checks that the index has every file.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from benchmarks.speed.figures import (
    Clock,
    command_line,
    documents,
    kept_folder,
    ratio,
    save,
    sizes,
    table,
)
from benchmarks.speed.material import write_files

from dowse import Dowse
from dowse._model import Event


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--files", default="100", help="numbers of files")
    options = parser.parse_args()
    rows = []
    for count in sizes(options.files):
        rows.append(measure(documents(options), count))
        save("first_answer", rows)  # the next one may take long
    print(first_table(rows))


def first_table(rows: Sequence[dict[str, float]]) -> str:
    """When words and when all vectors can be searched."""
    heads = ("files", "chunks", "words after, s (CPU s)", "all vectors after, s (CPU s)", "÷")
    return table(heads, [_cells(row) for row in rows])


def _cells(row: dict[str, float]) -> list[object]:
    moments = [f"{row[one]:.1f} ({row[f'{one} CPU']:.1f})" for one in ("words", "vectors")]
    return [row["files"], row["chunks"], *moments, ratio(row["vectors"], row["words"])]


def measure(files: Sequence[Path], count: int) -> dict[str, float]:
    """One row: seconds from the start of the first run."""
    folder = kept_folder(f"{count}-files", files)
    shutil.rmtree(folder, ignore_errors=True)
    write_files(files, count, folder / "docs")
    moments: list[tuple[float, float]] = []
    with Dowse(folder / "docs", home=folder / "home") as project:
        clock = Clock()

        def note(event: Event) -> None:
            if event.stage == "waiting" and not moments:
                moments.append((clock.elapsed, clock.cpu))
                if len(project.documents()) != count:
                    raise SystemExit("A reader does not see all files yet.")

        report = project.index(progress=note)
        whole = clock.elapsed, clock.cpu
    row = {"files": count, "chunks": report.chunks, "words": moments[0][0], "vectors": whole[0]}
    return row | {"words CPU": moments[0][1], "vectors CPU": whole[1]}


def real_index(files: Sequence[Path], count: int) -> Path:
    """The folder of an index with real vectors; it is made where there is none."""
    folder = kept_folder(f"{count}-files", files)
    if not (folder / "home").exists():
        measure(files, count)
    return folder / "home"


if __name__ == "__main__":
    main()
