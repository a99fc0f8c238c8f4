"""A large change reaches tantivy in parts, so that it never waits in memory as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dowse._store import keyword as keyword_replica
from dowse._store.sql.database import Database
from index_content import content
from vaults import open_engine, write_vault


@pytest.fixture(autouse=True)
def _in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyword_replica, "_MOST_WAITING", 100)


def content_of(vault: Path, index: Path) -> dict[str, Any]:
    engine = open_engine(vault, index)
    engine.index()
    assert engine.check() == []
    with engine.parts.store.read() as reading:
        return content(reading)


def test_an_index_taken_in_parts_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_vault(tmp_path / "vault", 12)
    in_parts = content_of(tmp_path / "vault", tmp_path / "parts")

    monkeypatch.setattr(keyword_replica, "_MOST_WAITING", 10**9)
    assert content_of(tmp_path / "vault", tmp_path / "whole") == in_parts


def test_a_run_that_stops_between_two_parts_is_made_up_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault, index = tmp_path / "vault", tmp_path / "index"
    write_vault(vault, 4)
    content_of(vault, index)
    write_vault(vault, 12, seed=2)
    rows = Database.keyword_rows

    def stopped(self: Database, *arguments: Any) -> Iterator[Any]:
        for number, row in enumerate(rows(self, *arguments)):
            if number == 10:
                raise KeyboardInterrupt
            yield row

    with monkeypatch.context() as patch:
        patch.setattr(Database, "keyword_rows", stopped)
        with pytest.raises(KeyboardInterrupt):
            open_engine(vault, index).index()

    after, fresh = content_of(vault, index), content_of(vault, tmp_path / "fresh")
    assert after["documents"] == fresh["documents"]
    assert after["keyword"] == fresh["keyword"]
