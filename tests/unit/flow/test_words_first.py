"""A large run stores all words first, so that they are found while the vectors are made."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from dowse._index import pipeline
from dowse._index.pipeline import most_useful_first
from dowse._model import Edge, EmbeddedBatch, Event, FileState, Link, Response
from dowse._project.engine import Engine
from dowse._search.request import SearchRequest
from dowse.testing import HashEmbedder
from index_content import content
from vaults import open_engine, write_vault

_FILES = 24


class _Stops(HashEmbedder):
    """Is interrupted once, after so many texts."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.left = after

    def passages(self, texts: Sequence[str]) -> Iterator[EmbeddedBatch]:
        for batch in super().passages(texts):
            if self.left <= 0:
                self.left = 1_000_000
                raise KeyboardInterrupt
            self.left -= len(batch.positions)
            yield batch


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    write_vault(tmp_path / "vault", _FILES)
    return tmp_path / "vault"


def _asked_meanwhile(vault: Path, index: Path) -> Response:
    """What a search finds when all files are stored and the first chunks are to be embedded."""
    found: list[Response] = []

    def ask(event: Event) -> None:
        if event.stage == "waiting" and event.unit == "chunks" and not found:
            found.append(open_engine(vault, index).search(SearchRequest("gateway sensor")))

    open_engine(vault, index).index(announce=ask)
    return found[0]


def test_words_find_everything_before_the_first_vector_is_made(vault: Path, tmp_path: Path) -> None:
    response = _asked_meanwhile(vault, tmp_path / "index")
    assert response.hits
    assert {place.strategy for hit in response.hits for place in hit.trace.places} == {"keyword"}
    (notice,) = response.notices
    chunks = open_engine(vault, tmp_path / "index").status().counts.chunks
    assert notice.startswith("Keyword search is ready. Embedding: ")
    assert f": 0 of {chunks} chunks." in notice


def test_words_rank_meanwhile_as_they_do_alone(vault: Path, tmp_path: Path) -> None:
    meanwhile = _asked_meanwhile(vault, tmp_path / "index")
    alone = open_engine(vault, tmp_path / "index").search(
        SearchRequest("gateway sensor", changes={"search.mode": "keyword"})
    )
    assert [hit.id for hit in meanwhile.hits] == [hit.id for hit in alone.hits]


def test_nothing_is_said_when_the_run_is_complete(vault: Path, tmp_path: Path) -> None:
    engine = open_engine(vault, tmp_path / "index")
    assert engine.index().embedded == engine.status().counts.chunks
    assert engine.search(SearchRequest("gateway")).notices == ()


@pytest.mark.parametrize("after", [0, 7])
def test_an_interrupted_run_goes_on_where_it_was(vault: Path, tmp_path: Path, after: int) -> None:
    fresh = open_engine(vault, tmp_path / "fresh")
    fresh.index()
    engine = open_engine(vault, tmp_path / "index", _Stops(after))
    with pytest.raises(KeyboardInterrupt):
        engine.index()
    (notice,) = engine.search(SearchRequest("gateway sensor")).notices
    assert "Continue it with: dowse index" in notice
    kept = engine.status().counts.embedded
    assert engine.index().embedded == fresh.status().counts.embedded - kept
    assert _content(engine) == _content(fresh)


def _content(engine: Engine) -> dict[str, object]:
    with engine.read() as reading:
        return content(reading)


def test_a_few_changed_files_come_with_their_vectors(vault: Path, tmp_path: Path) -> None:
    engine = open_engine(vault, tmp_path / "index")
    engine.index()
    changed = vault / "part-0" / "note-0.md"
    shutil.copy(vault / "part-1" / "note-1.md", changed)
    stages: list[str] = []
    engine.index(announce=lambda event: stages.append(event.stage) if event.unit else None)
    with engine.read() as reading:
        assert not reading.text_vectors.waiting()
    assert "embed" in stages


def test_vectors_are_made_first_for_what_many_link_to_then_for_what_is_new() -> None:
    def edge(target: str | None) -> Edge:
        return Edge("x.md", Link("wikilink", "x", "", "", 1), target)

    files = {name: FileState(1, age, "") for name, age in {"a": 1, "b": 9, "c": 5}.items()}
    waiting = {1: "a", 2: "b", 3: "c", 4: "a"}
    links = [edge("a"), edge(None)]
    assert most_useful_first(waiting, links, files) == [1, 4, 2, 3]
    assert most_useful_first(waiting, links, files, first={"c"}) == [3, 1, 4, 2]


# ── What is edited while a first index is still being embedded ───────────────


class _Meanwhile(HashEmbedder):
    """Lets something happen after so many texts, and goes on then."""

    def __init__(self, after: int, happen: Callable[[], object]) -> None:
        super().__init__(batch=4)
        self.after, self.happen = after, happen

    def passages(self, texts: Sequence[str]) -> Iterator[EmbeddedBatch]:
        for batch in super().passages(texts):
            if self.after <= len(self.texts):
                self.after = 1_000_000
                self.happen()
            yield batch


@pytest.fixture
def always_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "_LOOK_AFTER", 0.0)
    monkeypatch.setattr(pipeline, "_LOOKS", 1e9)


@pytest.mark.usefixtures("always_looks")
def test_an_edit_is_found_by_words_and_embedded_next_while_the_rest_is_embedded(
    vault: Path, tmp_path: Path
) -> None:
    index, note = tmp_path / "index", vault / "part-0" / "note-0.md"
    embedder = _Meanwhile(8, lambda: note.write_text("# Zebrafish\n\nThey heal their hearts.\n"))
    found: list[tuple[int, str]] = []

    def ask(event: Event) -> None:
        if event.stage == "waiting" and event.unit == "chunks" and not found:
            hits = open_engine(vault, index).search(SearchRequest("zebrafish")).hits
            found.extend((len(embedder.texts), hit.document) for hit in hits)

    engine = open_engine(vault, index, embedder)
    report = engine.index(announce=ask)
    chunks = engine.status().counts.chunks
    (asked_after, document), *_ = found
    assert document == "part-0/note-0.md"
    assert asked_after < chunks
    edited = next(n for n, text in enumerate(embedder.texts) if "heal their hearts" in text)
    assert edited <= asked_after + 4
    assert (report.added, report.changed, report.removed) == (_FILES, 1, 0)
    fresh = open_engine(vault, tmp_path / "fresh")
    fresh.index()
    assert _content(engine) == _content(fresh)


@pytest.mark.usefixtures("always_looks")
def test_a_file_that_is_removed_while_others_are_embedded_is_gone(
    vault: Path, tmp_path: Path
) -> None:
    note = vault / "part-0" / "note-0.md"
    engine = open_engine(vault, tmp_path / "index", _Meanwhile(8, note.unlink))
    assert engine.index().removed == 1
    fresh = open_engine(vault, tmp_path / "fresh")
    fresh.index()
    assert _content(engine) == _content(fresh)


@pytest.mark.usefixtures("always_looks")
def test_a_file_that_cannot_be_read_is_tried_once_in_a_run(vault: Path, tmp_path: Path) -> None:
    (vault / "broken.md").write_bytes(b"\xff\xfe\xff")
    engine = open_engine(vault, tmp_path / "index")
    assert [one.id for one in engine.index().left_out] == ["broken.md"]
