"""The stores that the contract tests run with; a new engine joins by one line in ENGINES."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import engines
from documents import PlainAnalyzer
from dowse.ports import Analyzer, Store
from dowse.store.embedded.store import EmbeddedStore
from dowse.store.memory import MemoryStore
from store_steps import MakeStore

ENGINES: dict[str, Callable[[Path, Analyzer], Store]] = {
    "embedded": EmbeddedStore,
    "memory": lambda _, analyzer: MemoryStore(analyzer),
    **engines.REMOTE,
}


@pytest.fixture(params=ENGINES)
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeStore]:
    made: list[Store] = []

    def make(name: str, analyzer: Analyzer) -> Store:
        made.append(ENGINES[request.param](tmp_path / name, analyzer))
        return made[-1]

    yield make
    for store in made:
        assert store.check() == []
        if request.param in engines.REMOTE:
            store.discard()
        store.close()


@pytest.fixture
def store(make_store: MakeStore) -> Store:
    return make_store("index", PlainAnalyzer())
