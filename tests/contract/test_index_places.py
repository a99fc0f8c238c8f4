"""What projects may rely on, wherever their indexes are kept; a new store joins by one line."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

import engines
from documents import STAMP, PlainAnalyzer, batch, make_document
from dowse._model import Announce, silent
from dowse._model.ports import Analyzer, IndexPlaces, Store
from dowse._model.store_options import StoreOptions
from dowse._project.registry import Project, Projects
from dowse._store.store import Places
from dowse._util.files import Locations
from dowse.errors import Locked, UsageError
from memory_store import MemoryStore


class Elsewhere:
    """Indexes on a server: the folder of a project only holds the name of its index there."""

    def __init__(self) -> None:
        self._served: dict[str, MemoryStore] = {}

    def store(self, project: Path, analyzer: Analyzer, announce: Announce = silent) -> MemoryStore:
        del announce
        file = project / "name-on-the-server"
        if not file.exists():
            project.mkdir(parents=True, exist_ok=True)
            file.write_text(uuid.uuid4().hex)
        return self._served.setdefault(file.read_text(), MemoryStore(analyzer))

    def holding(self, projects: Path) -> list[str]:
        return [file.parent.name for file in projects.glob("*/name-on-the-server")]

    def roots(self, project: Path) -> list[str]:
        if not (store := self._known(project)):
            return []
        with store.read() as reading:
            return reading.catalogue.roots()

    def undisturbed(self, project: Path, wait: float = 0) -> AbstractContextManager[object]:
        store = self._known(project)
        return store.write(wait) if store else nullcontext()

    def carry(self, project: Path, to: Path) -> None:
        name = (project / "name-on-the-server").read_text()
        (to / "name-on-the-server").write_text(name)

    def remove(self, project: Path) -> None:
        file = project / "name-on-the-server"
        self._served.pop(file.read_text() if file.exists() else "", None)

    def _known(self, project: Path) -> MemoryStore | None:
        file = project / "name-on-the-server"
        return self._served.get(file.read_text()) if file.exists() else None


class InDatabase(Places):
    """Indexes in PostgreSQL: the folder of a project holds a note."""

    def store(
        self,
        project: Path,
        analyzer: Analyzer,
        announce: Announce = silent,
        options: StoreOptions | None = None,
    ) -> Store:
        options = options or StoreOptions(url=engines.postgresql_url(), prefix="places")
        return super().store(project, analyzer, announce, options)


PLACES: dict[str, Callable[[], IndexPlaces]] = {
    "embedded": Places,
    "elsewhere": Elsewhere,
    "database": InDatabase,
}


@pytest.fixture(params=PLACES)
def places(request: pytest.FixtureRequest) -> IndexPlaces:
    return PLACES[request.param]()


@pytest.fixture
def projects(places: IndexPlaces, tmp_path: Path) -> Projects:
    return Projects(Locations(*(tmp_path / name for name in ("config", "data", "cache"))), places)


@pytest.fixture
def notes(projects: Projects, tmp_path: Path) -> Project:
    (tmp_path / "notes").mkdir()
    return projects.add([tmp_path / "notes"])


def opened(projects: Projects, name: str) -> Store:
    return projects.indexes.store(projects.get(name).folder, PlainAnalyzer(), silent)


def fill(projects: Projects, project: Project) -> None:
    store = opened(projects, project.name)
    with store.write() as writing:
        writing.start(STAMP)
        writing.note_roots([str(root) for root in project.roots])
        writing.apply(batch(make_document("a.md", "alpha")))
    store.close()


def test_an_index_is_where_its_store_says_and_takes_room(
    projects: Projects, notes: Project
) -> None:
    store = opened(projects, "notes")
    before = store.bytes()
    fill(projects, notes)
    assert store.bytes() > before
    assert store.place
    store.close()


def test_an_index_follows_its_project_to_another_name(projects: Projects, notes: Project) -> None:
    fill(projects, notes)
    projects.rename("notes", "journal")
    store = opened(projects, "journal")
    with store.read() as reading:
        assert reading.catalogue.counts().documents == 1
    store.close()


def test_a_removed_project_leaves_no_index_to_the_next_one(
    projects: Projects, notes: Project, tmp_path: Path
) -> None:
    fill(projects, notes)
    projects.remove("notes")
    assert not projects.knows("notes")
    projects.add([tmp_path / "notes"])
    store = opened(projects, "notes")
    with store.read() as reading:
        assert reading.catalogue.documents() == []
    store.close()


def test_no_project_is_renamed_or_removed_while_its_index_is_written(
    projects: Projects, notes: Project
) -> None:
    fill(projects, notes)
    store = opened(projects, "notes")
    with store.write():
        with pytest.raises(Locked):
            projects.rename("notes", "journal")
        with pytest.raises(Locked):
            projects.remove("notes")
    store.close()
    with projects.indexes.undisturbed(notes.folder), pytest.raises(Locked):
        fill(projects, notes)


def test_a_project_whose_file_is_lost_is_restored_from_its_index(
    projects: Projects, notes: Project
) -> None:
    fill(projects, notes)
    notes.settings_file.unlink()
    assert projects.knows("notes")
    assert projects.restore("notes").roots == notes.roots


def test_a_project_without_an_index_is_renamed_and_says_nothing_of_roots(
    projects: Projects, notes: Project
) -> None:
    assert projects.indexes.roots(notes.folder) == []
    assert projects.rename("notes", "journal").name == "journal"
    projects.get("journal").settings_file.write_text("broken")
    with pytest.raises(UsageError, match="does not say which folders"):
        projects.restore("journal")


def test_a_folder_that_takes_over_a_project_finds_its_index_outside(
    projects: Projects, notes: Project, tmp_path: Path
) -> None:
    fill(projects, notes)
    other = tmp_path / "other"
    other.mkdir()
    projects.indexes.carry(notes.folder, other)
    store = projects.indexes.store(other, PlainAnalyzer(), silent)
    inside = (notes.folder / "index").exists()
    with store.read() as reading:
        assert reading.catalogue.counts().documents == (0 if inside else 1)
    store.close()
    projects.remove("notes")
