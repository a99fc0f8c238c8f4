"""Rows in Milvus: a server, a cluster, or Milvus Lite's server, over its own client."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # its core writes to the terminal as well

from pymilvus import MilvusClient, MilvusException

from dowse._model import Vector
from dowse._store.remote.failures import engine_errors
from dowse._store.remote.milvus_format import expression, payloads, plain_row, plain_value
from dowse._store.remote.milvus_schema import NO_VECTOR, MilvusTuning, indexes_of, schema_of
from dowse._store.remote.rows import (
    MOST_HITS,
    In,
    Key,
    Row,
    RowCollection,
    Sparse,
    Where,
)

_PAGE = 1000
_PATIENCE = 5.0  # seconds for an engine to come up
_PAUSE = 0.25  # seconds between two attempts to reach it
_MOMENT = 0.005  # seconds between two looks at a row that was just written

logging.getLogger("pymilvus").setLevel(logging.CRITICAL + 1)  # it logs what it raises as well


class MilvusRows:
    """The rows of a Milvus database."""

    def __init__(
        self,
        address: str,
        *,
        place: str = "",
        token: str = "",
        database: str = "",
        timeout: float = 30.0,
        tuning: MilvusTuning | None = None,
    ) -> None:
        self.place = place or address
        self._address = address
        self._token, self._database = token, database
        self._timeout = timeout
        self._tuning = tuning or MilvusTuning()
        self._opening = threading.Lock()
        self._opened: MilvusClient | None = None
        self._made: set[str] = set()

    @property
    def _client(self) -> MilvusClient:
        with self._opening:
            if self._opened is None:
                with engine_errors(self.place, "be opened"):
                    self._opened = self._open()
            return self._opened

    def _open(self) -> MilvusClient:
        """A connection; an engine that is just being started is given a moment."""
        deadline = time.monotonic() + min(self._timeout, _PATIENCE)
        while True:
            try:
                client = MilvusClient(
                    self._address,
                    token=self._token,
                    db_name=self._database,
                    timeout=self._timeout,
                )
                client.list_collections(**self._how)  # only a call makes the connection
            except MilvusException as error:
                # The client does not wait itself: it remembers a failure for about a second.
                if "connect" not in str(error).lower() or time.monotonic() > deadline:
                    raise
                time.sleep(_PAUSE)
            else:
                return client

    @cached_property
    def negates_tokens(self) -> bool:
        """Whether `Not(HasAny(...))` can be asked: Milvus Lite cannot."""
        return not self._is_lite

    @cached_property
    def _is_lite(self) -> bool:
        return "lite" in self.version.lower()

    @cached_property
    def version(self) -> str:
        """The version of the server; Milvus Lite does not say any."""
        with engine_errors(self.place, "say its version"):
            try:
                return str(self._client.get_server_version(timeout=self._timeout))
            except Exception as error:  # gRPC's own error, or the client's around it
                if "unimplemented" not in str(error).lower():
                    raise
        return "lite"

    def exists(self, name: str) -> bool:
        """Whether there is a collection of this name."""
        if name in self._made:
            return True
        with engine_errors(self.place, "be asked"):
            there = self._client.has_collection(name, **self._how)
        if there:
            self._load(name)
        return bool(there)

    def _load(self, name: str) -> None:
        with engine_errors(self.place, "load a collection"):
            self._client.load_collection(name, replica_number=self._tuning.replicas, **self._how)
        self._made.add(name)

    def make(self, collection: RowCollection) -> None:
        """Makes a collection unless there is one of its name."""
        if self.exists(collection.name):
            return
        with engine_errors(self.place, "make a collection"):
            self._client.create_collection(
                collection.name,
                schema=schema_of(collection),
                num_shards=self._tuning.shards,
                consistency_level="Strong",
                **self._how,
            )
            for name, index in indexes_of(collection, self._tuning, scalars=not self._is_lite):
                params = self._client.prepare_index_params()
                params.add_index(name, **index)
                # To wait for the index of an empty collection only costs time.
                self._client.create_index(collection.name, params, sync=False, **self._how)
        self._load(collection.name)

    def drop(self, name: str) -> None:
        """Removes a collection with its rows, if there is one."""
        self._made.discard(name)
        with engine_errors(self.place, "remove a collection"):
            if self._client.has_collection(name, **self._how):
                self._client.drop_collection(name, **self._how)

    def names(self, prefix: str) -> list[str]:
        """The collections whose names begin so."""
        with engine_errors(self.place, "list its collections"):
            found = self._client.list_collections(**self._how)
        return [name for name in found if name.startswith(prefix)]

    def put(self, collection: RowCollection, rows: Sequence[Row]) -> None:
        """Writes rows; one whose key is known is replaced."""
        if not rows:
            return
        extra = {} if collection.of_kind("dense", "sparse") else {NO_VECTOR: [0.0, 0.0]}
        prepared = [plain_row(row) | extra for row in rows]
        for some in payloads(prepared):
            if self._is_lite:
                self._put_into_lite(collection, some)
            else:
                self._upsert(collection, some)

    def _upsert(self, collection: RowCollection, rows: list[Row]) -> None:
        with engine_errors(self.place, "take rows"):
            self._client.upsert(collection.name, rows, **self._how)

    def _put_into_lite(self, collection: RowCollection, rows: list[Row]) -> None:
        """Writes rows into Milvus Lite, and waits until they can be read.

        To replace a row it reads all keys of the collection, which takes a millisecond for every
        thousand rows, so that rows that are all new are inserted instead. When the client has
        repeated a call that the engine had taken, rows are there twice, and are replaced.
        """
        keys = In("key", list({row["key"] for row in rows}))
        if len(keys.values) < len(rows) or self.count(collection, keys):
            self._upsert(collection, rows)
        else:
            with engine_errors(self.place, "take rows"):
                self._client.insert(collection.name, rows, **self._how)
        if self._await(collection, keys) > len(keys.values):
            self._upsert(collection, rows)

    def _await(self, collection: RowCollection, keys: In) -> int:
        """Waits until rows can be read; returns how many there are.

        A server shows what it took at once when it is asked to. Milvus Lite sometimes shows a row a
        few milliseconds later (measured: 2 of 3,200 rows on busy cores).
        """
        deadline = time.monotonic() + min(self._timeout, _PATIENCE)
        while (found := self.count(collection, keys)) < len(keys.values):
            if time.monotonic() > deadline:
                break
            time.sleep(_MOMENT)
        return found

    def remove(self, collection: RowCollection, keys: Sequence[Key]) -> None:
        """Removes the rows of these keys, as far as there are any."""
        if keys:
            with engine_errors(self.place, "remove rows"):
                self._client.delete(collection.name, ids=list(keys), **self._how)

    def remove_where(self, collection: RowCollection, where: Where) -> None:
        """Removes rows by a condition."""
        with engine_errors(self.place, "remove rows"):
            self._client.delete(collection.name, filter=expression(where), **self._how)

    def get(
        self, collection: RowCollection, keys: Sequence[Key], fields: Sequence[str]
    ) -> dict[Key, Row]:
        """The rows of these keys, with some fields, as far as there are any."""
        if not keys:
            return {}
        with engine_errors(self.place, "be read"):
            found = self._client.query(
                collection.name,
                filter=expression(In("key", keys)),
                output_fields=list(fields),
                limit=min(MOST_HITS, len(keys)),
                consistency_level="Strong",
                **self._how,
            )
        return {row["key"]: dict(row) for row in found}

    def scan(self, collection: RowCollection, where: Where, fields: Sequence[str]) -> Iterator[Row]:
        """All rows that a condition covers: in one call when there are few, otherwise in pages."""
        with engine_errors(self.place, "be read"):
            first = self._client.query(
                collection.name,
                filter=expression(where),
                output_fields=list(fields),
                limit=_PAGE,
                consistency_level="Strong",
                **self._how,
            )
        if len(first) < _PAGE:
            yield from (dict(row) for row in first)
            return
        with engine_errors(self.place, "be read"):
            pages = self._client.query_iterator(
                collection.name,
                filter=expression(where),
                batch_size=_PAGE,
                output_fields=list(fields),
                consistency_level="Strong",
                **self._how,
            )
        while True:
            with engine_errors(self.place, "be read"):
                page = pages.next()
            if not page:
                return
            yield from (dict(row) for row in page)

    def count(self, collection: RowCollection, where: Where) -> int:
        """How many rows a condition covers."""
        with engine_errors(self.place, "count rows"):
            found = self._client.query(
                collection.name,
                filter=expression(where),
                output_fields=["count(*)"],
                consistency_level="Strong",
                **self._how,
            )
        return int(found[0]["count(*)"])

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
        dense = collection.fields[field] == "dense"
        params = {"metric_type": "IP", "params": dict(self._tuning.search) if dense else {}}
        with engine_errors(self.place, "search"):
            (found,) = self._client.search(
                collection.name,
                data=[plain_value(query)],
                anns_field=field,
                limit=limit,
                filter=expression(where),
                output_fields=list(fields),
                search_params=params,
                consistency_level=self._tuning.consistency,
                **self._how,
            )
        return [
            (
                {**hit["entity"], "key": hit["entity"].get("key", hit.get("key", hit.get("id")))},
                float(hit["distance"]),
            )
            for hit in found
        ]

    def close(self) -> None:
        """Closes the connection."""
        with self._opening:
            if self._opened is not None:
                self._opened.close()
            self._opened = None
            self._made.clear()

    @property
    def _how(self) -> dict[str, Any]:
        return {"timeout": self._timeout}
