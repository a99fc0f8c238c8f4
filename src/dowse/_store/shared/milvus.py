"""Milvus as a search index: a server, a cluster, or Milvus Lite's server, over its own client."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # its core writes to the terminal as well

from pymilvus import DataType, MilvusClient, MilvusException

from dowse._model import ChunkKey, Scores
from dowse._store.shared.engine import (
    FACETS,
    REACH,
    SEARCH,
    SPARSE,
    Filter,
    Query,
    RemoteEngine,
    Row,
)

_NOWHERE = {0: 1.0}  # Milvus takes no empty sparse vector; no term has the number 0
_PATIENCE = 5.0  # seconds for Milvus Lite to show what it took
_MOMENT = 0.005  # seconds between two looks at it

logging.getLogger("pymilvus").setLevel(logging.CRITICAL + 1)  # it logs what it raises as well


class Milvus(RemoteEngine):
    """Rows with a dense and two sparse vectors each, and the facets of their documents."""

    most = 16_384

    @cached_property
    def _how(self) -> dict[str, Any]:
        return {"timeout": self._options.timeout}

    def _connect(self) -> MilvusClient:
        address = self._address
        if address is None:
            raise AssertionError("store.search names a server")
        return MilvusClient(address.http, token=self._key, db_name=address.database, timeout=REACH)

    def _ping(self, client: MilvusClient) -> None:
        client.list_collections(timeout=REACH)

    def create(self, name: str, dimensions: int) -> None:
        """Make a collection, and load it."""
        options = self._options
        schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("key", DataType.INT64, is_primary=True)
        schema.add_field("dense", DataType.FLOAT_VECTOR, dim=max(2, dimensions))
        for sparse in SPARSE:
            schema.add_field(sparse, DataType.SPARSE_FLOAT_VECTOR)
        schema.add_field("facets", DataType.ARRAY, element_type=DataType.INT64, max_capacity=FACETS)
        with self.asking("make a collection") as client:
            indexes = client.prepare_index_params()
            build = {"params": options.build_values} if options.build else {}
            indexes.add_index("dense", index_type=options.index, metric_type="IP", **build)
            for sparse in SPARSE:
                indexes.add_index(sparse, index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
            if not self._is_lite:
                indexes.add_index("facets", index_type="INVERTED")
            client.create_collection(
                name,
                schema=schema,
                index_params=indexes,
                num_shards=options.shards,
                consistency_level="Strong",
                **self._how,
            )
            client.load_collection(name, replica_number=options.replicas, **self._how)

    def put(self, name: str, rows: Sequence[Row]) -> None:
        """Write rows."""
        keys = [row.key for row in rows]
        with self.asking("take rows") as client:
            fields = client.describe_collection(name, **self._how)["fields"]
            nowhere = [0.0] * int(
                next(one for one in fields if one["name"] == "dense")["params"]["dim"]
            )
            entities = [
                {
                    "key": row.key,
                    "dense": nowhere if row.vector is None else row.vector.tolist(),
                    "body": dict(row.body) or _NOWHERE,
                    "code": dict(row.code) or _NOWHERE,
                    "facets": list(row.facets),
                }
                for row in rows
            ]
            if self._is_lite and not self._count(name, keys):
                # To replace rows, Milvus Lite reads all keys: 60 ms for 60,000 rows.
                client.insert(name, entities, **self._how)
            else:
                client.upsert(name, entities, **self._how)
            deadline = time.monotonic() + _PATIENCE
            # It shows 2 of 3,200 rows some milliseconds late.
            while self._is_lite and time.monotonic() < deadline:
                if self._count(name, keys) >= len(rows):
                    break
                time.sleep(_MOMENT)

    def remove(self, name: str, keys: Sequence[ChunkKey]) -> None:
        """Remove rows, as far as there are any."""
        with self.asking("remove rows") as client:
            client.delete(name, ids=list(keys), **self._how)

    def keys(self, name: str) -> set[ChunkKey]:
        """Return all rows."""
        with self.asking("be read") as client:
            pages = client.query_iterator(
                name,
                filter="key >= 0",
                batch_size=10_000,
                output_fields=["key"],
                consistency_level="Strong",
                **self._how,
            )
            return {row["key"] for page in iter(pages.next, []) for row in page}

    def search(self, name: str, using: str, query: Query, limit: int, within: Filter) -> Scores:
        """Find the rows whose vectors have the highest inner products, best first."""
        asked, params = (
            (dict(query), {})
            if isinstance(query, Mapping)
            else (query.tolist(), self._options.query_values)
        )
        allowed = [f"array_contains_any(facets, {[*numbers]})" for numbers in within.having]
        if within.keys is not None:
            allowed.append(_among(within.keys))
        if within.without and not self._is_lite:  # which cannot say that a field has none of them
            allowed.append(f"not array_contains_any(facets, {[*within.without]})")
        with self.asking(SEARCH) as client:
            (found,) = client.search(
                name,
                data=[asked],
                anns_field=using,
                limit=limit,
                filter=" and ".join(allowed),
                search_params={"metric_type": "IP", "params": params},
                consistency_level="Strong",
                **self._how,
            )
        return [(int(hit.get("key", hit.get("id"))), float(hit["distance"])) for hit in found]

    def names(self, prefix: str) -> list[str]:
        """Return the collections whose names begin so."""
        with self.asking("list its collections") as client:
            return [one for one in client.list_collections(**self._how) if one.startswith(prefix)]

    def settle(self, name: str, chunks: int) -> None:  # noqa: ARG002  (it builds while it takes rows)
        """Let the alias of the index name this collection."""
        if not self._is_lite:
            alias = name.rpartition("_")[0]
            with self.asking("switch an alias") as client:
                try:
                    client.alter_alias(name, alias, **self._how)
                except MilvusException:  # there was none
                    client.create_alias(name, alias, **self._how)

    def drop(self, name: str) -> None:
        """Remove a collection; one that has an alias cannot be."""
        with self.asking("remove a collection") as client:
            if not self._is_lite:
                for alias in client.list_aliases(name, **self._how)["aliases"]:
                    client.drop_alias(alias, **self._how)
            client.drop_collection(name, **self._how)

    @cached_property
    def _is_lite(self) -> bool:
        with self.asking("say its version") as client:
            try:
                return "lite" in str(client.get_server_version(**self._how)).lower()
            except Exception as error:  # gRPC's own error, or the client's around it
                if "unimplemented" not in str(error).lower():
                    raise
        return True  # it does not say any

    def _count(self, name: str, keys: Sequence[ChunkKey]) -> int:
        with self.asking("be read") as client:
            return len(
                client.query(
                    name,
                    filter=_among(keys),
                    output_fields=["key"],
                    consistency_level="Strong",
                    **self._how,
                )
            )


def _among(keys: Sequence[ChunkKey]) -> str:
    return f"key in [{', '.join(map(str, keys))}]"
