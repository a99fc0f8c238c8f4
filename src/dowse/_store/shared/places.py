"""Where shared indexes are: in a database, under a name that the project's folder keeps."""

from __future__ import annotations

from pathlib import Path

from dowse._model import Announce, silent
from dowse._model.ports import Analyzer
from dowse._store.keyword import KeywordReplica
from dowse._store.replicas import Replicas
from dowse._store.shared.connection import Address
from dowse._store.shared.engine import EngineIndexes
from dowse._store.shared.local import LocalIndexes
from dowse._store.shared.pgvector import PgVector
from dowse._store.shared.server import PostgresSchema
from dowse._store.shared.store import PostgresStore
from dowse._store.vectors.replica import VectorReplica


def opened(
    address: Address, search: str, folder: Path, analyzer: Analyzer, announce: Announce = silent
) -> PostgresStore:
    """The store at an address; nothing is opened yet."""

    def replicas() -> Replicas:
        return Replicas(folder, KeywordReplica(folder, analyzer), VectorReplica(folder), announce)

    server = PostgresSchema(address)
    if search == "local":
        return PostgresStore(server, LocalIndexes(folder, replicas), analyzer)
    indexes = EngineIndexes(search, "rows", PgVector, analyzer)
    return PostgresStore(server, indexes, analyzer)
