"""Qdrant as a search index: a server or a cluster, over its own client."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import closing
from http.client import HTTPConnection, HTTPSConnection
from typing import Any

from qdrant_client import QdrantClient, models

from dowse._model import ChunkKey, Scores
from dowse._model.store_options import StoreOptions
from dowse._store.shared.engine import (
    REACH,
    SEARCH,
    SPARSE,
    WIDTH,
    Filter,
    Query,
    RemoteEngine,
    Row,
    Weights,
)

_BYTES = 4_000_000  # of a request; a server takes 32 MB
_PAGE = 10_000


class Qdrant(RemoteEngine):
    """Points with a dense and two sparse vectors each, and the facets of their documents."""

    most = 1_000_000

    def __init__(self, options: StoreOptions, key: str = "") -> None:
        super().__init__(options, key)
        self._ready: set[str] = set()  # collections whose payload index this process has asked for

    def _connect(self) -> QdrantClient:
        self._ping()  # to make a client takes long enough
        with warnings.catch_warnings():  # a key over plain HTTP is the user's choice, in the docs
            warnings.simplefilter("ignore")
            return QdrantClient(
                url=self._address.http if self._address else "",
                api_key=self._key or None,
                timeout=max(1, round(self._options.timeout)),
                check_compatibility=False,
            )

    def _ping(self, client: QdrantClient | None = None) -> None:  # noqa: ARG002  (it has one timeout)
        if self._address:
            kind = HTTPSConnection if self._address.tls else HTTPConnection
            host = self._address.host.strip("[]")
            with closing(kind(host, self._address.port, timeout=REACH)) as asked:
                asked.request("GET", "/healthz")
                asked.getresponse().read()

    def create(self, name: str, dimensions: int) -> None:
        """Make a collection."""
        options = self._options
        dense = models.VectorParams(
            size=max(1, dimensions),
            distance=models.Distance.DOT,  # cosine would change the vectors that are kept
            hnsw_config=models.HnswConfigDiff.model_validate(options.build_values)
            if options.build
            else None,
            quantization_config=_QUANTIZATION[options.quantization],
        )
        with self.asking("make a collection") as client:
            client.create_collection(
                name,
                vectors_config={"dense": dense},
                sparse_vectors_config={field: models.SparseVectorParams() for field in SPARSE},
                shard_number=options.shards,
                replication_factor=options.replicas,
                write_consistency_factor=options.replicas,
            )
        self._index_payload(name)

    def _index_payload(self, name: str) -> None:
        # Before the first row, and again by whoever goes on: what filters needs it from the start.
        if name in self._ready:
            return
        with self.asking("index a payload field") as client:
            client.create_payload_index(
                name,
                "facets",
                models.IntegerIndexParams(
                    type=models.IntegerIndexType.INTEGER, lookup=True, range=False
                ),
            )
        self._ready.add(name)

    def settle(self, name: str, chunks: int) -> None:  # noqa: ARG002  (it builds while it takes rows)
        """Let the alias of the index name this collection."""
        alias = name.rpartition("_")[0]
        gone = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias))
        made = models.CreateAlias(collection_name=name, alias_name=alias)
        with self.asking("switch an alias") as client:
            client.update_collection_aliases([gone, models.CreateAliasOperation(create_alias=made)])

    def put(self, name: str, rows: Sequence[Row]) -> None:
        """Write points."""
        self._index_payload(name)
        requests: list[list[models.PointStruct]] = [[]]
        size = 0
        for row in rows:
            # As JSON: 14 characters of a number in a vector, 36 of a term with its weight.
            dense = 0 if row.vector is None else len(row.vector)
            room = 100 + 14 * dense + 36 * (len(row.body) + len(row.code)) + 12 * len(row.facets)
            if requests[-1] and size + room > _BYTES:
                requests.append([])
                size = 0
            requests[-1].append(_point(row))
            size += room
        for points in requests:
            with self.asking("take rows") as client:
                client.upsert(name, points, wait=True, ordering=models.WriteOrdering.STRONG)

    def remove(self, name: str, keys: Sequence[ChunkKey]) -> None:
        """Remove points, as far as there are any."""
        with self.asking("remove rows") as client:
            client.delete(name, list(keys), wait=True, ordering=models.WriteOrdering.STRONG)

    def keys(self, name: str) -> set[ChunkKey]:
        """Return all points."""
        keys: set[ChunkKey] = set()
        place: Any = None
        while True:
            with self.asking("be read") as client:
                page, place = client.scroll(
                    name, limit=_PAGE, offset=place, with_payload=False, **self._reading
                )
            keys.update(point.id for point in page if isinstance(point.id, int))
            if place is None:
                return keys

    def search(self, name: str, using: str, query: Query, limit: int, within: Filter) -> Scores:
        """Find the points whose vectors have the highest inner products, best first."""
        # The mode of the client without a server has no graph.
        values = {"hnsw_ef": max(WIDTH, limit), **self._options.query_values}
        params = models.SearchParams.model_validate(values) if self._address else None
        must: list[Any] = [_with_any(numbers) for numbers in within.having]
        if within.keys is not None:
            must.append(models.HasIdCondition(has_id=list(within.keys)))
        without: list[Any] = [_with_any(within.without)] if within.without else []
        with self.asking(SEARCH) as client:
            found = client.query_points(
                name,
                query=_sparse(query) if isinstance(query, Mapping) else query.tolist(),
                using=using,
                limit=limit,
                query_filter=models.Filter(must=must, must_not=without),
                search_params=params,
                with_payload=False,
                **self._reading,
            ).points
        # Others may have written here: what they call their points, no chunk is called.
        return [(one.id, float(one.score)) for one in found if isinstance(one.id, int)]

    def names(self, prefix: str) -> list[str]:
        """Return the collections whose names begin so."""
        with self.asking("list its collections") as client:
            found = client.get_collections().collections
        return [one.name for one in found if one.name.startswith(prefix)]

    def drop(self, name: str) -> None:
        """Remove a collection."""
        with self.asking("remove a collection") as client:
            client.delete_collection(name)

    @property
    def _reading(self) -> dict[str, Any]:
        # A copy that lags behind must not answer for all.
        return {"consistency": "majority"} if self._options.replicas > 1 else {}


def _point(row: Row) -> models.PointStruct:
    vector: dict[str, Any] = {
        field: _sparse(weights)
        for field, weights in zip(SPARSE, (row.body, row.code), strict=True)
        if weights
    }
    if row.vector is not None:
        vector["dense"] = row.vector.tolist()
    return models.PointStruct(id=row.key, vector=vector, payload={"facets": list(row.facets)})


def _with_any(numbers: Sequence[int]) -> models.FieldCondition:
    return models.FieldCondition(key="facets", match=models.MatchAny(any=list(numbers)))


def _sparse(weights: Weights) -> models.SparseVector:
    places = sorted(weights)
    return models.SparseVector(indices=places, values=[weights[place] for place in places])


_QUANTIZATION: dict[str, models.QuantizationConfig | None] = {
    "none": None,
    "scalar": models.ScalarQuantization(
        scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
    ),
    "binary": models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True)),
}
