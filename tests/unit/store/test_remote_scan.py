"""What a run over an index in an engine reads: little, where little has changed."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from msgspec.structs import replace

import engines
from documents import STAMP, PlainAnalyzer, batch, make_document
from dowse._model.ports import Analyzer
from dowse._project.engine import Engine
from dowse._search.request import SearchRequest
from dowse._store.remote import head
from dowse._store.remote.coding import encode
from dowse._store.remote.documents import Entry
from dowse._store.remote.rows import In, Row, RowCollection, Rows, Where
from dowse._store.remote.store import RemoteStore
from dowse._store.remote.view import View
from dowse.errors import StampMismatch
from vaults import open_engine, write_vault


class Spy:
    """An engine that notes which fields of which rows are read."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.read: list[tuple[str, Where, tuple[str, ...]]] = []  # collection, rows, fields

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rows, name)

    def scan(
        self, collection: RowCollection, where: Where, fields: Sequence[str]
    ) -> Iterator[dict[str, Any]]:
        self.read.append((collection.name, where, tuple(fields)))
        return self._rows.scan(collection, where, fields)

    def of_all_entries(self) -> list[tuple[str, ...]]:
        """The fields that were read of all entries at once."""
        return [
            fields
            for _, where, fields in self.read
            if isinstance(where, In) and str(where.values[0]).endswith("/entry")
        ]

    def read_of(self, collection: RowCollection) -> list[Where]:
        """The conditions under which rows of a collection were read."""
        return [where for name, where, _ in self.read if name == collection.name]


@pytest.fixture
def spy() -> Spy:
    return Spy(engines.qdrant_rows())


@pytest.fixture
def open_index(tmp_path: Path, spy: Spy) -> Iterator[Callable[[], Engine]]:
    """Opens an index of eight notes, as a process of its own would."""
    name = f"scan_{uuid.uuid4().hex[:8]}"
    write_vault(tmp_path / "vault", 8)
    for note in (tmp_path / "vault").rglob("*.md"):
        os.utime(note, (1_700_000_000, 1_700_000_000))  # a file that is just written is read again

    def opened(analyzer: Analyzer) -> RemoteStore:
        return RemoteStore(lambda: cast("Rows", spy), name, analyzer)

    yield lambda: open_engine(tmp_path / "vault", tmp_path / "index", opened=opened)
    for collection in spy.names(name):
        spy.drop(collection)


def test_a_run_without_changes_reads_of_each_entry_what_a_scan_compares(
    open_index: Callable[[], Engine], spy: Spy
) -> None:
    open_index().index()
    spy.read.clear()
    assert open_index().index().unchanged == 8
    assert spy.of_all_entries() == [("file",)]


def test_a_search_never_reads_all_entries(open_index: Callable[[], Engine], spy: Spy) -> None:
    open_index().index()
    engine = open_index()
    spy.read.clear()
    assert engine.search(
        SearchRequest("gateway", changes={"search.top_n": 100})
    ).hits  # more than there are
    assert spy.of_all_entries() == []


def test_an_index_of_an_earlier_version_is_rebuilt_when_that_is_asked_for(
    open_index: Callable[[], Engine],
) -> None:
    open_index().index()
    view = cast("RemoteStore", open_index().parts.store).view()
    now = {"number": view.head.number, "epoch": view.head.epoch, "stamp": view.head.stamp}
    before = head.meta_row(head.EPOCH, {**now, "average": 20.0, "format": 2})
    entries = [_as_in_format_2(one, view.head.epoch) for one in view.entries().values()]
    view.rows.drop(view.state.name)
    view.rows.put(view.records, [before, *entries])
    for refused in (
        lambda: open_index().search(SearchRequest("gateway")),
        lambda: open_index().index(),
    ):
        with pytest.raises(StampMismatch, match="earlier version") as error:
            refused()
        assert "dowse index --rebuild" in error.value.hint
    open_index().index(rebuild=True)
    assert open_index().search(SearchRequest("gateway")).hits


def test_the_state_of_format_3_is_used_and_then_moved_to_its_own_collection(
    open_index: Callable[[], Engine], spy: Spy
) -> None:
    open_index().index()
    view = cast("RemoteStore", open_index().parts.store).view()
    view.rows.put(view.records, _state_of_format_3(view))
    view.rows.drop(view.state.name)
    assert open_index().search(SearchRequest("gateway")).hits
    assert open_index().index().unchanged == 8
    assert (
        head.read_head(cast("Rows", spy), view.name) == view.head
    )  # also folders, progress and debts
    spy.read.clear()
    assert open_index().search(SearchRequest("gateway")).hits
    assert not any(where == In("kind", ["meta"]) for where in spy.read_of(view.records))
    (former,) = view.rows.get(view.records, [head.EPOCH], ["data"]).values()
    assert json.loads(former["data"])["format"] == head.FORMAT  # earlier versions refuse it


def _state_of_format_3(view: View) -> list[Row]:
    found = {row["key"]: json.loads(row["data"]) for row in head.read_state(view.rows, view.name)}
    found[head.EPOCH]["format"] = 3
    return [head.meta_row(key, value) for key, value in found.items()]


def test_chunks_that_wait_for_a_vector_are_looked_for_only_when_there_are_some(spy: Spy) -> None:
    store = RemoteStore(lambda: cast("Rows", spy), f"waits_{uuid.uuid4().hex[:8]}", PlainAnalyzer())
    with store.write() as writing:
        writing.start(STAMP)
        writing.apply(batch(make_document("a.md", "alpha")))
        writing.apply(batch(make_document("b.md", "beta")))
        assert not any(_is_by_text(where) for where in spy.read_of(store.view().chunks))
        writing.apply(replace(batch(make_document("c.md", "gamma")), vectors={}))
        assert writing.catalogue.counts().embedded == 2
        writing.apply(batch(make_document("d.md", "gamma")))
        assert writing.catalogue.counts().embedded == 4
        writing.apply(replace(batch(make_document("e.md", "delta")), vectors={}))
    with store.write() as writing:  # another process, later
        writing.apply(batch(make_document("f.md", "delta")))
        assert writing.catalogue.counts().embedded == 6
    store.discard()


def _is_by_text(where: Where) -> bool:
    return isinstance(where, In) and where.field == "text_key"


def _as_in_format_2(entry: Entry, epoch: str) -> Row:
    known = {
        name: value
        for name, value in msgspec.structs.asdict(entry).items()
        if name not in {"code_terms", "weighed"}
    }
    return entry.row(epoch, ()) | {"data": encode(known)}
