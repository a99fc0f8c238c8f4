"""Qdrant's engine inside this process, with the methods of Qdrant's client that dowse calls."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import qdrant_edge as edge
from qdrant_client import models


class EdgeClient:
    """Collections of one process, a shard of the engine each; they are gone once it is closed."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="dowse-qdrant-"))
        self._shards: dict[str, Any] = {}

    def create_collection(
        self,
        name: str,
        vectors_config: dict[str, models.VectorParams],
        sparse_vectors_config: dict[str, models.SparseVectorParams],
        **_: Any,
    ) -> None:
        config = edge.EdgeConfig(
            vectors={
                one: edge.EdgeVectorParams(params.size, edge.Distance.Dot)
                for one, params in vectors_config.items()
            },
            sparse_vectors={one: edge.EdgeSparseVectorParams() for one in sparse_vectors_config},
        )
        (self._folder / name).mkdir()
        self._shards[name] = edge.EdgeShard.create(str(self._folder / name), config)

    def upsert(self, name: str, points: Sequence[models.PointStruct], **_: Any) -> None:
        made = []
        for point in points:
            assert isinstance(point.vector, dict)
            vector = {kind: _vector(one) for kind, one in point.vector.items()}
            made.append(edge.Point(point.id, vector))
        self._shards[name].update(edge.UpdateOperation.upsert_points(made))

    def delete(self, name: str, gone: models.PointIdsList, **_: Any) -> None:
        self._shards[name].update(edge.UpdateOperation.delete_points(list(gone.points)))

    def retrieve(self, name: str, keys: list[int], *, with_vectors: list[str], **_: Any) -> Any:
        return self._shards[name].retrieve(keys, with_payload=False, with_vector=with_vectors)

    def scroll(self, name: str, limit: int, offset: Any, **_: Any) -> Any:
        return self._shards[name].scroll(
            edge.ScrollRequest(offset, limit, with_payload=False, with_vector=False)
        )

    def query_points(
        self,
        name: str,
        *,
        query: Any,
        using: str,
        limit: int,
        query_filter: models.Filter | None,
        **_: Any,
    ) -> Any:
        allowed = None
        if query_filter is not None:
            (listed,) = query_filter.must or ()  # type: ignore[misc]
            assert isinstance(listed, models.HasIdCondition)
            allowed = edge.Filter(must=[edge.HasIdCondition(set(listed.has_id))])
        asked = edge.QueryRequest(
            limit,
            query=edge.Query.Nearest(_vector(query), using),
            filter=allowed,
            with_payload=False,
            with_vector=False,
        )
        return SimpleNamespace(points=self._shards[name].query(asked))

    def get_collections(self) -> Any:
        named = [SimpleNamespace(name=name) for name in self._shards]
        return SimpleNamespace(collections=named)

    def delete_collection(self, name: str) -> None:
        self._shards.pop(name).close()
        shutil.rmtree(self._folder / name)

    def close(self) -> None:
        for name in list(self._shards):
            self.delete_collection(name)
        self._folder.rmdir()


def _vector(one: Any) -> Any:
    if isinstance(one, models.SparseVector):
        return edge.SparseVector(one.indices, one.values)
    return one
