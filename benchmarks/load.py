"""Many clients at once: the throughput and the waiting times of `dowse serve`.

    python benchmarks/load.py -p PROJECT --clients 16 --seconds 20
    python benchmarks/load.py -p PROJECT --mode keyword

One client asks alone first, then all of them ask at the same time, the same queries in the same
run. `of cores` is the throughput over that of as many lone clients as there are cores: 1 means
that requests do not get in each other's way. The clients run in one process, on the same machine,
so a part of the processor is theirs; `server` says how busy the server itself was, and how much
processor time one request took, which other programs on the machine change least.

Before that, each query is asked in turn of the library, in this process, and over HTTP. `HTTP ÷
library` compares the shortest times of each query, which other programs lengthen least.
"""

from __future__ import annotations

import argparse
import http.client
import json
import math
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from dowse import Dowse
from dowse._search.strategies import MODES, Mode

_WARM_UP = 20  # queries that are not counted
_ROUNDS = 12  # in which each query is asked of the library and over HTTP
_QUERIES = (
    "how do I restore a backup",
    "configuration file",
    "why does the connection fail",
    "getting started",
    "what changed in the last version",
    "error message",
    "list of options",
    "install on another machine",
)


@dataclass
class Load:
    """What some clients saw."""

    seconds: list[float] = field(default_factory=list)  # of each request that was answered
    errors: int = 0
    wall: float = 0.0
    busy: float = 0.0  # seconds of processor time of the server

    @property
    def rate(self) -> float:
        """Requests in a second."""
        return len(self.seconds) / self.wall

    def at(self, share: float) -> float:
        """The time under which this share of the requests was answered, in milliseconds."""
        ordered = sorted(self.seconds)
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-p", "--project", required=True)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=20.0)
    modes = [mode.name for mode in MODES]
    parser.add_argument("--mode", default="hybrid", choices=modes)
    parser.add_argument("--queries", type=Path, help="a file with one query in a line")
    asked = parser.parse_args()
    queries = asked.queries.read_text("utf-8").splitlines() if asked.queries else _QUERIES
    with Dowse(asked.project) as library, serving(asked.project) as server:
        measure(
            library,
            server,
            queries=queries,
            mode=asked.mode,
            clients=asked.clients,
            seconds=asked.seconds,
        )


def measure(
    library: Dowse,
    server: tuple[int, int],
    *,
    queries: Sequence[str] = _QUERIES,
    mode: Mode = "hybrid",
    clients: int = 16,
    seconds: float = 20.0,
) -> dict[str, float]:
    """Asks a server and the library; prints and returns how they compare."""
    port, process = server
    paths = [f"/api/v1/search?query={quote(query)}&mode={mode}" for query in queries]
    _ask(port, paths, _WARM_UP, float("inf"), Load())
    in_library, over_http = _compared(library, port, paths, queries, mode)
    print(f"one query: library {1000 * in_library:.1f} ms, HTTP {1000 * over_http:.1f} ms")
    print(f"HTTP ÷ library: {over_http / in_library:.2f}")
    alone = _load(port, process, paths, 1, seconds / 4)
    together = _load(port, process, paths, clients, seconds)
    figures = {"library": 1000 * in_library, "http": 1000 * over_http}
    return figures | _print(alone, together, clients)


@contextmanager
def serving(
    project: str, environment: Mapping[str, str] | None = None
) -> Iterator[tuple[int, int]]:
    """A server of its own, with its port and the number of its process."""
    command = [sys.executable, "-m", "dowse", "serve", "-p", project]
    process = subprocess.Popen(
        [*command, "--port", "0", "--json", "--no-watch"],
        stdout=subprocess.PIPE,
        env=environment,
    )
    try:
        if process.stdout is None or not (said := process.stdout.readline()):
            raise SystemExit("The server did not start.")
        yield int(json.loads(said)["address"].rstrip("/").rpartition(":")[2]), process.pid
    finally:
        process.terminate()
        process.wait(30)


def _compared(
    library: Dowse, port: int, paths: Sequence[str], queries: Sequence[str], mode: Mode
) -> tuple[float, float]:
    """The mean over the queries of their shortest times: in the library, and over HTTP."""
    shortest = dict.fromkeys(range(len(queries)), (math.inf, math.inf))
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for place, query in [*enumerate(queries)] * _ROUNDS:
        begin = time.perf_counter()
        library.search(query, mode=mode)
        between = time.perf_counter()
        connection.request("GET", paths[place])
        connection.getresponse().read()
        end = time.perf_counter()
        known = shortest[place]
        shortest[place] = min(known[0], between - begin), min(known[1], end - between)
    connection.close()
    of_library, of_http = zip(*shortest.values(), strict=True)
    return statistics.mean(of_library), statistics.mean(of_http)


def _load(port: int, process: int, paths: Sequence[str], clients: int, seconds: float) -> Load:
    """So many clients, each with a connection of its own, ask for so long."""
    loads = [Load() for _ in range(clients)]
    busy, begin = cpu_of(process), time.perf_counter()
    threads = [
        threading.Thread(
            target=_ask, args=(port, [*paths[place:], *paths[:place]], None, begin + seconds, one)
        )
        for place, one in ((number % len(paths), load) for number, load in enumerate(loads))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Load(
        [one for load in loads for one in load.seconds],
        sum(load.errors for load in loads),
        time.perf_counter() - begin,
        cpu_of(process) - busy,
    )


def _ask(port: int, paths: Sequence[str], count: int | None, end: float, load: Load) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    number = 0
    while time.perf_counter() < end and (count is None or number < count):
        begin = time.perf_counter()
        try:
            connection.request("GET", paths[number % len(paths)])
            response = connection.getresponse()
            response.read()
            answered = response.status == http.client.OK
        except (OSError, http.client.HTTPException):
            connection.close()
            answered = False
        if answered:
            load.seconds.append(time.perf_counter() - begin)
        else:
            load.errors += 1
        number += 1
    connection.close()


def cpu_of(process: int) -> float:
    """The processor time of a process and its workers; 0 where the system does not say."""
    ticks = 0
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            fields = status.read_text("utf-8").rpartition(")")[2].split()
            if process in {int(status.parent.name), int(fields[1])}:
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _print(alone: Load, together: Load, clients: int) -> dict[str, float]:
    print("clients  requests/s  p50 ms  p99 ms  p99/p50  errors  server: cores busy  CPU ms each")
    for count, load in ((1, alone), (clients, together)):
        p50, p99, busy = load.at(0.5), load.at(0.99), load.busy / load.wall
        figures = f"{p50:>7.1f} {p99:>7.1f} {p99 / p50:>8.1f} {load.errors:>7} {busy:>19.2f}"
        print(f"{count:>7}  {load.rate:>10.1f} {figures} {1000 * busy / load.rate:>12.1f}")
    cores = os.cpu_count() or 1
    share = together.rate * statistics.median(alone.seconds) / cores
    print(f"of cores: {share:.2f} (throughput × time of one query / {cores} cores)")
    return {
        "clients": clients,
        "rate": together.rate,
        "share": share,
        "errors": alone.errors + together.errors,
        "alone": alone.at(0.5),
        "together": together.at(0.5),
        "p99": together.at(0.99),
        "alone CPU": 1000 * alone.busy / len(alone.seconds),
        "together CPU": 1000 * together.busy / len(together.seconds),
    }


if __name__ == "__main__":
    main()
