"""Rows in Qdrant: a server, a cluster, or the client's own local mode."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from msgspec import Struct, field
from qdrant_client import QdrantClient, models

from dowse._model import Vector
from dowse._store.remote.failures import engine_errors
from dowse._store.remote.rows import (
    AllOf,
    AnyOf,
    Between,
    HasAny,
    In,
    Key,
    Not,
    Row,
    RowCollection,
    Sparse,
    Where,
)
from dowse._store.remote.schema import NEVER_ASKED
from dowse.errors import EngineFailed

_PAGE = 1000
_AT_ONCE = 200  # rows in one call
_NAMES = uuid.UUID("5f1d7a52-6a53-4c1e-9d0e-0a7a51b8a0d3")  # texts become ids of this family

OLDEST = (1, 10)
"""The first version that answers one kind of query for dense and sparse vectors."""

OpenClient = Callable[[], QdrantClient]
"""Opens the connection to an engine."""


class QdrantTuning(Struct, frozen=True):
    """How an index is built and asked, as Qdrant calls it."""

    hnsw: Mapping[str, Any] = field(default_factory=dict)
    quantization: str = "none"  # or "scalar", "binary"
    search: Mapping[str, Any] = field(default_factory=dict)
    shards: int = 1
    replicas: int = 1


class QdrantRows:
    """The rows of a Qdrant engine."""

    negates_tokens = True

    def __init__(
        self,
        place: str,
        open_client: OpenClient,
        tuning: QdrantTuning | None = None,
        *,
        local: bool = False,
    ) -> None:
        self.place = place
        self._open_client = open_client
        self._tuning = tuning or QdrantTuning()
        self._local = local  # the client's local mode has no indexes of scalars
        # Nor may two threads use it at once.
        self._turn = threading.RLock() if local else nullcontext()
        self._opening = threading.Lock()
        self._opened: QdrantClient | None = None
        self._made: set[str] = set()

    @property
    def _client(self) -> QdrantClient:
        with self._opening:
            if self._opened is None:
                with engine_errors(self.place, "be opened"):
                    self._opened = self._open_client()
            return self._opened

    @contextmanager
    def _asking(self, action: str) -> Iterator[None]:
        with engine_errors(self.place, action), self._turn:
            yield

    def exists(self, name: str) -> bool:
        """Whether there is a collection of this name."""
        if name not in self._made:
            with self._asking("be asked"):
                if not self._client.collection_exists(name):
                    return False
            self._made.add(name)
        return True

    def make(self, collection: RowCollection) -> None:
        """Makes a collection unless there is one of its name."""
        if self.exists(collection.name):
            return
        tuning = self._tuning
        dense = {
            name: models.VectorParams(
                size=collection.dimensions,
                distance=models.Distance.DOT,  # cosine would change the vectors that are kept
                hnsw_config=models.HnswConfigDiff(**tuning.hnsw) if tuning.hnsw else None,
                quantization_config=_quantization(tuning.quantization),
            )
            for name in collection.of_kind("dense")
        }
        sparse = {name: models.SparseVectorParams() for name in collection.of_kind("sparse")}
        with self._asking("make a collection"):
            try:
                self._client.create_collection(
                    collection.name,
                    vectors_config=dense,
                    sparse_vectors_config=sparse,
                    shard_number=tuning.shards,
                    replication_factor=tuning.replicas,
                )
            except Exception:
                # Another writer may have made it in the same moment.
                if not self._client.collection_exists(collection.name):
                    raise
            for name, kind in () if self._local else _payload_indexes(collection):
                self._client.create_payload_index(collection.name, name, kind)
        self._made.add(collection.name)

    def drop(self, name: str) -> None:
        """Removes a collection with its rows, if there is one."""
        self._made.discard(name)
        with self._asking("remove a collection"):
            if self._client.collection_exists(name):
                self._client.delete_collection(name)

    def names(self, prefix: str) -> list[str]:
        """The collections whose names begin so."""
        with self._asking("list its collections"):
            found = self._client.get_collections().collections
        return [one.name for one in found if one.name.startswith(prefix)]

    def put(self, collection: RowCollection, rows: Sequence[Row]) -> None:
        """Writes rows; one whose key is known is replaced."""
        vectors = {*collection.of_kind("dense"), *collection.of_kind("sparse")}
        with self._asking("take rows"):
            for start in range(0, len(rows), _AT_ONCE):
                points = [_point(row, vectors) for row in rows[start : start + _AT_ONCE]]
                self._client.upsert(collection.name, points, wait=True)

    def remove(self, collection: RowCollection, keys: Sequence[Key]) -> None:
        """Removes the rows of these keys, as far as there are any."""
        if keys:
            ids = models.PointIdsList(points=[_id(key) for key in keys])
            with self._asking("remove rows"):
                self._client.delete(collection.name, ids, wait=True)

    def remove_where(self, collection: RowCollection, where: Where) -> None:
        """Removes rows by a condition."""
        chosen = models.FilterSelector(filter=filter_of(where))
        with self._asking("remove rows"):
            self._client.delete(collection.name, chosen, wait=True)

    def get(
        self, collection: RowCollection, keys: Sequence[Key], fields: Sequence[str]
    ) -> dict[Key, Row]:
        """The rows of these keys, with some fields, as far as there are any."""
        if not keys:
            return {}
        payload, vectors = _asked(collection, fields)
        with self._asking("be read"):
            found = self._client.retrieve(
                collection.name,
                [_id(key) for key in keys],
                with_payload=payload,
                with_vectors=vectors,
            )
        return {row["key"]: row for row in map(_row, found)}

    def scan(self, collection: RowCollection, where: Where, fields: Sequence[str]) -> Iterator[Row]:
        """All rows that a condition covers, page by page in the order of their ids."""
        payload, vectors = _asked(collection, fields)
        place: Any = None
        while True:
            with self._asking("be read"):
                page, place = self._client.scroll(
                    collection.name,
                    scroll_filter=filter_of(where),
                    limit=_PAGE,
                    offset=place,
                    with_payload=payload,
                    with_vectors=vectors,
                )
            yield from map(_row, page)
            if place is None:
                return

    def count(self, collection: RowCollection, where: Where) -> int:
        """How many rows a condition covers."""
        with self._asking("count rows"):
            found = self._client.count(collection.name, count_filter=filter_of(where), exact=True)
        return int(found.count)

    def nearest(
        self,
        collection: RowCollection,
        field: str,
        query: Vector | Sparse,
        limit: int,
        *,
        where: Where,
        fields: Sequence[str],
    ) -> list[tuple[Row, float]]:
        """The rows with the highest inner product, best first, with some fields."""
        payload, _ = _asked(collection, fields)
        params = models.SearchParams(**self._tuning.search) if self._tuning.search else None
        with self._asking("search"):
            found = self._client.query_points(
                collection.name,
                query=_vector(query),
                using=field,
                limit=limit,
                query_filter=filter_of(where),
                search_params=params,
                with_payload=payload,
            ).points
        return [(_row(point), float(point.score)) for point in found]

    def close(self) -> None:
        """Closes the connection."""
        with self._opening:
            if self._opened is not None:
                self._opened.close()
            self._opened = None
            self._made.clear()


def server_rows(
    address: str, *, place: str, token: str, timeout: float, tuning: QdrantTuning
) -> QdrantRows:
    """The rows of a server."""
    seconds = max(1, round(timeout))

    def open_client() -> QdrantClient:
        client = QdrantClient(
            url=address, api_key=token or None, timeout=seconds, check_compatibility=False
        )
        _check_version(place, client.info().version)
        return client

    return QdrantRows(place, open_client, tuning)


def _check_version(place: str, version: str) -> None:
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if numbers and numbers < OLDEST:
        least = ".".join(map(str, OLDEST))
        raise EngineFailed(
            f"The engine at {place} is Qdrant {version}, which is too old.",
            f"Use Qdrant {least} or newer.",
        )


def filter_of(where: Where) -> models.Filter:
    """A condition as Qdrant writes it."""
    if isinstance(where, AllOf):
        return models.Filter(must=[_condition(one) for one in where.conditions])
    if isinstance(where, AnyOf):
        return models.Filter(should=[_condition(one) for one in where.conditions])
    if isinstance(where, Not):
        return models.Filter(must_not=[_condition(where.condition)])
    return models.Filter(must=[_condition(where)])


def _condition(where: Where) -> Any:
    if isinstance(where, In):
        if where.field == "key":
            return models.HasIdCondition(has_id=[_id(key) for key in where.values])
        values: Any = list(where.values)
        return models.FieldCondition(key=where.field, match=models.MatchAny(any=values))
    if isinstance(where, HasAny):
        return models.FieldCondition(key="tokens", match=models.MatchAny(any=list(where.tokens)))
    if isinstance(where, Between):
        bounds = models.Range(gte=where.least, lt=where.below)
        return models.FieldCondition(key=where.field, range=bounds)
    return filter_of(where)


def _id(key: Key) -> int | str:
    """Qdrant names rows by numbers or UUIDs."""
    return int(key) if isinstance(key, int | np.integer) else str(uuid.uuid5(_NAMES, key))


def _point(row: Row, vectors: set[str]) -> models.PointStruct:
    payload = {name: value for name, value in row.items() if name not in vectors}
    return models.PointStruct(
        id=_id(row["key"]),
        payload=payload,
        vector={name: _vector(row[name]) for name in vectors},
    )


def _vector(value: Any) -> Any:
    if isinstance(value, Mapping):
        places = sorted(value)
        return models.SparseVector(indices=places, values=[value[place] for place in places])
    return value.tolist() if isinstance(value, np.ndarray) else value


def _asked(collection: RowCollection, fields: Sequence[str]) -> tuple[list[str], list[str]]:
    vectors = [name for name in fields if collection.fields[name] in {"dense", "sparse"}]
    return ["key", *(name for name in fields if name not in vectors)], vectors


def _row(point: Any) -> Row:
    row = dict(point.payload or {})
    for name, value in (point.vector or {}).items():
        sparse = isinstance(value, models.SparseVector)
        row[name] = dict(zip(value.indices, value.values, strict=True)) if sparse else value
    return row


def _quantization(kind: str) -> Any:
    if kind == "scalar":
        return models.ScalarQuantization(
            scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
        )
    if kind == "binary":
        return models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True))
    return None


def _payload_indexes(collection: RowCollection) -> Iterator[tuple[str, models.PayloadSchemaType]]:
    kinds = {
        "text": models.PayloadSchemaType.KEYWORD,
        "number": models.PayloadSchemaType.INTEGER,
        "time": models.PayloadSchemaType.FLOAT,
        "tokens": models.PayloadSchemaType.INTEGER,
    }
    for name, kind in collection.fields.items():
        if kind in kinds and name not in NEVER_ASKED:
            yield name, kinds[kind]
