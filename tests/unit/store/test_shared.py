"""Search engines that lag, err, are lost or are gone: results are missing, and none is wrong."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import engines
from documents import STAMP, PlainAnalyzer, batch, make_document, vector_of
from dowse._model import Condition, Fields, IndexedDocument
from dowse._model.ports import Store
from dowse._model.store_options import StoreOptions
from dowse._store.store import EmbeddedStore
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


def test_an_engine_that_only_grew_is_readied_for_searches(store: Store, tmp_path: Path) -> None:
    """Weights are made again when chunks have become longer, although none was deleted."""
    short, long = make_document("a.md", "alpha"), make_document("b.md", "alpha " + "beta " * 90)
    other = EmbeddedStore(tmp_path / "other", PlainAnalyzer())
    scores = []
    for one in (store, other):
        fill(one, batch(short))
        with one.write() as writing:
            writing.tidy(0)
        with one.write() as writing:
            writing.apply(batch(long))
            if one is store:
                assert "tidy" in writing.pending()
            writing.tidy(0)
            assert "tidy" not in writing.pending()
        with one.read() as reading:
            scores.append([score for _, score in reading.keyword.search("body", ["alpha"], 2)])
    assert scores[0] == pytest.approx(scores[1], rel=1e-5)
    other.close()


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


@pytest.mark.parametrize("engine", ["", "pgvector", "qdrant-edge"])
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


def test_a_server_that_stops_answering_is_not_waited_for_as_long_as_a_busy_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it listens, and says nothing
        url = f"postgresql://127.0.0.1:{silent.getsockname()[1]}/x"
        from dowse._store.shared.postgresql import Address, PostgresConnection  # noqa: PLC0415

        with pytest.raises(psycopg.OperationalError):
            PostgresConnection(Address(url, StoreOptions(url=url).database, "x", 3600.0))
    if "DOWSE_TEST_POSTGRESQL_URL" in os.environ:
        return
    parameters = StoreOptions(url=engines.postgresql_url()).database
    connection = PostgresConnection(Address("test", parameters, "x", 3600.0))
    (backend,) = connection.execute("SELECT pg_backend_pid()").fetchone() or (0,)
    os.kill(backend, signal.SIGSTOP)
    try:
        assert not connection.is_alive()
    finally:
        os.kill(backend, signal.SIGCONT)
        with contextlib.suppress(psycopg.Error):
            connection.close()


def test_a_server_that_fell_silent_is_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "DOWSE_TEST_POSTGRESQL_URL" in os.environ:
        pytest.skip("Its processes are on another machine.")
    from dowse._store.shared import postgresql  # noqa: PLC0415

    monkeypatch.setattr(postgresql, "_FRESH", -1.0)
    asked: list[bool] = []
    is_alive = postgresql.PostgresConnection.is_alive

    def noted(connection: postgresql.PostgresConnection) -> bool:
        asked.append(is_alive(connection))
        return asked[-1]

    monkeypatch.setattr(postgresql.PostgresConnection, "is_alive", noted)
    store = engines.postgres_store(tmp_path / "index", PlainAnalyzer())
    fill(store, batch(make_document("a.md", "alpha")))
    server = store._server  # type: ignore[attr-defined]
    with server.borrow() as one, server.borrow() as two, server.borrow() as three:
        pids = [lent._raw.info.backend_pid for lent in (one, two, three)]
    asked.clear()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(EngineFailed, match="did not answer in time"), server.borrow():
            pass
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    assert asked == [False]
    assert found(store, "alpha") == (["a.md"], ["a.md"])
    store.discard()
    store.close()


@pytest.mark.parametrize("kind", ["milvus", "qdrant"])
def test_an_engine_that_is_down_is_found_out_before_its_client_tries_for_long(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engines.need("pymilvus", "qdrant_client")
    from dowse._store.shared.engine import Filter  # noqa: PLC0415
    from dowse._store.shared.milvus import Milvus  # noqa: PLC0415
    from dowse._store.shared.qdrant import Qdrant  # noqa: PLC0415

    client = Recorded()
    for one in (Milvus, Qdrant):
        monkeypatch.setattr(one, "_connect", lambda _: client)
    options = StoreOptions(search=f"{kind}://127.0.0.1:{engines.free_port()}", timeout=3600.0)
    engine = Milvus(options) if kind == "milvus" else Qdrant(options)
    for _ in range(2):  # also with a client that it was reached with before
        with pytest.raises(EngineFailed, match="cannot be reached"):
            engine.search("dowse", "dense", vector_of("alpha"), 5, Filter())
        engine._opened = client
    assert client.calls == []


def test_an_engine_that_is_down_is_named_with_what_to_do() -> None:
    from dowse._store.shared.engine import RemoteEngine  # noqa: PLC0415

    port = engines.free_port()
    client = RemoteEngine(StoreOptions(search=f"qdrant://127.0.0.1:{port}"))
    with pytest.raises(EngineFailed, match="cannot be reached") as caught, client.asking("search"):
        pass
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


@pytest.mark.parametrize("kind", ["milvus", "qdrant"])
def test_an_engine_that_stopped_answering_is_not_waited_for(kind: str) -> None:
    engines.need("pymilvus", "qdrant_client")
    from dowse._store.shared.engine import Filter  # noqa: PLC0415
    from dowse._store.shared.milvus import Milvus  # noqa: PLC0415
    from dowse._store.shared.qdrant import Qdrant  # noqa: PLC0415

    with socket.create_server(("127.0.0.1", 0)) as silent:  # it listens, and says nothing
        address = f"{kind}://127.0.0.1:{silent.getsockname()[1]}"
        options = StoreOptions(search=address, timeout=3600.0)
        engine = Milvus(options) if kind == "milvus" else Qdrant(options)
        with pytest.raises(EngineFailed, match=r"cannot be reached|did not answer in time"):
            engine.search("dowse", "dense", vector_of("alpha"), 5, Filter())
        engine.close()


def test_a_store_closes_the_client_of_its_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engines.need("qdrant_client")
    from dowse._store.shared.qdrant import Qdrant  # noqa: PLC0415
    from dowse._store.store import Places  # noqa: PLC0415

    closed: list[Qdrant] = []

    def close(engine: Qdrant) -> None:
        closed.append(engine)

    monkeypatch.setattr(Qdrant, "close", close)
    options = StoreOptions(url="postgresql://127.0.0.1:1/x", search="qdrant://127.0.0.1:1")
    Places().store(tmp_path, PlainAnalyzer(), options=options).close()
    assert len(closed) == 1


class Recorded:
    """A client of an engine that notes how it is called."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.answers: dict[str, Any] = {}  # in place of the usual ones; an error is raised

    def __getattr__(self, name: str) -> Any:
        answers = {
            "scroll": ([], None),
            "query_points": SimpleNamespace(points=[]),
            "get_server_version": "v2.5.4",
            "list_aliases": {"aliases": ["dowse_a"]},
            "search": [[]],
        }

        def noted(*given: Any, **named: Any) -> Any:
            self.calls.append((name, given, named))
            if isinstance(answer := answers.get(name, []), Exception):
                raise answer
            return answer

        answers |= self.answers

        return noted

    def how(self, name: str) -> dict[str, Any]:
        return next(named for called, _, named in self.calls if called == name)


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    engines.need("qdrant_client")
    from dowse._store.shared.qdrant import Qdrant  # noqa: PLC0415

    client = Recorded()
    monkeypatch.setattr(Qdrant, "_connect", lambda _: client)
    return client


def test_copies_in_qdrant_are_written_in_order_and_read_by_majority(recorded: Recorded) -> None:
    from dowse._store.shared.engine import Filter, Row  # noqa: PLC0415
    from dowse._store.shared.qdrant import Qdrant  # noqa: PLC0415

    engine = Qdrant(StoreOptions(shards=2, replicas=3))
    engine.create("a", 4)
    engine.put("a", [Row(1, None, {5: 1.0}, {}, ())])
    engine.remove("a", [1])
    engine.keys("a")
    engine.search("a", "body", {5: 1.0}, 5, Filter())
    made = recorded.how("create_collection")
    assert (made["shard_number"], made["replication_factor"]) == (2, 3)
    assert made["write_consistency_factor"] == 3
    for name in ("upsert", "delete"):
        assert recorded.how(name)["wait"] is True
        assert recorded.how(name)["ordering"] == "strong"
    for name in ("scroll", "query_points"):
        assert recorded.how(name)["consistency"] == "majority"


@pytest.mark.parametrize(("dimensions", "terms"), [(384, 300), (4096, 3000), (2, 200_000)])
def test_requests_to_qdrant_stay_far_below_its_limit(
    recorded: Recorded, dimensions: int, terms: int
) -> None:
    from dowse._store.shared.engine import Row, term_number  # noqa: PLC0415
    from dowse._store.shared.qdrant import Qdrant  # noqa: PLC0415

    weights = {term_number(str(one)): 1.2345678901234567 for one in range(terms)}
    vector = np.full(dimensions, -0.012345678, np.float32)
    rows = [Row(key, vector, weights, {}, ()) for key in range(1, 1 + max(1, 120_000 // terms))]
    Qdrant(StoreOptions()).put("a", rows)
    sent = [given[1] for name, given, _ in recorded.calls if name == "upsert"]
    assert [point.id for some in sent for point in some] == [row.key for row in rows]
    for some in sent:
        size = sum(len(point.model_dump_json()) for point in some)
        assert size < 6_000_000 or len(some) == 1


def test_points_that_somebody_else_put_into_qdrant_do_no_harm(recorded: Recorded) -> None:
    from dowse._store.shared.engine import Filter  # noqa: PLC0415
    from dowse._store.shared.qdrant import Qdrant  # noqa: PLC0415

    strange = SimpleNamespace(id="5f0c43b4-9b0e-4a4b-9d6e-d3f2c2c2f6a1", score=99.0)
    ours = SimpleNamespace(id=7, score=1.0)
    recorded.answers["query_points"] = SimpleNamespace(points=[strange, ours])
    recorded.answers["scroll"] = ([strange, ours], None)
    engine = Qdrant(StoreOptions())
    assert engine.search("a", "dense", vector_of("alpha"), 5, Filter()) == [(7, 1.0)]
    assert engine.keys("a") == {7}


def test_a_server_of_milvus_indexes_a_field_and_switches_an_alias(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engines.need("pymilvus")
    from pymilvus import MilvusClient, MilvusException  # noqa: PLC0415

    from dowse._store.shared.engine import Filter  # noqa: PLC0415
    from dowse._store.shared.milvus import Milvus  # noqa: PLC0415

    client, engine = Recorded(), Milvus(StoreOptions(replicas=2))
    monkeypatch.setattr(Milvus, "_connect", lambda _: client)
    monkeypatch.setattr(
        client, "prepare_index_params", MilvusClient.prepare_index_params, raising=False
    )
    engine.create("dowse_a_1", 4)
    indexed = {one.field_name: one for one in client.how("create_collection")["index_params"]}
    assert set(indexed) == {"dense", "body", "code", "facets"}
    assert client.how("load_collection")["replica_number"] == 2
    engine.search("dowse_a_1", "body", {5: 1.0}, 5, Filter(having=[[0, 7]], without=[8]))
    assert client.how("search")["filter"] == (
        "array_contains_any(facets, [0, 7]) and not array_contains_any(facets, [8])"
    )
    client.answers["alter_alias"] = MilvusException(message="alias not found")
    engine.settle("dowse_a_1", 1)
    assert [given for name, given, _ in client.calls if name == "create_alias"] == [
        ("dowse_a_1", "dowse_a")
    ]
    engine.drop("dowse_a_1")
    assert [name for name, *_ in client.calls][-2:] == ["drop_alias", "drop_collection"]


def test_a_key_over_plain_http_prints_no_warning(
    recwarn: pytest.WarningsRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    engines.need("qdrant_client")
    from dowse._store.shared.qdrant import Qdrant  # noqa: PLC0415

    monkeypatch.setattr(Qdrant, "_ping", lambda *_: None)  # nobody is there
    Qdrant(StoreOptions(search="qdrant://127.0.0.1:1"), "secret")._connect().close()
    assert not list(recwarn)


def test_a_lock_is_gone_with_the_connection_that_held_it(tmp_path: Path) -> None:
    store = engines.postgres_store(tmp_path / "index", PlainAnalyzer(), "pgvector")
    fill(store, batch(make_document("a.md", "alpha")))
    with pytest.raises(EngineFailed), store.write() as dying:  # noqa: PT012
        with psycopg.connect(engines.postgresql_url(), autocommit=True) as other:
            pid = dying._connection._raw.info.backend_pid  # type: ignore[attr-defined]
            other.execute("SELECT pg_terminate_backend(%s)", (pid,))
        with store.write(5.0) as writing:  # whatever the clock of the dead one said
            writing.apply(batch(make_document("b.md", "beta")))
        dying.apply(batch(make_document("c.md", "gamma")))
    assert found(store, "beta")[0] == ["b.md"]
    assert found(store, "gamma")[0] == []
    store.discard()
    store.close()


_KINDS: dict[str, Condition] = {
    "category": Condition("category", ("Guide",)),
    "tag": Condition("tag", ("a",)),
    "author": Condition("author", ("ada", "nobody")),
    "title": Condition("title", ("note 1",)),
    "path": Condition("path", ("x/",)),
    "under": Condition("under", ("X",)),
    "file": Condition("file", ("2",)),
    "source": Condition("source", ("txt",)),
    "field": Condition("field", ("3",), name="size", sign="<"),
    "has": Condition("field", name="size", sign="has"),
    "nothing": Condition("tag", ("none",)),
    "after": Condition("after", bound=1_500_000_000.0),
    "language": Condition("language", ("sql",)),
    "phrase": Condition("phrase", ("alpha", "beta")),
}
"""Conditions of every kind; the last three are none that the fields of a row answer."""


def noted(number: int) -> IndexedDocument:
    """A document that meets some of the conditions."""
    fields = Fields(
        title=f"Note {number}",
        category=("guide", "other")[number % 2],
        tags=("a/b", "c") if number % 3 else ("c",),
        author=("Ada",) if number % 5 else (),
        modified=1_400_000_000.0 + 20_000_000.0 * number,
        properties=(("size", (str(number),)),) if number % 4 else (),
    )
    text = f"alpha {'beta ' * (number % 3)}w{number}\n\n```sql\nselect {number}\n```\n"
    name = f"{'xy'[number % 2]}/{number}.{('md', 'txt')[number % 7 == 0]}"
    return make_document(name, text, fields=fields)


def hits(store: Store, *conditions: Condition) -> list[list[str]]:
    """What words, code and a vector find under conditions."""
    with store.read() as reading:
        among = reading.matching(conditions)
        found = [
            reading.keyword.search("body", ["alpha", "beta"], 6, among),
            reading.keyword.search("code", ["select"], 6, among),
            reading.vectors.nearest(vector_of("alpha"), 6, among),
        ]
        return [
            [one.chunk.id for one in reading.catalogue.chunks([key for key, _ in some])]
            for some in found
        ]


@pytest.mark.parametrize("engine", [*engines.SEARCH, "limited"])
def test_engines_leave_out_by_fields_what_the_embedded_index_leaves_out(
    tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dowse._store.shared import engine as shared  # noqa: PLC0415

    asked: list[Any] = []

    class Noting(Erring):
        def search(self, *given: Any) -> Any:
            asked.append(given[-1])
            return self._engine.search(*given)

    true = engines.SEARCH.get(engine, engines.SEARCH["pgvector"])
    monkeypatch.setitem(engines.SEARCH, "noting", lambda one: Noting(true(one), {}))
    stores = (
        EmbeddedStore(tmp_path / "here", PlainAnalyzer()),
        engines.postgres_store(tmp_path / "there", PlainAnalyzer(), "noting"),
    )
    everything = batch(*map(noted, range(40)))
    for store in stores:
        fill(store, everything)
    if engine == "limited":  # nothing may be listed: hits are fetched, and the truth chooses
        monkeypatch.setattr(shared, "_LISTED", 0)
    for name, condition in _KINDS.items():
        for one in (condition, replace(condition, negated=True)):
            for more in ((), (Condition("tag", ("c",)),)):
                asked.clear()
                here, there = (hits(store, one, *more) for store in stores)
                assert there == here, (name, one.negated)
                by_fields = name not in {"after", "language", "phrase"} and engine != "limited"
                if by_fields and any(here):
                    assert all(given.keys is None for given in asked)
                    assert all(
                        given.having or given.without or name == "nothing" for given in asked
                    )
    for store in stores:
        store.discard()
        store.close()


@pytest.mark.parametrize("engine", engines.SEARCH)
def test_a_row_with_more_fields_than_an_engine_takes_is_still_found(
    tmp_path: Path, engine: str
) -> None:
    store = engines.postgres_store(tmp_path / "index", PlainAnalyzer(), engine)
    many = Fields(tags=tuple(f"t{number}" for number in range(1500)))
    fill(store, batch(make_document("a.md", "alpha", fields=many), make_document("b.md", "alpha")))
    for tag in ("t0", "t1499"):
        with store.read() as reading:
            among = reading.matching([Condition("tag", (tag,))])
            (found,) = reading.keyword.search("body", ["alpha"], 5, among)
            assert reading.catalogue.chunks([found[0]])[0].document.id == "a.md"
    store.discard()
    store.close()


def test_an_index_in_qdrant_is_indexed_by_field_first_and_replaced_behind_an_alias(
    tmp_path: Path,
) -> None:
    store = engines.postgres_store(tmp_path, PlainAnalyzer(), "qdrant-edge")
    server = engines.qdrant_edge()

    def written(step: Callable[[Store, Any], None], name: str) -> dict[str, list[str]]:
        """The requests that change each collection."""
        begun = len(server.requests)
        changes: dict[str, list[str]] = {}
        step(store, batch(make_document(f"{name}.md", name)))
        for kind, path, _ in server.requests[begun:]:
            if kind == "PUT":
                _, _, name, *what = path.partition("?")[0].split("/")
                changes.setdefault(name, []).append("".join(what))
        return changes

    first = written(fill, "alpha")
    assert all(made[:2] == ["", "index"] for made in first.values())
    *_, name = first
    assert set(first[name][2:]) == {"points"}
    alias = name.rpartition("_")[0]
    engines._qdrant.cache_clear()  # another process goes on
    assert written(apply, "beta")[name] == ["index", "points"]
    store.repair()
    (following,) = {server.aliases[alias]} - {name}
    assert found(store, "beta") == (["beta.md"], ["beta.md"])
    assert store.check() == []
    store.discard()
    store.close()
    assert alias not in server.aliases
    assert not [one for one in server.aliases.values() if one == following]
