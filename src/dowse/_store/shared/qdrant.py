"""Qdrant as a search index: a server or a cluster, over its own client."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from qdrant_client import QdrantClient, models

from dowse._model import ChunkKey, Scores, Vector
from dowse._store.shared.client import EngineClient
from dowse._store.shared.engine import Row, Weights

_DENSE, _SPARSE = "dense", ("body", "code")
_BYTES = 4_000_000  # of a request; a server takes 32 MB
_PAGE = 10_000


class QdrantTuning(Struct, frozen=True):
    """How an index is built and asked, as Qdrant calls it."""

    build: Mapping[str, Any] = field(default_factory=dict)  # of the graph, such as m
    query: Mapping[str, Any] = field(default_factory=dict)  # such as hnsw_ef
    quantization: str = "none"
    shards: int = 1
    replicas: int = 1


class Qdrant:
    """Points with a dense and two sparse vectors each, and nothing else."""

    most = 1_000_000

    def __init__(self, client: EngineClient, tuning: QdrantTuning | None = None) -> None:
        self._client = client
        self._tuning = tuning or QdrantTuning()
        # A copy that lags behind must not answer for all.
        self._reading = {"consistency": "majority"} if self._tuning.replicas > 1 else {}

    def create(self, name: str, dimensions: int) -> None:
        """Make a collection."""
        tuning = self._tuning
        dense = models.VectorParams(
            size=max(1, dimensions),
            distance=models.Distance.DOT,  # cosine would change the vectors that are kept
            hnsw_config=models.HnswConfigDiff(**tuning.build) if tuning.build else None,
            quantization_config=_quantization(tuning.quantization),
        )
        with self._client.asking("make a collection") as client:
            client.create_collection(
                name,
                vectors_config={_DENSE: dense},
                sparse_vectors_config={one: models.SparseVectorParams() for one in _SPARSE},
                shard_number=tuning.shards,
                replication_factor=tuning.replicas,
                write_consistency_factor=tuning.replicas,
            )

    def put(self, name: str, rows: Sequence[Row]) -> None:
        """Write points."""
        start = 0
        while start < len(rows):
            vector = rows[start].vector
            count = max(1, _BYTES // (4000 + 12 * (0 if vector is None else len(vector))))
            points = [_point(row) for row in rows[start : start + count]]
            with self._client.asking("take rows") as client:
                client.upsert(name, points, wait=True, ordering=models.WriteOrdering.STRONG)
            start += count

    def remove(self, name: str, keys: Sequence[ChunkKey]) -> None:
        """Remove points, as far as there are any."""
        if keys:
            with self._client.asking("remove rows") as client:
                client.delete(
                    name,
                    models.PointIdsList(points=list(keys)),
                    wait=True,
                    ordering=models.WriteOrdering.STRONG,
                )

    def settle(self, name: str, chunks: int) -> None:
        """Need nothing: Qdrant builds its graph while it takes points."""

    def terms(self, name: str, keys: Sequence[ChunkKey]) -> Iterator[tuple[str, list[int]]]:
        """Return the field and the terms of each sparse vector of some points."""
        if not keys:
            return
        with self._client.asking("be read") as client:
            found = client.retrieve(
                name, list(keys), with_payload=False, with_vectors=list(_SPARSE), **self._reading
            )
        for point in found:
            yield from ((one, list(sparse.indices)) for one, sparse in point.vector.items())

    def keys(self, name: str) -> set[ChunkKey]:
        """Return all points."""
        keys: set[ChunkKey] = set()
        place: Any = None
        while True:
            with self._client.asking("be read") as client:
                page, place = client.scroll(
                    name, limit=_PAGE, offset=place, with_payload=False, **self._reading
                )
            keys.update(int(point.id) for point in page)
            if place is None:
                return keys

    def nearest(
        self, name: str, vector: Vector, limit: int, among: Sequence[ChunkKey] | None
    ) -> Scores:
        """Return the points whose dense vectors have the highest inner products, best first."""
        query = self._tuning.query
        params = models.SearchParams(**query) if query else None
        return self._best(name, vector.tolist(), _DENSE, limit=limit, among=among, params=params)

    def weigh(
        self, name: str, field: str, weights: Weights, limit: int, among: Sequence[ChunkKey] | None
    ) -> Scores:
        """Return the points whose sparse vectors have the highest inner products, best first."""
        return self._best(name, _sparse(weights), field, limit=limit, among=among, params=None)

    def names(self, prefix: str) -> list[str]:
        """Return the collections whose names begin so."""
        with self._client.asking("list its collections") as client:
            found = client.get_collections().collections
        return [one.name for one in found if one.name.startswith(prefix)]

    def drop(self, name: str) -> None:
        """Remove a collection."""
        with self._client.asking("remove a collection") as client:
            client.delete_collection(name)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _best(
        self,
        name: str,
        query: Any,
        using: str,
        *,
        limit: int,
        among: Sequence[ChunkKey] | None,
        params: Any,
    ) -> Scores:
        allowed = None
        if among is not None:
            allowed = models.Filter(must=[models.HasIdCondition(has_id=list(among))])
        with self._client.asking("search") as client:
            found = client.query_points(
                name,
                query=query,
                using=using,
                limit=limit,
                query_filter=allowed,
                search_params=params,
                with_payload=False,
                **self._reading,
            ).points
        return [(int(point.id), float(point.score)) for point in found]


def open_client(url: str, token: str, timeout: float) -> QdrantClient:
    """Return the client of a server."""
    with warnings.catch_warnings():  # a key over plain HTTP is the user's choice, said in the docs
        warnings.simplefilter("ignore")
        return QdrantClient(
            url=url,
            api_key=token or None,
            timeout=max(1, round(timeout)),
            check_compatibility=False,
        )


def _point(row: Row) -> models.PointStruct:
    vector: dict[str, Any] = {
        name: _sparse(weights)
        for name, weights in zip(_SPARSE, (row.body, row.code), strict=True)
        if weights
    }
    if row.vector is not None:
        vector[_DENSE] = row.vector.tolist()
    return models.PointStruct(id=row.key, vector=vector)


def _sparse(weights: Weights) -> models.SparseVector:
    places = sorted(weights)
    return models.SparseVector(indices=places, values=[weights[place] for place in places])


def _quantization(kind: str) -> Any:
    if kind == "scalar":
        return models.ScalarQuantization(
            scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
        )
    if kind == "binary":
        return models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True))
    return None
