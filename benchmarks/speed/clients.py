"""`dowse serve` next to the library, and under many clients, over an index of any size.

    python -m benchmarks.speed.clients [--data FOLDER] [--chunks 20000] [--seconds 10]

benchmarks/load.py does the same for a project of yours.
"""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.load import measure, serving
from benchmarks.speed.figures import command_line, documents, ratio, save, table
from benchmarks.speed.synthetic import built, opened


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    index = built(documents(options), options.chunks)
    home = Path(index.folder) / "home"
    places = {"DOWSE_CONFIG_DIR": f"{home}/config", "DOWSE_DATA_DIR": f"{home}/data"}
    with (
        opened(index.folder) as library,
        serving(library.project.name, {**os.environ, **places}) as server,
    ):
        figures = measure(library, server, seconds=options.seconds)
    save("clients", figures | {"chunks": index.chunks})


def clients_table(row: dict[str, float]) -> str:
    """How HTTP and many clients compare with one caller of the library."""
    heads = (
        "chunks",
        "library, ms",
        "HTTP, ms",
        "HTTP ÷ library",
        "clients",
        "requests/s",
        "p50 (p99), ms",
        "errors",
        "throughput ÷ (cores ÷ time of one)",
        "CPU ms of a request: alone, together",
    )
    cells = [
        *(row[name] for name in ("chunks", "library", "http")),
        ratio(row["http"], row["library"]),
        row["clients"],
        row["rate"],
        f"{row['together']:.1f} ({row['p99']:.1f})",
        row["errors"],
        row["share"],
        f"{row['alone CPU']:.1f}, {row['together CPU']:.1f}",
    ]
    return table(heads, [cells])


if __name__ == "__main__":
    main()
