"""An engine that shows a row a moment after it took it."""

from __future__ import annotations

from typing import Any

import pytest

from dowse.store.remote.documents import record
from dowse.store.remote.milvus import MilvusRows
from dowse.store.remote.schema import records

COLLECTION = records("late")
LATE = 3  # looks at a row before it is there


class LateClient:
    """Milvus Lite as it sometimes is on busy cores."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self.looks = 0

    def list_collections(self, *_: Any, **__: Any) -> list[str]:
        return []

    def get_server_version(self, *_: Any, **__: Any) -> str:
        return "lite"

    def upsert(self, _: str, data: Any, *__: Any, **___: Any) -> dict[str, Any]:
        self.rows |= {row["key"]: row for row in data}
        return {}

    def query(self, *_: Any, **__: Any) -> list[dict[str, Any]]:
        self.looks += 1
        return list(self.rows.values()) if self.looks > LATE else []


def test_a_row_can_be_read_as_soon_as_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dowse.store.remote.milvus.MilvusClient", LateClient)
    rows = MilvusRows("http://localhost:1")
    rows.put(COLLECTION, [record("entry", "kind", "data")])
    assert rows.get(COLLECTION, ["entry"], ["data"])["entry"]["data"] == "data"


def test_a_row_that_never_appears_is_not_waited_for_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dowse.store.remote.milvus.MilvusClient", LateClient)
    rows = MilvusRows("http://localhost:1", timeout=0.05)
    monkeypatch.setattr(LateClient, "query", lambda *_, **__: [])
    rows.put(COLLECTION, [record("entry", "kind", "data")])
    assert rows.get(COLLECTION, ["entry"], ["data"]) == {}
