"""Engines that tests can start or reach, and stores over them."""

from __future__ import annotations

import atexit
import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from dowse.ports import Analyzer, Store

if TYPE_CHECKING:
    from dowse.store.remote.rows import Rows

_PATIENCE = 60.0  # seconds for a server to answer


class MilvusLite:
    """Milvus Lite's server, in a process of its own."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.folder = folder
        self.port = port or free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address as a setting has it."""
        return f"milvus://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Starts the server, and waits until it answers."""
        # Its Python package needs a module that newer setuptools lack; its program needs nothing.
        found = importlib.util.find_spec("milvus_lite")
        assert found is not None
        assert found.submodule_search_locations is not None
        programs = Path(found.submodule_search_locations[0]) / "lib"
        self.folder.mkdir(parents=True, exist_ok=True)
        address = f"127.0.0.1:{self.port}"
        self._process = subprocess.Popen(
            [programs / "milvus", self.folder / "milvus.db", address, "FATAL"],
            env={**os.environ, "LD_LIBRARY_PATH": str(programs)},
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._wait()

    def kill(self) -> None:
        """Kills the server, as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _wait(self) -> None:
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            with socket.socket() as connection:
                if connection.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise TimeoutError(f"Milvus Lite does not answer on port {self.port}.")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@cache
def milvus_lite() -> MilvusLite:
    """The server that all tests of this process share."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108
    folder = Path(tempfile.mkdtemp(prefix="dowse-milvus-", dir=base))
    server = MilvusLite(folder)
    server.start()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.kill)
    return server


@cache
def milvus_rows(url: str = "") -> Rows:
    """The rows of the shared server, or of one that is named."""
    from dowse.store.remote.milvus import MilvusRows, MilvusTuning  # noqa: PLC0415

    address = (url or milvus_lite().url).replace("milvus://", "http://")
    return MilvusRows(address, tuning=MilvusTuning(index="FLAT" if not url else "AUTOINDEX"))


@cache
def qdrant_rows(url: str = "") -> Rows:
    """The rows of the client's local mode, or of a server that is named."""
    from qdrant_client import QdrantClient  # noqa: PLC0415

    from dowse.store.remote.qdrant import QdrantRows  # noqa: PLC0415

    if url:
        return QdrantRows(url, lambda: QdrantClient(url=url.replace("qdrant://", "http://")))
    client = QdrantClient(":memory:")
    client.close = lambda *_, **__: None  # type: ignore[method-assign]  # all it holds would be lost
    return QdrantRows("local", lambda: client, local=True)


def remote_store(rows: Callable[[], Rows], name: str, analyzer: Analyzer) -> Store:
    """A store over an engine, under a name that no other test has."""
    from dowse.store.remote.store import RemoteStore  # noqa: PLC0415

    return RemoteStore(rows, f"{name}_{uuid.uuid4().hex[:8]}", analyzer)


def _remote(rows: Callable[[], Rows]) -> Callable[[Path, Analyzer], Store]:
    return lambda path, analyzer: remote_store(rows, path.name, analyzer)


REMOTE: dict[str, Callable[[Path, Analyzer], Store]] = {
    "milvus-lite": _remote(milvus_rows),
    "qdrant-local": _remote(qdrant_rows),
}
"""Remote stores by name: what every machine can start, and servers that the environment names."""

if url := os.environ.get("DOWSE_TEST_MILVUS_URL"):
    REMOTE["milvus"] = _remote(lambda: milvus_rows(url))
if url := os.environ.get("DOWSE_TEST_QDRANT_URL"):
    REMOTE["qdrant"] = _remote(lambda: qdrant_rows(url))
