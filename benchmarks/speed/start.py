"""How long a command takes in a fresh process, in this checkout and in another one.

    python -m benchmarks.speed.start [--data FOLDER] [--before CHECKOUT] [--rounds 10]

Both checkouts run the same lines with the Python of this environment, in turns; each has its own
index of the sample vault, and its own cache. CPU time is that of the whole process, the least of
all rounds. With `--data`, words are searched in that folder as well, without a model.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.speed.figures import Clock, command_line, ratio, save, table
from benchmarks.speed.material import ROOT

_QUERY = "restore a backup"
_LINES: dict[str, Sequence[str]] = {
    "`dowse --help`": ["--help"],
    "`dowse search --mode keyword`": ["search", "-p", "vault", "--mode", "keyword", _QUERY],
    "`dowse search`": ["search", "-p", "vault", _QUERY],
}
_LARGER = "`dowse search --mode keyword`, larger folder"


@dataclass(frozen=True, slots=True)
class Checkout:
    """A state of dowse, and where its files are."""

    place: Path
    environment: Mapping[str, str]

    def run(self, *line: str, **settings: str) -> tuple[float, float]:
        """The CPU and the elapsed milliseconds of a line in a process of its own."""
        clock = Clock()
        subprocess.run(
            [sys.executable, "-m", "dowse", *line],
            env={**self.environment, **settings},
            check=True,
            capture_output=True,
        )
        return 1000 * clock.cpu, 1000 * clock.elapsed


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--before", type=Path, help="another checkout")
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    places = {"now": ROOT} | ({"before": options.before.resolve()} if options.before else {})
    with tempfile.TemporaryDirectory() as home:
        checkouts = {name: _checkout(place, Path(home) / name) for name, place in places.items()}
        for one in checkouts.values():
            _prepare(one, options.data)
        lines = _LINES | ({_LARGER: _in_data()} if options.data else {})
        times = measure(checkouts, lines, options.rounds)
    save("start", times)
    print(start_table(times))


def _checkout(place: Path, home: Path) -> Checkout:
    # With their bytecode, as they are installed, and without a change to the checkout.
    own = {f"DOWSE_{name}_DIR": f"{home}/{name.lower()}" for name in ("CONFIG", "DATA", "CACHE")}
    own |= {"PYTHONPATH": f"{place}/src", "PYTHONPYCACHEPREFIX": f"{home}/bytecode"}
    others = {name: said for name, said in os.environ.items() if not name.startswith("PYTHON")}
    return Checkout(place, others | own)


def _prepare(checkout: Checkout, data: Path | None) -> None:
    checkout.run("index", str(ROOT / "examples" / "vault"), "-p", "vault")
    if data:
        checkout.run("index", str(data), "-p", "data", "-q", DOWSE_EMBED_PROVIDER="none")
        checkout.run("config", "set", "-p", "data", "embed.provider", "none")


def _in_data() -> list[str]:
    return ["search", "-p", "data", "--mode", "keyword", _QUERY]


def measure(
    checkouts: Mapping[str, Checkout], lines: Mapping[str, Sequence[str]], rounds: int
) -> dict[str, dict[str, tuple[float, float]]]:
    """The least CPU and elapsed milliseconds of every line in every checkout."""
    times = dict[str, dict[str, tuple[float, float]]]()
    for named, line in lines.items():
        seen: dict[str, list[tuple[float, float]]] = {name: [] for name in checkouts}
        for _ in range(rounds + 1):  # the first run writes bytecode
            for name, one in checkouts.items():
                seen[name].append(one.run(*line))
        times[named] = {name: _least(some[1:]) for name, some in seen.items()}
    return times


def _least(times: Sequence[tuple[float, float]]) -> tuple[float, float]:
    used, elapsed = zip(*times, strict=True)
    return min(used), min(elapsed)


def start_table(times: Mapping[str, Mapping[str, tuple[float, float]]]) -> str:
    """CPU milliseconds before and now, their ratio, and the elapsed ones."""
    heads = ["a fresh process", "before, CPU ms (elapsed)", "now, CPU ms (elapsed)", "now ÷ before"]
    return table(heads, _rows(times))


def _rows(times: Mapping[str, Mapping[str, tuple[float, float]]]) -> Iterator[Sequence[object]]:
    for line, seen in times.items():
        before, now = seen.get("before"), seen["now"]
        yield line, before and _said(before), _said(now), ratio(now[0], before and before[0])


def _said(times: tuple[float, float]) -> str:
    return f"{times[0]:.0f} ({times[1]:.0f})"


if __name__ == "__main__":
    main()
