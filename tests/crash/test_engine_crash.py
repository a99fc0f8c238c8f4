"""A writer of a remote index that dies between any two calls to its engine."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import cast

import pytest

import engines
from documents import STAMP, PlainAnalyzer, batch, link, make_document, vector_of
from dowse._model import Batch
from dowse._model.ports import IndexReader
from dowse._store.remote.rows import Row, RowCollection, Rows
from dowse._store.remote.store import RemoteStore
from engines import Killed, Mortal, void_claims

OLD = batch(
    make_document("a.md", "# One\n\nalpha beta\n\ngamma", links=[link("b")]),
    make_document("b.md", "beta delta\n\nomega"),
    make_document("c.md", "gone soon"),
)
NEW = batch(
    make_document("a.md", "# Two\n\nalpha new\n\nbeta new\n\nzeta", links=[link("d")]),
    make_document("b.md", "delta only"),
    make_document("d.md", "# Three\n\nfresh words"),
    gone=["c.md"],
)
WHOLE = {
    "a.md": ({"# One", "alpha beta", "gamma"}, {"# Two", "alpha new", "beta new", "zeta"}),
    "b.md": ({"beta delta", "omega"}, {"delta only"}),
    "c.md": ({"gone soon"}, set[str]()),
    "d.md": (set[str](), {"# Three", "fresh words"}),
}
OLD_TEXTS = {name: old for name, (old, _) in WHOLE.items()}
NEW_TEXTS = {name: new for name, (_, new) in WHOLE.items()}


@pytest.fixture(params=[engines.qdrant_rows, engines.milvus_rows], ids=["qdrant", "milvus"])
def rows(request: pytest.FixtureRequest) -> Rows:
    made: Rows = request.param()
    return made


@pytest.fixture
def name() -> str:
    return f"crash_{uuid.uuid4().hex[:8]}"


def seen(reading: IndexReader) -> dict[str, set[str]]:
    """The texts that a search finds of each document."""
    found: dict[str, set[str]] = {document: set() for document in WHOLE}
    keys = [key for key, _ in reading.vectors.nearest(vector_of("x"), 100)]
    for chunk in reading.catalogue.chunks(keys):
        assert chunk.text.strip() not in found[chunk.document.id]
        found[chunk.document.id].add(chunk.text.strip())
    return found


def steps(rows: Rows, name: str) -> Iterator[tuple[int, RemoteStore]]:
    """The same batch on a fresh index, with a death before its first, second, third… write."""
    writes = 0
    while True:
        store = RemoteStore(lambda: rows, f"{name}_{writes}", PlainAnalyzer())
        with store.write() as writing:
            writing.start(STAMP)
            writing.apply(OLD)
        mortal = Mortal(rows, 10**6)
        dying = RemoteStore(lambda rows=mortal: rows, store.name, PlainAnalyzer())  # type: ignore[misc]
        try:
            with dying.write() as writing:
                mortal.left = writes
                writing.apply(NEW)
                mortal.left = 10**6
            assert writes > 8  # the batch takes several writes, and each was tried
            store.discard()
            return
        except Killed:
            # A claim of a process that is gone is void; this process is alive, so it is removed.
            claims = [row for row in rows.names(store.name) if row.endswith("_records")]
            assert claims
            void_claims(rows, store)
            yield writes, store
            store.discard()
        writes += 1


def test_no_document_is_ever_half_there_and_the_next_writer_finishes(rows: Rows, name: str) -> None:
    tried = 0
    for writes, store in steps(rows, name):
        with store.read() as reading:
            for document, texts in seen(reading).items():
                assert texts in WHOLE[document], (writes, document)
        with store.write():
            pass
        assert store.check() == [], writes
        with store.write() as writing:
            writing.apply(NEW)
        assert store.check() == [], writes
        with store.read() as reading:
            assert seen(reading) == {name: new for name, (_, new) in WHOLE.items()}
            counts = reading.catalogue.counts()
            assert (counts.documents, counts.chunks, counts.links) == (3, 7, 1)
            words = reading.vocabulary.most_frequent(100)
            expected = ["new", "alpha", "beta", "delta", "fresh", "only", "three"]
            assert words == [*expected, "two", "words", "zeta"], writes
        tried += 1
    assert tried > 8


class Losing(Mortal):
    """An engine that dies after it removed the entries that it was to replace."""

    def put(self, collection: RowCollection, some: Sequence[Row]) -> None:
        if any(str(row.get("kind", "")).endswith("/entry") for row in some):
            self._rows.remove(collection, [row["key"] for row in some])
            self.left = 0
        self._counted(self._rows.put)(collection, some)


def test_entries_that_an_engine_lost_are_restored_by_the_next_writer(rows: Rows, name: str) -> None:
    store = RemoteStore(lambda: rows, name, PlainAnalyzer())
    with store.write() as writing:
        writing.start(STAMP)
        writing.apply(OLD)
    dying = RemoteStore(lambda: cast("Rows", Losing(rows, 10**6)), name, PlainAnalyzer())
    with pytest.raises(Killed), dying.write() as writing:
        writing.apply(NEW)
    void_claims(rows, store)
    assert seen_now(store)["a.md"] == set()
    with store.write():
        pass
    assert store.check() == []
    # A document that is new comes with the next run; one that goes is still there.
    assert seen_now(store) == {**NEW_TEXTS, "c.md": {"gone soon"}, "d.md": set()}
    store.discard()


def test_an_index_that_is_replaced_is_the_former_one_or_the_new_one(name: str) -> None:
    rows, writes = engines.qdrant_rows(), 0
    while True:
        store = RemoteStore(lambda: rows, f"{name}_{writes}", PlainAnalyzer())
        with store.write() as writing:
            writing.start(STAMP)
            writing.apply(OLD)
        mortal = Mortal(rows, 10**6)
        dying = RemoteStore(lambda rows=mortal: rows, store.name, PlainAnalyzer())  # type: ignore[misc]
        finished = False
        try:
            with dying.replace() as writing:
                mortal.left = writes
                writing.start(STAMP)
                writing.apply(NEW)
                writing.set_communities({"a.md": 1})
                assert seen_now(store) == OLD_TEXTS
            finished = True
        except Killed:
            void_claims(rows, store)
        texts = seen_now(store)
        assert texts in (OLD_TEXTS, NEW_TEXTS), writes
        with store.write():
            pass
        assert store.check() == [], writes
        assert seen_now(store) == texts
        assert len(rows.names(f"{store.name}_chunks_")) == 1
        store.discard()
        if finished:
            break
        writes += 1
    assert texts == NEW_TEXTS
    assert writes > 8


def test_an_index_whose_replacement_fails_is_the_former_one(rows: Rows, name: str) -> None:
    store = RemoteStore(lambda: rows, name, PlainAnalyzer())
    with store.write() as writing:
        writing.start(STAMP)
        writing.note_roots(["/old"])
        writing.apply(OLD)
    with pytest.raises(ZeroDivisionError), store.replace() as writing:  # noqa: PT012
        writing.start(STAMP)
        writing.note_roots(["/new"])
        writing.apply(NEW)
        raise ZeroDivisionError
    with store.read() as reading:
        assert reading.catalogue.roots() == ["/old"]
    assert seen_now(store) == OLD_TEXTS
    assert len(rows.names(f"{name}_chunks_")) == 1
    assert store.check() == []
    with store.replace() as writing:
        writing.start(STAMP)
        writing.apply(NEW)
    with store.read() as reading:
        assert reading.catalogue.roots() == ["/old"]  # of what was not changed
    assert seen_now(store) == NEW_TEXTS
    assert store.check() == []
    store.discard()


def seen_now(store: RemoteStore) -> dict[str, set[str]]:
    with store.read() as reading:
        return seen(reading)


def test_doctor_removes_what_no_document_has(rows: Rows, name: str) -> None:
    store = RemoteStore(lambda: rows, name, PlainAnalyzer())
    with store.write() as writing:
        writing.start(STAMP)
        writing.apply(OLD)
    view = store.view()
    (row,) = view.rows.get(
        view.chunks,
        next(iter(view.entries().values())).chunk_keys(view.head.epoch)[:1],
        list(view.chunks.fields),
    ).values()
    rows.put(view.chunks, [row | {"key": 77, "version": 5}])
    assert [finding.repair for finding in store.check()] == ["dowse doctor --repair"]
    with store.read() as reading:
        assert len(reading.vectors.nearest(vector_of("x"), 100)) == 6
    store.repair()
    assert store.check() == []
    store.discard()


def test_a_document_that_lost_chunks_has_to_be_built_again(rows: Rows, name: str) -> None:
    store = RemoteStore(lambda: rows, name, PlainAnalyzer())
    with store.write() as writing:
        writing.start(STAMP)
        writing.apply(OLD)
    view = store.view()
    entry = next(iter(view.entries().values()))
    rows.remove(view.chunks, entry.chunk_keys(view.head.epoch)[:1])
    assert [finding.repair for finding in store.check()] == ["dowse index --rebuild"]
    store.discard()


def test_two_writers_of_one_part_leave_whole_documents(rows: Rows, name: str) -> None:
    """The claim of the first was lost: both work, and the last one wins."""
    one = RemoteStore(lambda: rows, name, PlainAnalyzer())
    other = RemoteStore(lambda: rows, name, PlainAnalyzer())
    with one.write(part="1/2") as first:
        first.start(STAMP)
        first.apply(OLD)
        void_claims(rows, one)
        with other.write(part="1/2") as second:
            first.apply(NEW)
            second.apply(Batch(put=(make_document("a.md", "of the second"),)))
            with one.read() as reading:
                assert seen_texts(reading, "a.md") == {"of the second"}
    one.repair()
    assert one.check() == []
    one.discard()


def seen_texts(reading: IndexReader, document: str) -> set[str]:
    keys = reading.catalogue.keys_of([document]).tolist()
    return {chunk.text.strip() for chunk in reading.catalogue.chunks(keys)}
