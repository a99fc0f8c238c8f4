"""What one change costs does not grow with the index, and nothing is forgotten for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from documents import STAMP, PlainAnalyzer, batch, link, make_document
from dowse._model import Batch, Condition
from dowse._model.ports import within
from dowse._store.sql.writer import SqlWriter
from dowse._store.store import EmbeddedStore
from dowse._store.vectors import smallest
from dowse._util.arrays import members


@contextmanager
def steps(connection: Any) -> Iterator[list[int]]:
    """Counts what SQLite does, in steps of its virtual machine."""
    counted = [0]

    def count() -> None:
        counted[0] += 1

    connection.set_progress_handler(count, 1)
    try:
        yield counted
    finally:
        connection.set_progress_handler(None, 0)


def filled(folder: Path, documents: int) -> EmbeddedStore:
    store = EmbeddedStore(folder, PlainAnalyzer())
    with store.write() as writing:
        writing.start(STAMP)
        numbered = ((n, [link(f"{n - 1}")]) for n in range(documents))
        made = (make_document(f"{n}.md", f"text {n}", links=links) for n, links in numbered)
        writing.apply(batch(*made))
        assert writing.text_vectors.waiting() == {}
        writing.tidy(0)
    return store


def edit(store: EmbeddedStore, text: str) -> int:
    """Replaces a document as a run does, and returns the steps that it takes."""
    with store.write() as writing, steps(writing._connection) as counted:
        writing.apply(batch(make_document("1.md", text, links=[link("0")])))
        assert writing.text_vectors.waiting() == {}
        assert "tidy" in writing.pending()
        writing._forget_vectors(0)
    return counted[0]


def test_an_edit_takes_no_look_at_every_chunk_and_link(tmp_path: Path) -> None:
    taken = []
    for documents in (20, 400):
        store = filled(tmp_path / str(documents), documents)
        edit(store, "the journal of the first batch goes")
        taken.append(edit(store, "other text"))
    assert taken[1] < 1.5 * taken[0]


def waiting(writing: SqlWriter) -> list[str]:
    return sorted(writing.text_vectors.waiting().values())


def test_a_chunk_that_waits_for_its_vector_is_found_after_others_did_not(tmp_path: Path) -> None:
    store = filled(tmp_path, 3)
    without = Batch(put=(make_document("new.md", "no vector yet"),))
    with store.write() as writing:
        writing.apply(without)
        assert waiting(writing) == ["new.md"]
        writing.apply(batch(make_document("2.md", "another edit")))
        assert waiting(writing) == ["new.md"]
        writing.remember(batch(*without.put).vectors)
        assert waiting(writing) == []


def test_what_an_older_version_left_waiting_is_found(tmp_path: Path) -> None:
    store = filled(tmp_path, 3)
    with store.write() as writing:
        known = writing._sql.meta("embedded")
        writing.apply(Batch(put=(make_document("new.md", "no vector yet"),)))
        assert known is not None
        writing._set_meta("embedded", known)  # as a version that does not know this note leaves it
        assert waiting(writing) == ["new.md"]


def test_unused_vectors_go_once_they_outnumber_the_used(tmp_path: Path) -> None:
    store = filled(tmp_path, 6)
    kept = []
    for edits in range(8):
        with store.write() as writing:
            writing.apply(batch(make_document("1.md", f"edit {edits}")))
            writing.tidy(0)
            ((count,),) = writing._connection.execute("SELECT count(*) FROM embeddings")
            kept.append(count)
    assert kept == [7, 8, 9, 10, 11, 12, 6, 7]


def test_conditions_that_were_asked_before_are_answered_from_memory(tmp_path: Path) -> None:
    store = filled(tmp_path, 40)
    condition = Condition("under", ("1",))
    with store.read() as reading:
        first = reading.matching([condition])
        with steps(reading.catalogue._sql._connection) as counted:  # type: ignore[attr-defined]
            assert reading.matching([condition]) is first
        assert counted[0] == 0
        assert len(first) == 11
        assert len(reading.matching([Condition("under", ("1",), negated=True)])) == 29


@pytest.mark.parametrize("kind", [np.uint16, np.float32])
@pytest.mark.parametrize("spread", [3, 400])
def test_the_smallest_numbers_are_found_with_all_that_equal_the_last(
    kind: type[np.generic], spread: int
) -> None:
    values = np.random.default_rng(spread).integers(0, spread, 20_000).astype(kind)
    for count in (1, 70, 400, 1000, 19_999, 20_000, 30_000):
        last = np.sort(values)[min(count, len(values)) - 1]
        assert smallest(values, count).tolist() == np.flatnonzero(values <= last).tolist()


def test_the_smallest_numbers_are_found_where_a_sample_misses_them() -> None:
    values = np.ones(20_000, np.uint16)
    values[1:3200:2] = 0  # at no place that is looked at for a guess
    assert smallest(values, 1600).tolist() == list(range(1, 3200, 2))


@pytest.mark.parametrize("largest", [50, 100_000])
def test_membership_is_that_of_numpy(largest: int) -> None:
    rng = np.random.default_rng(largest)
    numbers = rng.integers(0, largest, 40)
    for among in (np.unique(rng.integers(0, 2 * largest, 30)), np.zeros(0, np.int64)):
        assert members(numbers, among).tolist() == np.isin(numbers, among).tolist()
        assert within(numbers, among).tolist() == np.intersect1d(numbers, among).tolist()
    assert members(numbers[:0], numbers).tolist() == []
