"""Milvus Lite's server, for tests, benchmarks and the demo: a real engine from the package index.

python tools/milvus_lite_server.py FOLDER [--port 19530]
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

_PATIENCE = 60.0  # seconds for the server to answer
_LOADING = 1.0  # seconds more: it answers before it has read its collections


class MilvusLite:
    """Milvus Lite's server, in a process of its own; it listens on this machine alone."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.folder = folder.resolve()
        self.port = port or free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address as the setting `store.url` has it."""
        return f"milvus://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Starts the server, and waits until it answers."""
        # Its Python package needs a module that newer setuptools lack; its program needs nothing.
        found = importlib.util.find_spec("milvus_lite")
        if found is None or not found.submodule_search_locations:
            raise FileNotFoundError(
                "Milvus Lite is not installed: pip install 'milvus-lite>=2.5.1,<3'"
            )
        programs = Path(found.submodule_search_locations[0]) / "lib"
        self.folder.mkdir(parents=True, exist_ok=True)
        address = f"127.0.0.1:{self.port}"
        self.process = subprocess.Popen(  # noqa: S603  (the program of an installed package)
            [programs / "milvus", self.folder / "milvus.db", address, "FATAL"],
            env={**os.environ, "LD_LIBRARY_PATH": str(programs)},
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._wait()

    def kill(self) -> None:
        """Kills the server, as a power cut would; what it acknowledged is on the disk."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _wait(self) -> None:
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            if self.process is None or self.process.poll() is not None:
                raise ChildProcessError("Milvus Lite ended before it answered.")
            with socket.socket() as connection:
                if connection.connect_ex(("127.0.0.1", self.port)) == 0:
                    time.sleep(_LOADING)
                    return
            time.sleep(0.05)
        raise TimeoutError(f"Milvus Lite does not answer on port {self.port}.")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """Runs the server until it is stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=19530)
    arguments = parser.parse_args()
    server = MilvusLite(arguments.folder, arguments.port)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # so that the server ends as well
    server.start()
    print(server.url, flush=True)  # what is started next needs it
    try:
        if server.process:
            server.process.wait()
    finally:
        server.kill()


if __name__ == "__main__":
    main()
