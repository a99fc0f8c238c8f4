"""How long it takes until words find an edit that is made while a first index is embedded.

    python -m benchmarks.speed.edited [--data FOLDER] [--files 400]

One process indexes a folder with the model that ships. Once it makes vectors, files are edited, one
after the other, and this process searches for each edit until it finds it. Where other programs use
the machine, the CPU time of the run meanwhile, on all cores, says how long it would take.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from statistics import median

from benchmarks.load import cpu_of
from benchmarks.speed.figures import Clock, command_line, documents, kept_folder, save, table
from benchmarks.speed.material import ROOT, write_files

from dowse import Dowse
from dowse.errors import Locked

_EDITS = 3
_RUN = "import sys; from dowse import Dowse; Dowse(sys.argv[1], home=sys.argv[2]).index()"


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--files", type=int, default=400)
    options = parser.parse_args()
    files = documents(options)
    folder = kept_folder(f"{options.files}-edited", files)
    shutil.rmtree(folder, ignore_errors=True)
    docs, home = folder / "docs", folder / "home"
    write_files(files, options.files, docs)
    with Dowse(docs, home=home) as reader:  # it makes the project, which the run then has
        line = [sys.executable, "-c", _RUN, str(docs), str(home)]
        with subprocess.Popen(line, cwd=ROOT) as run:
            _wait(run, lambda: bool(reader.documents()))
            edited = sorted(docs.iterdir())[:_EDITS]
            edits = [_until_found(reader, path, run) for path in edited]
            run.terminate()
    elapsed, used = zip(*edits, strict=True)
    figures = {"files": options.files, "median": median(elapsed), "longest": max(elapsed)}
    figures |= {"median CPU": median(used), "longest CPU": max(used)}
    save("edited", figures)
    print(edited_table(figures))


def _until_found(reader: Dowse, path: Path, run: subprocess.Popen[bytes]) -> tuple[float, float]:
    """Elapsed seconds, and CPU seconds of the run."""
    word = f"quokka{time.time_ns()}"
    path.write_text(f"{path.read_text('utf-8')}\n{word}\n", "utf-8")
    clock, before = Clock(), cpu_of(run.pid)
    _wait(run, lambda: bool(reader.search(word, mode="keyword").hits))
    return clock.elapsed, cpu_of(run.pid) - before


def _wait(run: subprocess.Popen[bytes], until: Callable[[], bool]) -> None:
    while run.poll() is None:
        with suppress(Locked):  # the run has no time to finish what it has begun to store
            if until():
                return
        time.sleep(0.02)
    raise SystemExit("The run ended before the edits were found. Take more files.")


HEADS = ("files", "median, s", "longest, s", "median, CPU s of the run", "longest, CPU s")


def edited_table(figures: dict[str, float]) -> str:
    """Seconds until words find an edit."""
    return table(HEADS, [tuple(figures.values())])


if __name__ == "__main__":
    main()
