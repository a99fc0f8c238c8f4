"""What readers and writers of every store see of each other."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from documents import STAMP, batch, link, make_document, vector_of, vectors_of
from dowse._model import Batch, IndexedDocument, text_key
from dowse._model.ports import IndexReader, Store
from dowse.errors import Locked
from store_steps import SHELF, apply, fill, number_seen, numbered, where


def test_a_reader_keeps_its_generation_until_it_is_closed(store: Store) -> None:
    fill(store, numbered(1))
    with store.read() as before:
        generation = before.catalogue.generation
        for number in (2, 3):
            apply(store, numbered(number))
            assert number_seen(before) == 1
            with store.read() as after:
                assert number_seen(after) == number
                assert after.catalogue.generation > generation
        assert before.catalogue.generation == generation
        with store.write() as writing:
            writing.start({"model": "another", "dimensions": 4})
        assert number_seen(before) == 1
    with store.read() as reading:
        assert reading.catalogue.documents() == []


def test_a_writer_sees_what_it_has_written(store: Store) -> None:
    with store.write() as writing:
        writing.start(STAMP)
        for number in range(3):
            writing.apply(numbered(number))
            assert writing.vocabulary.most_frequent(1) == [f"number{number}"]
            assert writing.catalogue.counts().embedded == 5
            with store.read() as reading:
                assert number_seen(reading) == number


def test_a_second_writer_learns_who_the_first_one_is(store: Store) -> None:
    with store.write():
        with pytest.raises(Locked, match=r"written by (this )?process") as caught, store.write():
            pass
        assert caught.value.hint
        with store.read() as reading:
            assert reading.catalogue.generation == 0
    with store.write() as writing:
        assert writing.catalogue.generation == 0


def test_a_second_writer_can_wait(store: Store) -> None:
    trying = threading.Event()

    def write_second() -> int:
        trying.set()
        with store.write(wait=30) as writing:
            return writing.catalogue.generation

    with ThreadPoolExecutor() as threads, store.write() as first:
        second = threads.submit(write_second)
        assert trying.wait(30)
        first.start(STAMP)
        assert not second.done()
        generation = first.catalogue.generation
    assert second.result() == generation


class Explosive(tuple[IndexedDocument, ...]):
    """Documents the second of which cannot be had."""

    __slots__ = ()

    def __iter__(self) -> Iterator[IndexedDocument]:
        yield self[0]
        raise RuntimeError("no more")


def test_a_batch_that_fails_changes_nothing(store: Store) -> None:
    fill(store, numbered(1))
    bad = Explosive([make_document("0.md", "changed", links=[link("1")])])
    with store.write() as writing:
        generation = writing.catalogue.generation
        with pytest.raises(RuntimeError, match="no more"):
            writing.apply(Batch(put=bad, gone=("1.md",), vectors=vectors_of(bad[0])))
        assert writing.catalogue.generation == generation
        assert writing.vocabulary.most_frequent(1) == ["number1"]
        assert writing.text_vectors.known([text_key("changed")]) == {}
        writing.apply(numbered(2))
    with store.read() as reading:
        assert reading.catalogue.generation == generation + 1
        assert number_seen(reading) == 2


def test_a_failure_of_the_caller_frees_the_lock_and_keeps_finished_batches(store: Store) -> None:
    def fail_between_batches() -> None:
        with store.write() as writing:
            writing.start(STAMP)
            writing.apply(numbered(1))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_between_batches()
    with store.write(), store.read() as reading:
        assert number_seen(reading) == 1


def test_threads_read_whole_documents_while_one_writes(store: Store) -> None:
    def several(number: int) -> IndexedDocument:
        parts = "\n\n".join(f"number{number} part{part}" for part in range(4))
        return make_document("a.md", parts)

    fill(store, batch(several(0)))
    done = threading.Event()

    def read_until_done() -> list[int]:
        seen: list[int] = []
        while not done.is_set() or not seen:
            with store.read() as reading:
                found = reading.catalogue.chunks(
                    [key for key, _ in reading.vectors.nearest(vector_of("x"), 100)]
                )
                numbers = {chunk.text.split()[0] for chunk in found}
                assert (len(numbers), len(found)) == (1, 4)
                words = reading.keyword.search("body", ["part0", "part1", "part2", "part3"], 100)
                assert len(words) in {0, 4}  # none: it was replaced since this reading met it
                seen.append(int(numbers.pop().removeprefix("number")))
        return seen

    with ThreadPoolExecutor(2) as threads:
        readers = [threads.submit(read_until_done) for _ in range(2)]
        try:
            with store.write() as writing:
                for number in range(1, 9):
                    writing.apply(batch(several(number)))
        finally:
            done.set()
        for reader in readers:
            assert reader.result() == sorted(reader.result())


def test_threads_read_whole_generations_while_one_writes(store: Store) -> None:
    fill(store, numbered(0))
    done = threading.Event()

    def read_until_done() -> list[int]:
        seen: list[int] = []
        while not done.is_set() or not seen:
            with store.read() as reading:
                seen.append(number_seen(reading))
        return seen

    with ThreadPoolExecutor(4) as threads:
        readers = [threads.submit(read_until_done) for _ in range(4)]
        try:
            with store.write() as writing:
                for number in range(1, 16):
                    writing.apply(numbered(number))
        finally:
            done.set()
        for reader in readers:
            assert reader.result() == sorted(reader.result())
    with store.read() as reading:
        assert number_seen(reading) == 15


def test_threads_may_share_one_reading(store: Store) -> None:
    fill(store, numbered(3))
    with store.read() as reading, ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda _: number_seen(reading), range(40))) == [3] * 40


def test_threads_may_search_in_one_reading(store: Store) -> None:
    fill(store, batch(*SHELF))

    def answers(reading: IndexReader) -> list[object]:
        among = reading.matching([where("tag", "fruit"), where("phrase", "red", "apple")])
        return [
            among.tolist(),
            reading.keyword.search("body", ["red", "pear"], 5),
            reading.keyword.search("body", ["red", "pear"], 5, among),
            reading.vectors.nearest(vector_of("x"), 5, among),
            reading.catalogue.chunks(reading.matching([]).tolist()),
            reading.links.of(["notes/Alpha.md"]),
            reading.vocabulary.spelled_like("appel", 3),
        ]

    with store.read() as reading:
        expected = answers(reading)
    with store.read() as reading, ThreadPoolExecutor(4) as threads:
        assert all(found == expected for found in threads.map(answers, [reading] * 40))
