"""Writing into Milvus Lite, which shows a row a moment after it took it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dowse._store.remote.documents import record
from dowse._store.remote.milvus import MilvusRows
from dowse._store.remote.schema import records

COLLECTION = records("late")
LATE = 3  # looks at a row before it is there


class LateClient:
    """Milvus Lite as it sometimes is on busy cores."""

    late = LATE
    times = 1  # how often it takes what it is given in one call

    def __init__(self, *_: Any, **__: Any) -> None:
        self.rows: list[dict[str, Any]] = []
        self.looks = 0  # since the last write
        self.calls: list[str] = []

    def list_collections(self, *_: Any, **__: Any) -> list[str]:
        return []

    def get_server_version(self, *_: Any, **__: Any) -> str:
        return "lite"

    def insert(self, _: str, data: Any, *__: Any, **___: Any) -> dict[str, Any]:
        self.calls.append("insert")
        self.rows += [*data] * self.times
        self.looks = 0
        return {}

    def upsert(self, _: str, data: Any, *__: Any, **___: Any) -> dict[str, Any]:
        self.calls.append("upsert")
        keys = {row["key"] for row in data}
        self.rows = [row for row in self.rows if row["key"] not in keys] + [*data]
        return {}

    def query(self, *_: Any, output_fields: list[str], **named: Any) -> list[dict[str, Any]]:
        self.looks += 1
        seen = self.rows if self.looks > self.late else []
        found = [row for row in seen if json.dumps(row["key"]) in named["filter"]]
        return [{"count(*)": len(found)}] if output_fields == ["count(*)"] else found


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> LateClient:
    made = LateClient()
    monkeypatch.setattr("dowse._store.remote.milvus.MilvusClient", lambda *_, **__: made)
    return made


@pytest.fixture
def rows(client: LateClient) -> MilvusRows:  # noqa: ARG001  (it connects to this client)
    return MilvusRows("http://localhost:1")


def test_a_row_can_be_read_as_soon_as_it_is_written(rows: MilvusRows) -> None:
    rows.put(COLLECTION, [record("entry", "kind", "data")])
    assert rows.get(COLLECTION, ["entry"], ["data"])["entry"]["data"] == "data"


def test_a_row_that_never_appears_is_not_waited_for_without_end(client: LateClient) -> None:
    client.late = 10**6
    rows = MilvusRows("http://localhost:1", timeout=0.05)
    rows.put(COLLECTION, [record("entry", "kind", "data")])
    assert rows.get(COLLECTION, ["entry"], ["data"]) == {}


def test_new_rows_are_inserted_and_known_ones_are_replaced(
    client: LateClient, rows: MilvusRows
) -> None:
    rows.put(COLLECTION, [record("one", "kind", "old"), record("two", "kind", "old")])
    rows.put(COLLECTION, [record("two", "kind", "new"), record("three", "kind", "new")])
    assert client.calls == ["insert", "upsert"]
    assert {row["key"]: row["data"] for row in client.rows} == {
        "one": "old",
        "two": "new",
        "three": "new",
    }


def test_rows_that_a_repeated_call_left_twice_are_there_once(
    client: LateClient, rows: MilvusRows
) -> None:
    client.times = 2
    rows.put(COLLECTION, [record("one", "kind", "data"), record("two", "kind", "data")])
    assert sorted(row["key"] for row in client.rows) == ["one", "two"]
