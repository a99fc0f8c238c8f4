"""A database and writers that are killed, and readers that look on: no generation is ever mixed."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import engines
from documents import STAMP, PlainAnalyzer, batch, make_document, vector_of
from dowse._model import IndexedDocument
from dowse._model.ports import Store
from dowse._model.store_options import StoreOptions
from dowse.errors import EngineFailed
from postgresql_server import Postgresql

Rounds = Callable[[int, int], int]
Tally = Callable[[str, object], None]

_DOCUMENTS, _PARTS = 12, 5
_WRITER = """
import sys
sys.path[:0] = sys.argv[1].split(":")
from test_shared import opened, numbered
from documents import batch
store = opened(sys.argv[2], sys.argv[3])
with store.write(wait=30, part=sys.argv[4]) as writing:
    print("writing", flush=True)
    for number in range(int(sys.argv[5]), int(sys.argv[5]) + int(sys.argv[6])):
        writing.apply(batch(*numbered(number, sys.argv[4])))
        print(number, flush=True)
"""


def opened(url: str, name: str) -> Store:
    """A store at an address; this module is also used by writers of their own."""
    from dowse._store.shared.engine import EngineIndexes  # noqa: PLC0415
    from dowse._store.shared.postgresql import (  # noqa: PLC0415
        Address,
        PgVector,
        PostgresSchema,
        PostgresStore,
    )

    analyzer = PlainAnalyzer()
    schema = PostgresSchema(Address(url, StoreOptions(url=url).database, name, 5.0))
    return PostgresStore(schema, EngineIndexes("postgresql", PgVector, analyzer), analyzer)


def numbered(number: int, part: str = "") -> list[IndexedDocument]:
    """Documents whose chunks all carry one number; writers of different parts have their own."""
    mine = part.partition("/")[0] or "0"
    return [
        make_document(
            f"{mine}-{place}.md",
            "\n\n".join(f"number{number} part{one} of {place}" for one in range(_PARTS)),
        )
        for place in range(_DOCUMENTS)
    ]


@pytest.fixture
def server() -> Iterator[Postgresql]:
    """A server of this test alone."""
    with engines.own_postgresql() as made:
        yield made


@pytest.fixture
def shared() -> str:
    """The address of the server that all tests share."""
    return engines.postgresql_url()


@pytest.fixture
def name() -> str:
    return f"torture_{uuid.uuid4().hex[:8]}"


def start_writer(
    url: str, name: str, part: str, number: int, count: int = 50
) -> subprocess.Popen[str]:
    """A process that writes one number after another."""
    here = Path(__file__).parent
    folders = ":".join(map(str, (here, here.parent, here.parent.parent / "tools")))
    return subprocess.Popen(
        [sys.executable, "-c", _WRITER, folders, url, name, part, str(number), str(count)],
        stdout=subprocess.PIPE,
        text=True,
    )


def whole_documents(store: Store) -> dict[str, int]:
    """The number that each document carries; fails when one is half there, or there twice."""
    with store.read() as reading:
        keys = [key for key, _ in reading.vectors.nearest(vector_of("x"), 5000)]
        parts: dict[str, list[tuple[str, str]]] = {}
        for chunk in reading.catalogue.chunks(keys):
            number, part, *_ = chunk.text.split()
            parts.setdefault(chunk.document.id, []).append((number, part))
    for document, found in parts.items():
        assert len({number for number, _ in found}) == 1, (document, found)
        assert sorted(part for _, part in found) == [f"part{one}" for one in range(_PARTS)], (
            document
        )
    return {name: int(found[0][0].removeprefix("number")) for name, found in parts.items()}


def generation(store: Store) -> set[int]:
    """The numbers that are seen at once, found by vectors and by words alike."""
    seen = whole_documents(store)
    with store.read() as reading:
        words = reading.keyword.search("body", ["part0"], 5000)
        assert len(words) == len(seen)
    return set(seen.values())


@pytest.mark.takes(30)
def test_a_database_that_is_killed_while_it_is_written_keeps_whole_generations(
    server: Postgresql, name: str, rounds: Rounds, tally: Tally
) -> None:
    rng, store, survived, last = random.Random(5), opened(server.url, name), 0, 0
    with store.write() as writing:
        writing.start(STAMP)
        writing.apply(batch(*numbered(last)))
    for turn in range(rounds(1, 10)):
        killer = threading.Timer(rng.uniform(0.05, 0.6), server.kill)
        killer.start()
        number = 1 + 1000 * turn
        with (  # noqa: PT012
            pytest.raises(EngineFailed, match="database"),
            store.write(wait=1) as writing,
        ):
            while True:
                writing.apply(batch(*numbered(number)))
                last, number = number, number + 1
        killer.join()
        store.close()
        server.start()
        # The batch in which it was killed may have been kept, although nobody was told so.
        assert generation(store) in ({last}, {number}), turn
        assert store.check() == []
        with store.write() as writing:
            writing.apply(batch(*numbered(number)))
        assert generation(store) == {number}
        survived, last = survived + 1, number
    tally("kills of the database survived", survived)
    store.close()


@pytest.mark.takes(40)
def test_a_shard_that_is_killed_is_simply_run_again(
    shared: str, name: str, rounds: Rounds, tally: Tally
) -> None:
    if not rounds(0, 1):
        pytest.skip("it starts many processes: make torture")
    rng, store, survived = random.Random(6), opened(shared, name), 0
    with store.write() as writing:
        writing.start(STAMP)
    for turn in range(rounds(1, 20)):
        writer = start_writer(shared, name, "1/2", 1 + 100 * turn)
        assert writer.stdout is not None
        assert writer.stdout.readline()
        time.sleep(rng.uniform(0.0, 0.5))
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        seen = whole_documents(store)
        assert len(seen) in {0, _DOCUMENTS} or turn == 0
        with store.write(wait=5, part="1/2") as writing:  # a dead process holds nothing
            writing.apply(batch(*numbered(100 * (turn + 1), "1/2")))
        assert store.check() == []
        assert set(whole_documents(store).values()) == {100 * (turn + 1)}
        survived += 1
    tally("kills of a shard survived", survived)
    store.discard(30)
    store.close()


@pytest.mark.takes(10)
def test_two_runs_of_one_shard_wait_for_each_other_and_two_shards_do_not(
    shared: str, name: str, rounds: Rounds
) -> None:
    if not rounds(0, 1):
        pytest.skip("it starts several processes: make torture")
    store = opened(shared, name)
    with store.write() as writing:
        writing.start(STAMP)
    writers = [start_writer(shared, name, part, 1, 4) for part in ("1/2", "1/2", "2/2")]
    try:
        for writer in writers:
            writer.communicate(timeout=120)
            assert writer.returncode == 0
    finally:
        for writer in writers:
            writer.kill()
    assert store.check() == []
    seen = whole_documents(store)
    assert len(seen) == 2 * _DOCUMENTS
    assert set(seen.values()) == {4}
    store.discard(30)
    store.close()


@pytest.mark.takes(124)
def test_a_reader_next_to_writers_never_sees_a_mixed_generation(
    shared: str, name: str, rounds: Rounds, tally: Tally
) -> None:
    store = opened(shared, name)
    with store.write() as writing:
        writing.start(STAMP)
        writing.apply(batch(*numbered(0, "1/2"), *numbered(0, "2/2")))
    deadline, looks, number = time.monotonic() + rounds(2, 120), 0, 1
    writers: list[subprocess.Popen[str]] = []
    try:
        while time.monotonic() < deadline:
            if not any(writer.poll() is None for writer in writers):
                for writer in writers:
                    writer.communicate()
                parts = ("1/2", "2/2")
                writers = [start_writer(shared, name, part, number) for part in parts]
                number += 50
            assert len(whole_documents(store)) == 2 * _DOCUMENTS
            looks += 1
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()
    assert looks > 0
    tally("looks of a reader next to two writers", looks)
    store.discard(30)
    store.close()
