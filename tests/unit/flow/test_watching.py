"""From changes in a folder to the index: what a person does, and what can be found afterwards."""

from __future__ import annotations

import queue
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dowse._index.source.walk import MASS
from dowse._model import Event, IndexReport
from dowse._project.engine import Engine
from dowse._project.indexing import watch_folders
from dowse._search.request import SearchRequest
from dowse.testing import HashEmbedder
from vaults import open_engine

PATIENCE = 60  # seconds; only a failing test ever waits so long


class Watched:
    """A folder that is watched in a thread, and the engine that follows it."""

    def __init__(self, folder: Path) -> None:
        self.embedder = HashEmbedder()
        self.engine: Engine = open_engine(folder / "vault", folder / "index", self.embedder)
        self.notes: queue.Queue[str] = queue.Queue()
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        def announce(event: Event) -> None:
            if event.note:
                self.notes.put(event.note)

        watch_folders(self.engine, self._tell, self._stop, announce)

    def _tell(self, _: IndexReport) -> None:
        with self._changed:
            self._changed.notify_all()

    def until(self, holds: Callable[[set[str]], bool]) -> set[str]:
        """The documents, as soon as they are as wanted."""
        with self._changed:
            assert self._changed.wait_for(lambda: holds(self.documents()), PATIENCE), (
                self.documents()
            )
        return self.documents()

    def documents(self) -> set[str]:
        return {entry.id for entry in self.engine.documents()}

    def end(self) -> None:
        self._stop.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "a.md").write_text("# A\n\nThe barometer of the mast.\n", "utf-8")
    return tmp_path / "vault"


@pytest.fixture
def watched(vault: Path) -> Iterator[Watched]:
    watched = Watched(vault.parent)
    watched.until(lambda ids: ids == {"a.md"})
    yield watched
    watched.end()


def test_a_checkout_of_very_many_files_is_indexed_whole(watched: Watched, vault: Path) -> None:
    names = {f"many/{number}.md" for number in range(MASS + 200)}
    (vault / "many").mkdir()
    for name in names:
        (vault / name).write_text("# Same\n\nOne text for all.\n", "utf-8")
    watched.until(lambda ids: ids == {"a.md"} | names)
    shutil.rmtree(vault / "many")
    watched.until(lambda ids: ids == {"a.md"})


def test_what_is_renamed_is_found_under_its_new_name_and_not_embedded_again(
    watched: Watched, vault: Path
) -> None:
    read = list(watched.embedder.texts)
    (vault / "a.md").rename(vault / "b.md")
    watched.until(lambda ids: ids == {"b.md"})
    (vault / "sub").mkdir()
    (vault / "b.md").rename(vault / "sub" / "b.md")
    watched.until(lambda ids: ids == {"sub/b.md"})
    (vault / "sub").rename(vault / "other")
    watched.until(lambda ids: ids == {"other/b.md"})
    assert watched.embedder.texts == read
    assert [hit.document for hit in watched.engine.search(SearchRequest("barometer")).hits] == [
        "other/b.md"
    ]


def test_what_an_editor_writes_next_to_a_file_is_never_a_document(
    watched: Watched, vault: Path
) -> None:
    for passing in (".a.md.swp", "4913", "a.md~", "#a.md#", "a.md.tmp"):
        (vault / passing).write_text("# Not for you\n", "utf-8")
    (vault / "a.md.tmp").write_text("# A\n\nThe hygrometer of the mast.\n", "utf-8")
    (vault / "a.md.tmp").rename(vault / "a.md")

    def says_so(ids: set[str]) -> bool:
        return ids == {"a.md"} and "hygrometer" in watched.engine.get("a.md").text

    watched.until(says_so)
    assert not watched.engine.search(
        SearchRequest("not for you", changes={"search.mode": "keyword"})
    ).hits


def test_a_root_that_is_deleted_keeps_its_documents_until_it_is_back(
    watched: Watched, vault: Path
) -> None:
    vault.rename(vault.with_name("away"))
    assert "gone" in watched.notes.get(timeout=PATIENCE)
    assert watched.engine.search(SearchRequest("barometer")).hits[0].stale
    vault.mkdir()
    (vault / "new.md").write_text("# New\n", "utf-8")
    watched.until(lambda ids: ids == {"new.md"})
