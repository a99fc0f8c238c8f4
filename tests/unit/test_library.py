"""dowse as Python programs use it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Unpack

import pytest
from msgspec.structs import replace

import dowse
from dowse import Dowse, DowseError
from dowse._model import Event, Response
from dowse._project.workspace import Given, Workspace
from dowse.api import Opening
from dowse.errors import BadSettings, NotFound, UsageError
from dowse.testing import HashEmbedder, OverlapReranker
from memory_store import MemoryStore

NOTES = {
    "guides/restore.md": (
        "---\ntags: [ops/backup]\ncategory: guide\nauthor: Ada Byron\nmodified: 2025-03-09\n---\n"
        "# Restore a backup\n\nStop the writer before you restore the database. See [[stations]].\n"
    ),
    "reference/stations.md": (
        "---\ntags: [reference]\nmodified: 2023-05-01\n---\n# Stations\n\n"
        "Every station sends a frame to the database.\n\n"
        "```python\ndef station_by_id(number):\n    return number\n```\n"
    ),
    "journal/day.txt": "Field day\n\nThe rain gauge was calibrated with a bottle of water.\n",
}


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("DOWSE_")]:
        monkeypatch.delenv(name)
    for name in ("config", "data", "cache"):
        monkeypatch.setenv(f"DOWSE_{name.upper()}_DIR", str(tmp_path / "own" / name))
    monkeypatch.chdir(tmp_path)


def opened(place: str | Path | None = None, **opening: Unpack[Opening]) -> Dowse:
    """A project with vectors that need no weights."""
    opening.setdefault("embedder", HashEmbedder())
    return Dowse.open(place, **opening)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in NOTES.items():
        path = tmp_path / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path / "notes"


@pytest.fixture
def notes(folder: Path) -> Iterator[Dowse]:
    with opened(folder) as project:
        project.index()
        yield project


def found(response: Response) -> list[str]:
    return [hit.document for hit in response.hits]


# ── Opening ──────────────────────────────────────────────────────────────────


def test_importing_the_package_loads_nothing() -> None:
    program = "import dowse, sys; print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert not {"numpy", "msgspec", "tantivy", "dowse._project.engine", "dowse.api"} & loaded


def test_a_name_that_the_package_lacks_is_refused() -> None:
    with pytest.raises(AttributeError, match="Dows"):
        dowse.Dows  # noqa: B018


def test_a_folder_becomes_a_project_and_is_found_by_its_name(folder: Path) -> None:
    with opened(folder) as notes:
        assert notes.project.name == "notes"
        assert notes.index().added == 3
    with opened("notes") as by_name, opened(str(folder)) as by_path, opened() as by_default:
        assert by_name.project == by_path.project == by_default.project
        assert found(by_name.search("rain gauge", n=1)) == ["journal/day.txt"]


def test_a_folder_inside_a_project_is_indexed_alone(notes: Dowse, folder: Path) -> None:
    (folder / "new.md").write_text("# New\n", "utf-8")
    (folder / "journal" / "more.md").write_text("# More\n", "utf-8")
    with opened(folder / "journal") as inside:
        assert inside.project == notes.project
        assert inside.index().added == 1
    assert notes.index().added == 1


def test_folders_that_others_add_stay(notes: Dowse, folder: Path) -> None:
    more = folder.with_name("more")
    more.mkdir()
    (more / "late.md").write_text("# Late\n\nThe ceilometer looks up.\n", "utf-8")
    workspace = Workspace(given=Given(HashEmbedder()))
    with workspace.open(workspace.projects.extend(notes.project, [more])) as engine:
        assert engine.index().added == 1
    assert notes.index().removed == 0
    assert "@more/late.md" in [entry.id for entry in notes.documents()]


def test_what_is_neither_folder_nor_project_is_reported(notes: Dowse) -> None:
    with pytest.raises(NotFound, match="neither a folder nor a project") as refusal:
        opened("nowhere")
    assert notes.project.name in refusal.value.hint


def test_an_empty_place_is_not_the_current_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(NotFound, match="neither a folder nor a project"):
        opened("")
    assert not (tmp_path / "own" / "data" / "projects").exists()


def test_without_any_project_the_next_step_is_named() -> None:
    with pytest.raises(DowseError, match="no project yet"):
        Dowse()


def test_before_indexing_the_next_step_is_named(folder: Path) -> None:
    with opened(folder) as notes, pytest.raises(NotFound, match="not been indexed"):
        notes.search("rain")


def test_settings_hold_for_as_long_as_it_is_open(folder: Path) -> None:
    fixed = {"chunk.strategy": "fixed", "search.top_n": 1}
    with opened(folder, settings=fixed) as notes:
        notes.index()
        assert len(notes.search("database").hits) == 1
        stamp = notes.status().stamp
        assert stamp is not None
        assert stamp["chunk"]["strategy"] == "fixed"
    with pytest.raises(BadSettings, match=r"chunk\.size"):
        opened(folder, settings={"chunk.size": 3})


def test_a_home_of_its_own_leaves_the_user_alone(folder: Path, tmp_path: Path) -> None:
    with opened(folder, home=tmp_path / "app") as notes:
        notes.index()
        assert notes.project.folder.is_relative_to(tmp_path / "app")
    assert not (tmp_path / "own" / "data").exists()


# ── Asking ───────────────────────────────────────────────────────────────────


def test_results_are_the_records_of_the_engine(notes: Dowse) -> None:
    response = notes.search("restore the database", n=2)
    hit = response.hits[0]
    assert (hit.document, hit.title, hit.header_path) == (
        "guides/restore.md",
        "Restore a backup",
        ("Restore a backup",),
    )
    assert 0 <= hit.score <= 1
    assert notes.path_of(hit.document).is_file()


@pytest.mark.parametrize(
    ("asking", "documents"),
    [
        ({"tags": "ops"}, {"guides/restore.md"}),
        ({"tags": ["ops", "reference"]}, set()),
        ({"path": ["guides/", "journal/"]}, {"guides/restore.md", "journal/day.txt"}),
        ({"path": Path("journal")}, {"journal/day.txt"}),
        ({"category": "guide"}, {"guides/restore.md"}),
        ({"author": "ada"}, {"guides/restore.md"}),
        ({"source": ("txt",)}, {"journal/day.txt"}),
        ({"language": "python"}, {"reference/stations.md"}),
        ({"after": "2025", "before": "2025-06"}, {"guides/restore.md"}),
        ({"before": date(2024, 1, 1)}, {"reference/stations.md"}),
        ({"after": datetime(2025, 3, 8, 23, tzinfo=UTC), "source": "md"}, {"guides/restore.md"}),
        ({"before": datetime(2025, 3, 8, 23)}, {"reference/stations.md"}),  # noqa: DTZ001
        ({"tags": None, "settings": None, "n": None}, set(NOTES)),
        ({"settings": {"search.top_n": 1}, "mode": "keyword"}, {"reference/stations.md"}),
        ({"preset": "seed-b", "mode": "code", "rerank": False}, {"reference/stations.md"}),
        ({"min_confidence": 1.0}, set()),
    ],
)
def test_what_can_be_said_about_a_search(
    notes: Dowse, asking: dict[str, Any], documents: set[str]
) -> None:
    query = "restore database station_by_id frame rain gauge"
    assert set(found(notes.search(query, **asking))) == documents
    assert set(found(notes.answer(query, **asking))) == documents


def test_what_cannot_be_said_is_reported_with_what_can(notes: Dowse) -> None:
    with pytest.raises(UsageError, match="'pat'") as refusal:
        notes.search("x", pat="y")  # type: ignore[call-arg]
    assert "Did you mean path?" in refusal.value.hint
    with pytest.raises(UsageError, match="min_confidence"):
        notes.search("x", wholly_other=1)  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="hybrid"):
        notes.search("x", mode="psychic")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="not a date"):
        notes.search("x", after="soon")
    for query in ("  ", None, 5):
        with pytest.raises(UsageError, match="empty"):
            notes.search(query)  # type: ignore[arg-type]
    wrong: list[dict[str, Any]] = [{"tag": 5}, {"path": [1]}, {"settings": "search.top_k"}]
    for asking in wrong:
        with pytest.raises(UsageError, match=next(iter(asking))):
            notes.search("x", **asking)
    with pytest.raises(UsageError, match="at least 1"):
        notes.related("guides/restore.md", n=0)


def test_answers_explanations_and_neighbours(notes: Dowse) -> None:
    answered = notes.answer("what was the rain gauge calibrated with?")
    assert answered.answer is not None
    assert "bottle of water" in answered.answer.text
    explained = notes.explain("rain gauge", "guides/restore.md", n=1)
    assert explained.document == "guides/restore.md"
    related = notes.related("guides/restore.md", n=3)
    assert [one.id for one in related.linked] == ["reference/stations.md"]
    assert notes.get("journal/day.txt:3").text.startswith("The rain gauge")
    assert [entry.id for entry in notes.documents()] == sorted(NOTES)
    assert len(notes.graph().edges) == 1
    assert notes.status().counts.documents == 3
    with pytest.raises(NotFound):
        notes.get("nowhere.md")


def test_lists_have_counts(notes: Dowse) -> None:
    by_links = notes.list_documents("links")
    assert (by_links[0].entry.id, by_links[0].links_in) == ("reference/stations.md", 1)
    dated = notes.list_documents("modified", since=date(2023, 1, 1), path=["guides/", "reference/"])
    assert [one.entry.id for one in dated] == ["guides/restore.md", "reference/stations.md"]
    assert [(one.name, one.documents) for one in notes.tags("guides/")] == [
        ("ops", 1),
        ("ops/backup", 1),
    ]
    assert [one.name for one in notes.folders()] == ["guides/", "journal/", "reference/"]
    category = next(one for one in notes.fields() if one.name == "category")
    assert category.values == (dowse.Counted("guide", 1),)
    with pytest.raises(UsageError, match="sort cannot be 'size'"):
        notes.list_documents("size")  # type: ignore[arg-type]


def test_progress_is_reported(folder: Path) -> None:
    events: list[Event] = []
    with opened(folder) as notes:
        notes.index(progress=events.append)
        assert notes.index(rebuild=True, progress=events.append).added == 3
    assert {"scan", "read", "parse", "chunk", "embed", "store"} <= {event.stage for event in events}


def test_it_can_be_sent_to_another_process(folder: Path, tmp_path: Path) -> None:
    with opened(folder, settings={"search.top_n": 1}, home=tmp_path / "app") as notes:
        notes.index()
        with pickle.loads(pickle.dumps(notes)) as sent:  # noqa: S301  its own
            assert sent.project == notes.project
            assert len(sent.search("database").hits) == 1
        assert repr(notes) == "<Dowse 'notes'>"
    assert repr(notes) == "<Dowse 'notes' closed>"


# ── Parts of one's own ───────────────────────────────────────────────────────


def test_an_index_can_be_in_memory(folder: Path, tmp_path: Path) -> None:
    with opened(folder, store=MemoryStore) as notes:
        assert notes.index().added == 3
        assert found(notes.search("rain gauge", n=1)) == ["journal/day.txt"]
        assert notes.status().counts.embedded == 3
        assert not list((tmp_path / "own").rglob("*.sqlite*"))


def test_a_given_embedder_is_used_whatever_the_settings_say(folder: Path) -> None:
    embedder = HashEmbedder()
    with opened(folder, embedder=embedder, settings={"embed.provider": "none"}) as notes:
        notes.index()
        assert embedder.texts
        assert notes.search("rain gauge", mode="semantic").hits


def test_a_given_reranker_reads_the_results(folder: Path) -> None:
    reranker = OverlapReranker()
    with opened(folder, reranker=reranker) as notes:
        notes.index()
        notes.search("rain gauge")
        assert reranker.queries == []
        assert notes.search("rain gauge", rerank=True).hits
        assert reranker.queries == ["rain gauge"]


def test_what_it_was_opened_with_goes_to_another_process(folder: Path) -> None:
    with (
        opened(folder, embedder=HashEmbedder(32), store=MemoryStore) as notes,
        pickle.loads(pickle.dumps(notes)) as sent,  # noqa: S301  its own
    ):
        sent.index()
        stamp = sent.status().stamp
    assert stamp is not None
    assert stamp["dimensions"] == 32


# ── Threads ──────────────────────────────────────────────────────────────────


def test_many_threads_get_what_one_gets(notes: Dowse) -> None:
    queries = ["restore", "station frame", "rain gauge", "database"] * 25
    alone = {query: notes.search(query) for query in set(queries)}
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(notes.search, queries))
    for query, response in zip(queries, together, strict=True):
        assert replace(response, seconds={}) == replace(alone[query], seconds={})


def test_searching_goes_on_while_others_index(notes: Dowse, folder: Path) -> None:
    stop = threading.Event()

    def search() -> int:
        count = 0
        while not stop.is_set() or not count:
            assert "journal/day.txt" in found(notes.search("rain gauge bottle"))
            count += 1
        return count

    def index(number: int) -> int:
        (folder / f"new-{number}.md").write_text(f"# New {number}\n\nNothing else.\n", "utf-8")
        return notes.index(wait=60).added

    with ThreadPoolExecutor(6) as pool:
        searching = [pool.submit(search) for _ in range(3)]
        try:
            added = sum(pool.map(index, range(6)))
        finally:
            stop.set()
        assert all(one.result() > 0 for one in searching)
    assert added == 6
    assert len(notes.documents()) == 9


def test_closing_lets_calls_end_and_refuses_new_ones(notes: Dowse) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def slow(_: Event) -> None:
        inside.set()
        go_on.wait(30)

    with ThreadPoolExecutor(1) as pool:
        indexing = pool.submit(notes.index, progress=slow)
        assert inside.wait(30)
        notes.close()
        notes.close()  # twice is as good as once
        with pytest.raises(UsageError, match="closed"):
            notes.search("rain")
        go_on.set()
        assert indexing.result().unchanged == 3
    with pytest.raises(UsageError, match=r"Dowse\.open"):
        notes.index()
