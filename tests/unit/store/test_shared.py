"""Search engines that lag, err, are lost or are gone: results are missing, and none is wrong."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import engines
from documents import STAMP, PlainAnalyzer, batch, make_document, vector_of
from dowse._model.ports import Store
from dowse._model.store_options import StoreOptions
from dowse.errors import EngineFailed, Locked, UsageError
from store_steps import apply, fill

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")


class Erring:
    """An engine that gives hits of rows that do not exist, and takes nothing while it lags."""

    def __init__(self, engine: Any, state: dict[str, bool]) -> None:
        self._engine, self._state = engine, state

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def put(self, name: str, rows: Sequence[Any]) -> None:
        if not self._state.get("lags"):
            self._engine.put(name, rows)

    def search(self, *asked: Any) -> Any:
        return [(10**9 + one, 99.0) for one in range(5)] + self._engine.search(*asked)


@pytest.fixture
def state() -> dict[str, bool]:
    return {}


@pytest.fixture
def store(
    tmp_path: Path, state: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Store]:
    true: Callable[[Any], Any] = engines.SEARCH["pgvector"]
    monkeypatch.setitem(engines.SEARCH, "erring", lambda one: Erring(true(one), state))
    made = engines.postgres_store(tmp_path / "index", PlainAnalyzer(), "erring")
    yield made
    made.discard()
    made.close()


def found(store: Store, word: str) -> tuple[list[str], list[str]]:
    """The documents that a word and its vector find."""
    with store.read() as reading:
        words = reading.keyword.search("body", [word], 10)
        near = reading.vectors.nearest(vector_of(word), 1)
        sides = ([key for key, _ in words], [key for key, _ in near])
        by_word, by_vector = map(reading.catalogue.chunks, sides)
    return [one.document.id for one in by_word], [one.document.id for one in by_vector]


def test_rows_that_do_not_exist_are_never_shown(store: Store) -> None:
    fill(store, batch(make_document("a.md", "alpha"), make_document("b.md", "beta")))
    assert found(store, "alpha") == (["a.md"], ["a.md"])
    with store.read() as reading:
        assert len(reading.keyword.search("body", ["alpha", "beta"], 10)) == 2


def test_an_engine_that_lost_rows_gives_fewer_results_and_is_built_again(
    store: Store, state: dict[str, bool]
) -> None:
    fill(store, batch(make_document("a.md", "alpha")))
    state["lags"] = True
    apply(store, batch(make_document("b.md", "beta")))
    state["lags"] = False
    assert found(store, "beta")[0] == []
    (finding,) = store.check()
    assert "lacks 1 chunks" in finding.what
    assert finding.repair == "dowse doctor --repair"
    store.repair()
    assert store.check() == []
    assert found(store, "beta") == (["b.md"], ["b.md"])


def test_machines_with_other_engines_catch_up_when_they_write(tmp_path: Path) -> None:
    one = engines.postgres_store(tmp_path / "index", PlainAnalyzer(), "pgvector")
    fill(one, batch(make_document("a.md", "alpha")))
    other = engines.postgres_store(tmp_path / "index", PlainAnalyzer())
    other._server.address = one._server.address  # type: ignore[attr-defined]
    apply(other, batch(make_document("b.md", "beta")), batch(gone=["a.md"]))
    assert found(other, "beta") == (["b.md"], ["b.md"])
    assert found(one, "alpha")[0] == []  # it is gone, whatever the engine says
    assert found(one, "beta")[0] == []  # the engine does not know it yet
    assert "behind" in one.check()[0].what
    apply(one, batch(make_document("c.md", "gamma")))
    assert one.check() == []
    assert found(one, "beta") == (["b.md"], ["b.md"])
    one.discard()
    one.close()
    other.close()


@pytest.mark.parametrize("engine", ["", "pgvector", "qdrant-local"])
def test_an_index_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path, engine: str) -> None:
    store = engines.postgres_store(tmp_path / "index", PlainAnalyzer(), engine)
    fill(store, batch(make_document("a.md", "alpha")))

    def replace_with(name: str, *, fails: bool = False) -> None:
        with store.replace() as writing:
            writing.start(STAMP)
            writing.apply(batch(make_document(name, "beta")))
            assert found(store, "alpha") == (["a.md"], ["a.md"])
            if fails:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replace_with("b.md", fails=True)
    assert found(store, "alpha") == (["a.md"], ["a.md"])
    replace_with("b.md")
    assert found(store, "alpha") == ([], ["b.md"])
    assert found(store, "beta") == (["b.md"], ["b.md"])
    apply(store, batch(make_document("c.md", "gamma")))
    assert found(store, "gamma") == (["c.md"], ["c.md"])
    assert store.check() == []
    store.discard()
    store.close()


def test_parts_are_written_at_once_and_a_whole_run_waits_for_them(tmp_path: Path) -> None:
    store = engines.postgres_store(tmp_path / "index", PlainAnalyzer(), "pgvector")
    with store.write() as writing:
        writing.start(STAMP)
    with store.write(part="1/2") as one, store.write(part="2/2") as two:
        one.apply(batch(make_document("a.md", "alpha")))
        two.apply(batch(make_document("b.md", "beta")))
        for part in ("1/2", ""):
            with pytest.raises(Locked, match="written by process"), store.write(part=part):
                pass
    with store.read() as reading:
        assert reading.catalogue.counts().documents == 2
        assert not reading.catalogue.is_finished()
    store.discard()
    store.close()


def test_a_server_that_stops_answering_is_reported_within_two_seconds() -> None:
    import os  # noqa: PLC0415
    import signal  # noqa: PLC0415
    import socket  # noqa: PLC0415

    with socket.create_server(("127.0.0.1", 0)) as silent:  # it listens, and says nothing
        url = f"postgresql://127.0.0.1:{silent.getsockname()[1]}/x"
        from dowse._store.shared.postgresql import Address, PostgresConnection  # noqa: PLC0415

        began = time.monotonic()
        with pytest.raises(psycopg.OperationalError):
            PostgresConnection(Address(url, StoreOptions(url=url).database, "x"))
        assert time.monotonic() - began < 4
    if "DOWSE_TEST_POSTGRESQL_URL" in os.environ:
        return
    address = Address("test", StoreOptions(url=engines.postgresql_url()).database, "x")
    connection = PostgresConnection(address)
    (backend,) = connection.execute("SELECT pg_backend_pid()").fetchone() or (0,)
    os.kill(backend, signal.SIGSTOP)
    try:
        began = time.monotonic()
        assert not connection.is_alive()
        assert time.monotonic() - began < 4
    finally:
        os.kill(backend, signal.SIGCONT)
        with contextlib.suppress(psycopg.Error):
            connection.close()


def test_an_engine_that_is_down_is_named_with_what_to_do() -> None:
    from dowse._store.shared.engine import RemoteEngine  # noqa: PLC0415

    port = engines.free_port()
    client = RemoteEngine(StoreOptions(search=f"qdrant://127.0.0.1:{port}"))
    began = time.monotonic()
    with pytest.raises(EngineFailed, match="cannot be reached") as caught, client.asking("search"):
        pass
    assert time.monotonic() - began < 3
    assert "store.search" in caught.value.hint


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Unexpected Response: 401 (Unauthorized)", "refused the key"),
        ("deadline exceeded", "did not answer in time"),
        ("connection refused", "cannot be reached"),
        ("Unexpected Response: 413 (Payload Too Large)", "refused the request"),
        ("Unexpected Response: 400 (Bad Request)", "refused the request"),
        ("no space left on device", "no room left"),
    ],
)
def test_what_an_engine_says_is_translated(said: str, expected: str) -> None:
    from dowse._store.shared.engine import RemoteEngine  # noqa: PLC0415

    client = RemoteEngine(StoreOptions())
    client._opened = object()
    with pytest.raises(EngineFailed, match=expected) as caught, client.asking("search"):
        raise RuntimeError(said)
    assert caught.value.hint
    assert UsageError not in type(caught.value).__mro__
