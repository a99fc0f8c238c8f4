"""Replicas that hold a batch which the database has lost, as a power cut can leave them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from documents import STAMP, PlainAnalyzer, batch, make_document
from dowse._store.store import EmbeddedStore

Saved = dict[Path, bytes]


@contextmanager
def opened(folder: Path) -> Iterator[EmbeddedStore]:
    store = EmbeddedStore(folder, PlainAnalyzer())
    yield store
    store.close()


def apply(folder: Path, name: str) -> None:
    with opened(folder) as store, store.write() as writing:
        writing.apply(batch(make_document(f"{name}.md", f"{name} all")))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "index"
    with opened(folder) as store, store.write() as writing:
        writing.start(STAMP)
        writing.apply(batch(*(make_document(f"{n}.md", f"word{n} all") for n in range(5))))
    return folder


def save(folder: Path) -> Saved:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def is_database(path: Path) -> bool:
    return path.name.startswith("index.db")


def put_back(folder: Path, saved: Saved, *, database: bool) -> None:
    """Makes the database, or all but the database, what it was."""
    for path in folder.iterdir():
        if is_database(path) == database:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path, content in saved.items():
        if is_database(path) == database:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)


def assert_holds(folder: Path, *words: str) -> None:
    """Searching finds these documents beside the first five, and nothing unknown."""
    with opened(folder) as store:
        with store.read() as reading:
            keys = [key for key, _ in reading.keyword.search("body", ["all"], 99)]
            assert len(reading.catalogue.chunks(keys)) == len(keys) == 5 + len(words)
            assert all(len(reading.keyword.search("body", [word], 9)) == 1 for word in words)
            assert reading.keyword.search("body", ["lost"], 9) == []
        assert store.check() == []


def test_replicas_ahead_of_the_database_are_rebuilt_before_they_are_searched(folder: Path) -> None:
    before = save(folder)
    apply(folder, "lost")
    put_back(folder, before, database=True)
    assert_holds(folder)


def test_a_commit_that_neither_manifest_nor_journal_knows_is_rebuilt(folder: Path) -> None:
    apply(folder, "kept")
    before = save(folder)
    apply(folder, "lost")
    put_back(folder, before, database=True)
    for path, content in before.items():
        if path.parent == folder and path.suffix == ".json":
            path.write_bytes(content)
    with opened(folder) as store, store.write(), store.read() as reading:  # after the next writer
        assert reading.keyword.search("body", ["lost"], 9) == []
    assert_holds(folder, "kept")


def test_another_batch_of_the_same_number_is_not_taken_for_the_lost_one(folder: Path) -> None:
    before = save(folder)
    apply(folder, "lost")
    ahead = save(folder)
    put_back(folder, before, database=True)
    apply(folder, "kept")
    put_back(folder, ahead, database=False)
    assert_holds(folder, "kept")
