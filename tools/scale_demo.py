"""Two processes index the sample vault into PostgreSQL, two search it, and the server is killed.

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

from postgresql_server import Postgresql

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
        server = Postgresql(Path(folder) / "database", keep=True)
        server.start()
        say("PostgreSQL with pgvector answers.")
        try:
            for search in ("local", "postgresql"):
                show(server, search)
        finally:
            server.kill()


def show(server: Postgresql, search: str) -> None:
    """The demo itself, with one kind of search index."""
    run("index", str(VAULT), "-p", "demo")
    embedded = [hits(query) for query in QUERIES]
    say(f"The index in SQLite is the measure. Now PostgreSQL, store.search = {search}:")
    for option, value in (("name", f"demo_{search}"), ("search", search), ("url", server.url)):
        run("config", "set", f"store.{option}", value, "-p", "demo")
    with ThreadPoolExecutor(2) as processes:
        list(processes.map(index_part, ("1/2", "2/2")))
        say("Two processes have indexed a part each. One run without a part finishes the index:")
        print(run("index", "-p", "demo"))
        both = [list(processes.map(hits, QUERIES)) for _ in range(2)]
    compare(embedded, *both)
    say("The server is killed, as by a power cut, and started again.")
    server.kill()
    server.start()
    compare(embedded, [hits(query) for query in QUERIES])
    print(run("doctor", "-p", "demo"))
    say("Moving the index back into the project's folder.")
    print(run("move", "-p", "demo", "--to", "here"))
    compare(embedded, [hits(query) for query in QUERIES])
    run("project", "remove", "demo", "--yes")


def index_part(part: str) -> str:
    """Indexes one part in a process of its own."""
    return run("index", "-p", "demo", "--shard", part, "--wait", "60")


def compare(embedded: list[list[str]], *others: list[list[str]]) -> None:
    """Prints the first result of each query; fails when a process found something else."""
    for place, query in enumerate(QUERIES):
        same = all(other[place] == embedded[place] for other in others)
        first = (embedded[place] or ["nothing"])[0]
        print(f"  {'same' if same else 'DIFFERENT':9}  {query:46}  {first}")
    if any(other != embedded for other in others):
        raise SystemExit("The index in PostgreSQL finds something else than the embedded one.")


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
