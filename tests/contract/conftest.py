"""The stores that the contract tests run with; a new engine joins by one line in ENGINES."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import engines
from documents import PlainAnalyzer
from dowse._model.ports import Analyzer, Store
from dowse._store.store import EmbeddedStore
from memory_store import MemoryStore
from store_steps import MakeStore

ENGINES: dict[str, Callable[[Path, Analyzer], Store]] = {
    "embedded": EmbeddedStore,
    "memory": lambda _, analyzer: MemoryStore(analyzer),
    **engines.POSTGRES,
}


_SLOW = ("postgresql-milvus-lite", "postgresql-qdrant-edge")
_OF_THE_DATABASE = ("test_store_documents.py", "test_store_links.py", "test_store_conditions.py")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what the database alone answers with engines that take a second for each test.

    A run at full length tries these, too.
    """
    if config.getoption("--torture"):
        return
    answered = pytest.mark.skip(reason="The database answers this, whatever engine searches it.")
    for item in items:
        if item.path.name in _OF_THE_DATABASE and any(name in item.name for name in _SLOW):
            item.add_marker(answered)


@contextmanager
def _making(engine: str, folder: Path) -> Iterator[MakeStore]:
    """Makes stores of one engine; in the end they are sound, and gone."""
    made: list[Store] = []

    def make(name: str, analyzer: Analyzer) -> Store:
        made.append(ENGINES[engine](folder / name, analyzer))
        return made[-1]

    yield make
    for store in made:
        assert store.check() == []
        if engine in engines.POSTGRES:
            store.discard()
        store.close()


@pytest.fixture(params=ENGINES)
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeStore]:
    with _making(request.param, tmp_path) as make:
        yield make


@pytest.fixture(scope="module", params=ENGINES)
def make_lasting_store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MakeStore]:
    """The same for stores that all tests of a file read, and none changes."""
    with _making(request.param, tmp_path_factory.mktemp("lasting")) as make:
        yield make


@pytest.fixture
def store(make_store: MakeStore) -> Store:
    return make_store("index", PlainAnalyzer())
