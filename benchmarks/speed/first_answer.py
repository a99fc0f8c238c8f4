"""When a new folder can be searched: by words, and by meaning as well.

    python -m benchmarks.speed.first_answer [--data FOLDER] [--files 100,1000]

The model is the one that ships. When a run says that it begins to make vectors, a second reader
checks that the index has every file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.speed.figures import Clock, command_line, documents, ratio, save, sizes, table
from benchmarks.speed.material import write_files

from dowse import Dowse
from dowse.types import Event


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--files", default="100,1000", help="numbers of files")
    options = parser.parse_args()
    rows = [measure(documents(options), count) for count in sizes(options.files)]
    save("first_answer", rows)
    heads = ("files", "chunks", "words after, s (CPU s)", "all vectors after, s (CPU s)", "÷")
    print(table(heads, [_cells(row) for row in rows]))


def _cells(row: dict[str, float]) -> list[object]:
    moments = [f"{row[one]:.1f} ({row[f'{one} CPU']:.1f})" for one in ("words", "vectors")]
    return [row["files"], row["chunks"], *moments, ratio(row["vectors"], row["words"])]


def measure(files: Sequence[Path], count: int) -> dict[str, float]:
    """One row: seconds from the start of the first run."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, home = Path(temporary) / "docs", Path(temporary) / "home"
        write_files(files, count, folder)
        moments: list[tuple[float, float]] = []
        with Dowse(folder, home=home) as project:
            clock = Clock()

            def note(event: Event) -> None:
                if event.stage == "waiting" and not moments:
                    moments.append((clock.elapsed, clock.cpu))
                    if len(project.documents()) != count:
                        raise SystemExit("A reader does not see all files yet.")

            report = project.index(progress=note)
            return {
                "files": count,
                "chunks": report.chunks,
                "words": moments[0][0],
                "words CPU": moments[0][1],
                "vectors": clock.elapsed,
                "vectors CPU": clock.cpu,
            }


if __name__ == "__main__":
    main()
