"""A large run over an index in an engine: words first, and every machine says what is missing."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

import engines
from dowse._model import Event
from dowse._model.ports import Analyzer
from dowse._project.engine import Engine
from dowse._search.request import SearchRequest
from dowse._store.remote.rows import Rows
from dowse._store.remote.store import RemoteStore
from index_content import content
from vaults import open_engine, write_vault

_FILES = 24


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large") / "vault"
    write_vault(folder, _FILES)
    return folder


@pytest.fixture
def name() -> Iterator[str]:
    made = f"large_{uuid.uuid4().hex[:8]}"
    yield made
    rows = engines.qdrant_rows()
    for collection in rows.names(made):
        rows.drop(collection)


def machine(vault: Path, folder: Path, name: str, rows: Rows | None = None) -> Engine:
    """A machine with a folder of its own; all machines share the index in the engine."""

    def opened(analyzer: Analyzer) -> RemoteStore:
        return RemoteStore(lambda: rows or engines.qdrant_rows(), name, analyzer)

    folder.mkdir(exist_ok=True)
    return open_engine(vault, folder, opened=opened)


def test_words_find_everything_on_all_machines_before_the_first_vector_is_made(
    vault: Path, tmp_path: Path, name: str
) -> None:
    notices: dict[str, str] = {}

    def ask(event: Event) -> None:
        if event.stage == "waiting" and event.unit == "chunks" and not notices:
            for one in ("here", "there"):
                response = machine(vault, tmp_path / one, name).search(
                    SearchRequest("gateway sensor")
                )
                places = [place for hit in response.hits for place in hit.trace.places]
                assert {place.strategy for place in places} == {"keyword"}
                (notices[one],) = response.notices

    engine = machine(vault, tmp_path / "here", name)
    report = engine.index(announce=ask)
    so_far = f"0 of {report.embedded} chunks have their vector so far."
    for notice in notices.values():
        assert notice.startswith("Words find everything; meaning follows: ")
        assert so_far in notice
    assert "dowse index -p test" in notices["there"]
    assert engine.search(SearchRequest("gateway sensor")).notices == ()
    assert (
        machine(vault, tmp_path / "there", name).search(SearchRequest("gateway sensor")).notices
        == ()
    )


@pytest.mark.parametrize("writes", [0, 1])  # before vectors are kept, and before chunks get them
def test_a_run_that_is_killed_while_it_embeds_goes_on_where_it_was(
    vault: Path, tmp_path: Path, name: str, writes: int
) -> None:
    rows = engines.qdrant_rows()
    mortal = engines.Mortal(rows, 10**6)

    def kill(event: Event) -> None:
        if event.stage == "waiting" and event.unit == "chunks":
            mortal.left = min(mortal.left, writes)

    dying = machine(vault, tmp_path / "index", name, cast("Rows", mortal))
    with pytest.raises(engines.Killed):
        dying.index(announce=kill)
    again = machine(vault, tmp_path / "index", name)
    store = cast("RemoteStore", again.parts.store)
    engines.void_claims(rows, store)
    counts = again.status().counts
    assert counts.documents == _FILES
    assert counts.embedded < counts.chunks
    assert "Continue it with: dowse index" in again.status().run
    elsewhere = machine(vault, tmp_path / "elsewhere", name)
    assert f"{counts.embedded} of {counts.chunks} chunks" in elsewhere.status().run
    assert again.search(SearchRequest("gateway sensor")).hits
    assert bool(again.index().embedded) == (writes == 0)
    assert again.status().run == ""
    assert store.check() == []
    fresh = machine(vault, tmp_path / "fresh", f"{name}_fresh")
    fresh.index()
    with again.read() as one, fresh.read() as other:
        assert content(one) == content(other)
