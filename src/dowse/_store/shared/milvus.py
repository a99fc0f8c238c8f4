"""Milvus as a search index: a server, a cluster, or Milvus Lite's server, over its own client."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # its core writes to the terminal as well

from msgspec import Struct, field
from pymilvus import DataType, MilvusClient

from dowse._model import ChunkKey, Scores, Vector
from dowse._store.shared.client import EngineClient
from dowse._store.shared.engine import Row, Weights

_NOWHERE = {0: 1.0}  # Milvus takes no empty sparse vector; no term has the number 0
_PATIENCE = 5.0  # seconds for Milvus Lite to show what it took
_MOMENT = 0.005  # seconds between two looks at it

logging.getLogger("pymilvus").setLevel(logging.CRITICAL + 1)  # it logs what it raises as well


class MilvusTuning(Struct, frozen=True):
    """How an index is built and asked, as Milvus calls it."""

    index: str = "AUTOINDEX"
    build: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    shards: int = 1
    replicas: int = 1
    timeout: float = 30.0


class Milvus:
    """Rows with a dense and two sparse vectors each, and nothing else."""

    most = 16_384

    def __init__(self, client: EngineClient, tuning: MilvusTuning | None = None) -> None:
        self._client = client
        self._tuning = tuning or MilvusTuning()
        self._how = {"timeout": self._tuning.timeout}
        self._dimensions: dict[str, int] = {}

    def create(self, name: str, dimensions: int) -> None:
        """Make a collection, and load it."""
        tuning = self._tuning
        schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("key", DataType.INT64, is_primary=True)
        schema.add_field("dense", DataType.FLOAT_VECTOR, dim=max(2, dimensions))
        for sparse in ("body", "code"):
            schema.add_field(sparse, DataType.SPARSE_FLOAT_VECTOR)
        with self._client.asking("make a collection") as client:
            indexes = client.prepare_index_params()
            build = {"params": dict(tuning.build)} if tuning.build else {}
            indexes.add_index("dense", index_type=tuning.index, metric_type="IP", **build)
            for sparse in ("body", "code"):
                indexes.add_index(sparse, index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
            client.create_collection(
                name,
                schema=schema,
                index_params=indexes,
                num_shards=tuning.shards,
                consistency_level="Strong",
                **self._how,
            )
            client.load_collection(name, replica_number=tuning.replicas, **self._how)
        self._dimensions[name] = max(2, dimensions)

    def put(self, name: str, rows: Sequence[Row]) -> None:
        """Write rows."""
        if not rows:
            return
        width = self._width(name)
        entities = [_entity(row, width) for row in rows]
        with self._client.asking("take rows") as client:
            if self._is_lite and not self._there(name, rows):
                # To replace rows, Milvus Lite reads all keys: 60 ms for 60,000 rows.
                client.insert(name, entities, **self._how)
            else:
                client.upsert(name, entities, **self._how)
            deadline = time.monotonic() + _PATIENCE
            # It shows 2 of 3,200 rows some milliseconds late.
            while self._is_lite and self._there(name, rows) < len(rows):
                if time.monotonic() > deadline:
                    break
                time.sleep(_MOMENT)

    def remove(self, name: str, keys: Sequence[ChunkKey]) -> None:
        """Remove rows, as far as there are any."""
        if keys:
            with self._client.asking("remove rows") as client:
                client.delete(name, ids=list(keys), **self._how)

    def settle(self, name: str, chunks: int) -> None:
        """Need nothing: Milvus builds its indexes while it takes rows."""

    def terms(self, name: str, keys: Sequence[ChunkKey]) -> Iterator[tuple[str, list[int]]]:
        """Return the field and the terms of each sparse vector of some rows."""
        if not keys:
            return
        for row in self._query(name, keys, ["body", "code"]):
            for one in ("body", "code"):
                if terms := [int(number) for number in row[one] if int(number)]:
                    yield one, terms

    def keys(self, name: str) -> set[ChunkKey]:
        """Return all rows."""
        keys: set[ChunkKey] = set()
        with self._client.asking("be read") as client:
            pages = client.query_iterator(
                name,
                filter="key >= 0",
                batch_size=10_000,
                output_fields=["key"],
                consistency_level="Strong",
                **self._how,
            )
            while page := pages.next():
                keys.update(row["key"] for row in page)
        return keys

    def nearest(
        self, name: str, vector: Vector, limit: int, among: Sequence[ChunkKey] | None
    ) -> Scores:
        """Return the rows whose dense vectors have the highest inner products, best first."""
        params = dict(self._tuning.query)
        return self._best(name, vector.tolist(), "dense", limit=limit, among=among, params=params)

    def weigh(
        self, name: str, field: str, weights: Weights, limit: int, among: Sequence[ChunkKey] | None
    ) -> Scores:
        """Return the rows whose sparse vectors have the highest inner products, best first."""
        return self._best(name, dict(weights), field, limit=limit, among=among, params={})

    def names(self, prefix: str) -> list[str]:
        """Return the collections whose names begin so."""
        with self._client.asking("list its collections") as client:
            return [one for one in client.list_collections(**self._how) if one.startswith(prefix)]

    def drop(self, name: str) -> None:
        """Remove a collection."""
        with self._client.asking("remove a collection") as client:
            client.drop_collection(name, **self._how)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    @cached_property
    def _is_lite(self) -> bool:
        with self._client.asking("say its version") as client:
            try:
                return "lite" in str(client.get_server_version(**self._how)).lower()
            except Exception as error:  # gRPC's own error, or the client's around it
                if "unimplemented" not in str(error).lower():
                    raise
        return True  # it does not say any

    def _width(self, name: str) -> int:
        if name not in self._dimensions:
            with self._client.asking("be asked") as client:
                fields = client.describe_collection(name, **self._how)["fields"]
            dense = next(one for one in fields if one["name"] == "dense")
            self._dimensions[name] = int(dense["params"]["dim"])
        return self._dimensions[name]

    def _there(self, name: str, rows: Sequence[Row]) -> int:
        return len(self._query(name, [row.key for row in rows], ["key"]))

    def _query(
        self, name: str, keys: Sequence[ChunkKey], fields: Sequence[str]
    ) -> list[Mapping[str, Any]]:
        with self._client.asking("be read") as client:
            found: list[Mapping[str, Any]] = client.query(
                name,
                filter=_among(keys),
                output_fields=list(fields),
                consistency_level="Strong",
                **self._how,
            )
        return found

    def _best(
        self,
        name: str,
        query: Any,
        using: str,
        *,
        limit: int,
        among: Sequence[ChunkKey] | None,
        params: dict[str, Any],
    ) -> Scores:
        with self._client.asking("search") as client:
            (found,) = client.search(
                name,
                data=[query],
                anns_field=using,
                limit=limit,
                filter="" if among is None else _among(among),
                search_params={"metric_type": "IP", "params": params},
                consistency_level="Strong",
                **self._how,
            )
        return [(int(hit.get("key", hit.get("id"))), float(hit["distance"])) for hit in found]


def open_client(url: str, token: str, database: str, timeout: float) -> MilvusClient:
    """Return the client of a server."""
    client = MilvusClient(url, token=token, db_name=database, timeout=timeout)
    client.list_collections(timeout=timeout)  # only a call makes the connection
    return client


def _entity(row: Row, dimensions: int) -> dict[str, Any]:
    dense = [0.0] * dimensions if row.vector is None else row.vector.tolist()
    return {
        "key": row.key,
        "dense": dense,
        "body": dict(row.body) or _NOWHERE,
        "code": dict(row.code) or _NOWHERE,
    }


def _among(keys: Sequence[ChunkKey]) -> str:
    return f"key in [{', '.join(map(str, keys))}]"
