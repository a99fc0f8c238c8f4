"""Collections as Milvus makes them: their fields, and the indexes of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field
from pymilvus import DataType, MilvusClient

from dowse._store.remote.rows import TOKENS, FieldKind, RowCollection
from dowse._store.remote.schema import LONG, NEVER_ASKED

NO_VECTOR = "nothing"
"""The vector that a collection without vectors must have."""

_TEXT = 65_535  # bytes of a text: the most that Milvus takes
_TYPES: Mapping[FieldKind, DataType] = {
    "text": DataType.VARCHAR,
    "number": DataType.INT64,
    "time": DataType.DOUBLE,
    "dense": DataType.FLOAT_VECTOR,
    "sparse": DataType.SPARSE_FLOAT_VECTOR,
}


class MilvusTuning(Struct, frozen=True):
    """How an index is built and asked, as Milvus calls it."""

    index: str = "AUTOINDEX"
    build: Mapping[str, Any] = field(default_factory=dict)
    search: Mapping[str, Any] = field(default_factory=dict)
    shards: int = 1
    replicas: int = 1
    consistency: str = "Strong"  # of searches; writers always read what was written


def schema_of(collection: RowCollection) -> Any:
    """The fields of a collection."""
    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    for name, kind in collection.fields.items():
        if kind == "tokens":
            schema.add_field(name, DataType.ARRAY, element_type=DataType.INT64, max_capacity=TOKENS)
        else:
            schema.add_field(name, _TYPES[kind], **_limits(name, kind, collection))
    if not collection.of_kind("dense", "sparse"):
        schema.add_field(NO_VECTOR, DataType.FLOAT_VECTOR, dim=2)
    return schema


def indexes_of(
    collection: RowCollection, tuning: MilvusTuning, *, scalars: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The fields that have an index, and how it is built; Milvus Lite has none of scalars."""
    for name in collection.of_kind("dense"):
        build = {"params": dict(tuning.build)} if tuning.build else {}
        yield name, {"index_type": tuning.index, "metric_type": "IP", **build}
    for name in collection.of_kind("sparse"):
        yield name, {"index_type": "SPARSE_INVERTED_INDEX", "metric_type": "IP"}
    if not collection.of_kind("dense", "sparse"):
        yield NO_VECTOR, {"index_type": "FLAT", "metric_type": "IP"}
    if scalars:
        for name in [*collection.of_kind("tokens"), *_looked_up(collection)]:
            yield name, {"index_type": "INVERTED"}


def _limits(name: str, kind: FieldKind, collection: RowCollection) -> dict[str, Any]:
    found: dict[str, Any] = {"is_primary": True} if name == "key" else {}
    if kind == "text":
        found["max_length"] = _TEXT if name in LONG else 512
    if kind == "dense":
        found["dim"] = collection.dimensions
    return found


def _looked_up(collection: RowCollection) -> list[str]:
    """The fields, apart from vectors and tokens, that filters ask for."""
    return [
        name for name in collection.of_kind("text", "number", "time") if name not in NEVER_ASKED
    ]
