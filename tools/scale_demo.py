"""Moves the sample vault into a real engine, searches it from two processes, and moves it back.

make scale-demo
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from milvus_lite_server import MilvusLite

DOWSE = Path(sys.executable).with_name("dowse")
VAULT = Path(__file__).parent.parent / "examples" / "vault"
QUERIES = (
    "why do the masts not carry a SIM card",
    "calibrate the rain gauge",
    "restore a backup of the database",
    "what happens when the gateway loses its clock",
    "solar panel in winter",
)


def main() -> None:
    """Runs the demo in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="dowse-scale-") as folder:
        for name in ("config", "data"):
            os.environ[f"DOWSE_{name.upper()}_DIR"] = f"{folder}/{name}"
        server = MilvusLite(Path(folder) / "engine")
        server.start()
        say(f"Milvus Lite's server answers at {server.url}.")
        try:
            show(server.url)
        finally:
            server.kill()


def show(url: str) -> None:
    """The demo itself."""
    run("index", str(VAULT), "-p", "demo")
    embedded = [hits(query) for query in QUERIES]
    say("Moving the index into the engine; no model runs.")
    print(run("move", "-p", "demo", "--to", url))
    with ThreadPoolExecutor(2) as processes:
        both = [list(processes.map(hits, QUERIES)) for _ in range(2)]
    say("Two processes searched the engine. First results, embedded and in the engine:")
    for query, before, one, other in zip(QUERIES, embedded, *both, strict=True):
        same = "same" if before == one == other else "DIFFERENT"
        print(f"  {same:9}  {query:46}  {(one or ['nothing'])[0]}")
    if any(found != embedded for found in both):
        raise SystemExit("The engine finds something else than the embedded index.")
    say("All results are the same. One search from the engine:")
    print(run("search", "-p", "demo", "-n", "2", QUERIES[0]))
    say("Moving the index back into the project's folder.")
    print(run("move", "-p", "demo", "--to", "here"))
    if [hits(query) for query in QUERIES] != embedded:
        raise SystemExit("The index that was moved back finds something else than before.")
    say("All results are as they were at first.")


def hits(query: str) -> list[str]:
    """The passages that a process of its own finds."""
    found = json.loads(run("search", "-p", "demo", "--json", query))["hits"]
    return [f"{hit['document']}:{hit['first_line']}" for hit in found]


def run(*line: str) -> str:
    """What a command prints."""
    done = subprocess.run(  # noqa: S603  (dowse itself)
        [DOWSE, *line], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"dowse {' '.join(line)} failed:\n{done.stderr}")
    return done.stdout


def say(text: str) -> None:
    """A line between two steps."""
    print(f"\n{text}", flush=True)


if __name__ == "__main__":
    main()
