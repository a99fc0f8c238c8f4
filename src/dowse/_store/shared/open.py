"""Open the store of an index in a database, with the clients of what searches it.

The clients are loaded here and nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dowse import DISTRIBUTION
from dowse._model import Announce
from dowse._model.ports import Analyzer
from dowse._model.store_options import StoreOptions
from dowse.errors import BadSettings, EngineFailed

if TYPE_CHECKING:
    from dowse._store.shared.store import PostgresStore, SearchIndexes

_LOCAL = "search"
"""The folder of a project in which the indexes of this machine are."""


def open_store(  # noqa: PLR0917
    options: StoreOptions,
    name: str,
    project: Path,
    analyzer: Analyzer,
    announce: Announce,
    note_down: Callable[[bool], None],
) -> PostgresStore:
    """Open the store of these options; `note_down` hears whether the index is a new one."""
    try:
        from dowse._store.shared.connection import Address  # noqa: PLC0415
        from dowse._store.shared.server import PostgresSchema  # noqa: PLC0415
        from dowse._store.shared.store import PostgresStore  # noqa: PLC0415
    except ImportError as error:
        raise _not_installed(error) from error
    parameters: dict[str, Any] = {**options.database, "password": _key("token_env", options)}
    if "sslmode" in parameters and not os.environ.get("PGSSLROOTCERT"):
        parameters["sslrootcert"] = "system"
    address = Address(options.url, parameters, name, options.timeout)
    indexes = _search_indexes(options, project, analyzer, announce)
    return PostgresStore(PostgresSchema(address, note_down), indexes, analyzer)


def _search_indexes(
    options: StoreOptions, project: Path, analyzer: Analyzer, announce: Announce
) -> SearchIndexes:
    """Return the indexes that `store.search` names."""
    if options.search == "local":
        from dowse._store.shared.local import LocalIndexes  # noqa: PLC0415

        return LocalIndexes(project / _LOCAL, analyzer, announce)
    from dowse._store.shared.engine import EngineIndexes  # noqa: PLC0415

    address = options.engine
    if address is None:
        from dowse._store.shared.pgvector import PgVector  # noqa: PLC0415

        return EngineIndexes(options.search, PgVector, analyzer)
    key, timeout = _key("search_token_env", options), options.timeout
    try:
        from dowse._store.shared.client import EngineClient  # noqa: PLC0415

        if address.kind == "milvus":
            from dowse._store.shared import milvus  # noqa: PLC0415

            def opened() -> Any:
                return milvus.open_client(address.http, key, address.database, timeout)

            engine: Any = milvus.Milvus(
                EngineClient(options.search, opened, address.host, address.port),
                milvus.MilvusTuning(
                    options.index,
                    options.build_values,
                    options.query_values,
                    options.shards,
                    options.replicas,
                    timeout,
                ),
            )
        else:
            from dowse._store.shared import qdrant  # noqa: PLC0415

            engine = qdrant.Qdrant(
                EngineClient(
                    options.search,
                    lambda: qdrant.open_client(address.http, key, timeout),
                    address.host,
                    address.port,
                ),
                qdrant.QdrantTuning(
                    options.build_values,
                    options.query_values,
                    options.quantization,
                    options.shards,
                    options.replicas,
                ),
            )
    except ImportError as error:
        raise _not_installed(error) from error
    return EngineIndexes(options.search, lambda _: engine, analyzer)


def _not_installed(error: ImportError) -> EngineFailed:
    return EngineFailed(
        f"What connects to the database is not installed: {error}.",
        f"Install it with: pip install '{DISTRIBUTION}[scale]'",
    )


def _key(option: str, options: StoreOptions) -> str:
    variable = str(getattr(options, option))
    if not variable:
        return ""
    key = os.environ.get(variable, "")
    if not key:
        raise BadSettings(
            f"store.{option} names {variable}, which is not set in the environment.",
            f"Set it: export {variable}=KEY",
        )
    return key
