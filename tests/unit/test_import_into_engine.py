"""Importing into an engine: the former index stays until the new one is whole."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

import engines
from dowse._model.ports import Analyzer
from dowse._project.archive.export import export_project
from dowse._project.archive.import_ import fill, import_project
from dowse._project.wiring import Given
from dowse._project.workspace import Workspace
from dowse._search.request import SearchRequest
from dowse._store.remote.store import RemoteStore
from dowse._util.locations import Locations
from dowse.errors import Damaged, UsageError
from dowse.testing import HashEmbedder
from vaults import write_vault


@pytest.fixture
def name() -> Iterator[str]:
    """The name of an index in the engine."""
    made = f"import_{uuid.uuid4().hex[:8]}"
    yield made
    rows = engines.qdrant_rows()
    for collection in rows.names(made):
        rows.drop(collection)


def user(folder: Path, name: str) -> Workspace:
    """Somebody whose projects all use one index in an engine."""

    def opened(analyzer: Analyzer) -> RemoteStore:
        return RemoteStore(engines.qdrant_rows, name, analyzer)

    where = Locations(folder / "config", folder / "data", folder / "cache")
    return Workspace(where, Given(HashEmbedder(), store=opened))


@pytest.fixture
def workspace(tmp_path: Path, name: str) -> Workspace:
    """A user with an indexed project of six notes."""
    made = user(tmp_path, name)
    write_vault(tmp_path / "notes", 6)
    project = made.projects.add([tmp_path / "notes"])
    with made.open(project) as engine:
        engine.index()
    return made


@pytest.fixture
def exported(workspace: Workspace, tmp_path: Path) -> Path:
    """An export of four of the notes; the index has six again."""
    project, kept = workspace.projects.get("notes"), {}
    for path in sorted((tmp_path / "notes").rglob("*.md"))[:2]:
        kept[path] = path.read_bytes()
        path.unlink()
    with workspace.open(project) as engine:
        engine.index()
    file = tmp_path / "notes.zip"
    export_project(workspace, project, file)
    for path, content in kept.items():
        path.write_bytes(content)
    with workspace.open(project) as engine:
        engine.index()
    return file


def found(workspace: Workspace) -> tuple[int, bool]:
    """How many documents the index has, and whether a search finds any."""
    with workspace.open(workspace.projects.get("notes")) as engine:
        return len(engine.documents()), bool(engine.search(SearchRequest("gateway radio")).hits)


def test_an_import_that_fails_leaves_the_former_index(
    workspace: Workspace, exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails_at_the_end(*arguments: object, **named: object) -> None:
        fill(*arguments, **named)  # type: ignore[arg-type]
        raise Damaged("The export ends too early.", "Export it once more.")

    monkeypatch.setattr("dowse._project.archive.import_.fill", fails_at_the_end)
    with pytest.raises(Damaged, match="ends too early"):
        import_project(workspace, exported, replace=True)
    assert found(workspace) == (6, True)
    monkeypatch.undo()
    import_project(workspace, exported, replace=True)
    assert found(workspace) == (4, True)


def test_an_import_scores_words_by_the_lengths_of_all_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for number in range(4):
        note = tmp_path / "notes" / f"{number}.md"
        note.parent.mkdir(exist_ok=True)
        note.write_text(f"gateway {'filler ' * 20 * number}\n", "utf-8")
    where = Locations(tmp_path / "c", tmp_path / "d", tmp_path / "cache")
    embedded = Workspace(where, Given(HashEmbedder()))
    with embedded.open(embedded.projects.add([tmp_path / "notes"])) as engine:
        engine.index()
    file = tmp_path / "notes.zip"
    export_project(embedded, embedded.projects.get("notes"), file)
    monkeypatch.setattr(
        "dowse._project.archive.import_._DOCUMENTS", 1
    )  # a batch each; the first is short
    imported = user(tmp_path / "other", name)
    import_project(imported, file)
    wanted = word_scores(embedded)
    assert len(set(wanted.values())) == 4
    assert word_scores(imported) == pytest.approx(wanted)


def word_scores(workspace: Workspace) -> dict[str, float]:
    """The score of each document by the word that all of them have."""
    with (
        workspace.open(workspace.projects.get("notes")) as engine,
        engine.parts.store.read() as reading,
    ):
        scores = dict(reading.keyword.search("body", ["gateway"], 10))
        chunks = reading.catalogue.chunks(list(scores))
    return {one.document.id: scores[one.key] for one in chunks}


def test_an_import_never_replaces_an_index_in_the_engine_unasked(
    workspace: Workspace, exported: Path, tmp_path: Path, name: str
) -> None:
    other = user(tmp_path / "other", name)  # another machine that shares the index
    with pytest.raises(UsageError, match="There is an index already"):
        import_project(other, exported)
    assert found(workspace) == (6, True)
    assert not other.projects.knows("notes")


def test_an_import_that_fails_leaves_no_index_where_there_was_none(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise Damaged("The export ends too early.", "Export it once more.")

    monkeypatch.setattr("dowse._project.archive.import_.fill", fails)
    with pytest.raises(Damaged):
        import_project(user(tmp_path / "other", f"{name}_new"), exported)
    assert engines.qdrant_rows().names(f"{name}_new") == []
