"""Each call selects its project once, builds its settings once and opens the index once."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from starlette.testclient import TestClient

import engines
from command_line import Dowse
from dowse import AllDowse
from dowse import Dowse as Library
from dowse._interfaces.http.security import Access
from dowse._interfaces.http.server import application
from dowse._interfaces.mcp.projects import VisibleProjects
from dowse._interfaces.mcp.server import build_server
from dowse._model.ports import Analyzer, Store
from dowse._project.pool import EnginePool
from dowse._project.workspace import Workspace
from dowse._search.request import SearchRequest
from dowse._store.store import EmbeddedStore
from dowse.testing import HashEmbedder
from mcp_client import with_client
from serving import serving

_QUERY = "restore the database"
_ONCE = {"opened": 1, "settings": 1, "selected": 1}


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each thing was done."""
    counted: Counter[str] = Counter()

    def count(kind: type, name: str, what: str) -> None:
        original = getattr(kind, name)

        def noted(self: Any, *arguments: Any, **keywords: Any) -> Any:
            counted[what] += 1
            return original(self, *arguments, **keywords)

        monkeypatch.setattr(kind, name, noted)

    count(EmbeddedStore, "read", "opened")
    with contextlib.suppress(ImportError):  # without its client, there is no database to open
        from dowse._store.shared.postgresql import PostgresStore  # noqa: PLC0415

        count(PostgresStore, "read", "opened")
    count(Workspace, "settings", "settings")
    count(Workspace, "find", "selected")
    return counted


@pytest.fixture
def service(notes: Path, workspace: Workspace) -> Iterator[EnginePool]:
    """A service whose engine is open already, as after the first call."""
    service = EnginePool(workspace, notes)
    service.open(service.select("notes")).search(SearchRequest("warm"))
    yield service
    service.close()


@pytest.mark.parametrize(
    "line",
    [
        ("search", _QUERY),
        ("search", "--json", _QUERY),
        ("search", "--max-tokens", "200", _QUERY),
        ("answer", _QUERY),
        ("explain", _QUERY, "--doc", "lonely.md"),
        ("related", "stations"),
        ("get", "lonely.md", "long.md"),
        ("ls", "--json"),
        ("tags",),
        ("fields", "category"),
        ("recent",),
        ("open", "--print", "lonely.md"),
        ("graph",),
        ("status",),
    ],
    ids=" ".join,
)
def test_the_command_line(
    line: tuple[str, ...],
    notes: Path,  # noqa: ARG001  indexed
    dowse: Dowse,
    counts: Counter[str],
) -> None:
    counts.clear()
    assert dowse(*line, "-p", "notes").code == 0
    assert counts == _ONCE


def test_the_socket(service: EnginePool, dowse: Dowse, counts: Counter[str]) -> None:
    with serving(service) as lines:
        assert lines.path
        counts.clear()
        assert dowse("search", "-p", "notes", _QUERY).code == 0
    assert counts == _ONCE


@pytest.mark.parametrize(
    "address",
    [
        f"search?q={_QUERY}",
        f"search?q={_QUERY}&max_tokens=200",
        f"answer?q={_QUERY}",
        f"explain?q={_QUERY}&reference=lonely.md",
        "related?reference=stations",
        "document?reference=reference/stations.md&format=html&whole=true",
        "documents?sort=links",
        "tags?",
        "fields?name=category",
        "folders?",
        "graph?",
        "status?",
    ],
)
def test_http(address: str, service: EnginePool, counts: Counter[str]) -> None:
    app = application(service, Access(), watch=False)
    client = TestClient(app, base_url="http://127.0.0.1:7333")  # no lifespan: nothing else runs
    counts.clear()
    assert client.get(f"/api/v1/{address}&project=notes").status_code == 200
    assert counts == _ONCE


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("query_documents", {"query": _QUERY}),
        ("search_with_hypothesis", {"hypothesis": _QUERY}),
        ("get_document", {"references": ["lonely.md", "long.md"]}),
        ("related_documents", {"reference": "stations"}),
        ("project_info", {}),
    ],
)
def test_mcp(
    tool: str,
    arguments: dict[str, Any],
    service: EnginePool,
    counts: Counter[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    projects = VisibleProjects(lambda: service)
    monkeypatch.setattr(projects, "warm", lambda *_: None)  # it searches at the same time

    async def work(client: Client) -> Any:
        counts.clear()
        return await client.call_tool(tool, {**arguments, "project": "notes"})

    assert not with_client(build_server(projects, ["notes"]), work).is_error
    assert counts == _ONCE


_CALLS = pytest.mark.parametrize(
    "call",
    [
        lambda notes: notes.search(_QUERY),
        lambda notes: notes.answer(_QUERY),
        lambda notes: notes.explain(_QUERY, "lonely.md"),
        lambda notes: notes.get("lonely.md"),
        lambda notes: notes.related("stations"),
        lambda notes: notes.status(),
    ],
)


@_CALLS
def test_python(call: Callable[[Library], object], notes: Path, counts: Counter[str]) -> None:
    with contextlib.closing(Library("notes", embedder=HashEmbedder())) as library:
        assert library.project.roots == (notes,)
        counts.clear()
        call(library)
    assert counts == {"opened": 1}  # the project and its settings were chosen when it was opened


def test_python_with_a_database(notes: Path, counts: Counter[str]) -> None:
    def opened(analyzer: Analyzer) -> Store:
        return engines.postgres_store(notes / "opening", analyzer, "pgvector")

    with Library("notes", embedder=HashEmbedder(), store=opened) as library:
        library.index()
        for call in (library.search, library.answer, library.get):
            counts.clear()
            call("lonely.md")
            assert counts == {"opened": 1}, call
        assert library.project.roots == (notes,)


# ── All projects ─────────────────────────────────────────────────────────────

_EACH = {"opened": 2, "settings": 2}


@pytest.fixture
def two(notes: Path, home: Path, dowse: Dowse, counts: Counter[str]) -> Path:
    """A user with a second project."""
    (home / "more").mkdir()
    (home / "more" / "dump.md").write_text("# Dump\n\nRestore it.\n", "utf-8")
    assert dowse("index", home / "more").code == 0
    counts.clear()
    return notes


@pytest.mark.usefixtures("two")
def test_all_projects_at_the_command_line(dowse: Dowse, counts: Counter[str]) -> None:
    assert dowse("search", "-p", "all", _QUERY).code == 0
    assert counts == {**_EACH, "selected": 1}


def test_all_projects_at_the_doors_of_a_server(
    two: Path,
    workspace: Workspace,
    dowse: Dowse,
    counts: Counter[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service = EnginePool(workspace, two)
    projects = VisibleProjects(lambda: service)
    monkeypatch.setattr(projects, "warm", lambda *_: None)
    http = TestClient(application(service, Access(), watch=False), base_url="http://127.0.0.1:7333")

    async def work(client: Client) -> Any:
        counts.clear()
        return await client.call_tool("query_documents", {"query": _QUERY, "project": "all"})

    with contextlib.closing(service), serving(service) as lines:
        assert lines.path
        assert dowse("search", "-p", "all", _QUERY).code == 0
        assert counts == {**_EACH, "selected": 1}
        counts.clear()
        assert http.get(f"/api/v1/search?q={_QUERY}&project=all").status_code == 200
        assert counts == {**_EACH, "selected": 1}
        assert not with_client(build_server(projects, []), work).is_error
        assert counts == {**_EACH, "selected": 1}


@pytest.mark.usefixtures("two")
def test_all_projects_in_python(counts: Counter[str]) -> None:
    with AllDowse(embedder=HashEmbedder()) as library:
        library.search(_QUERY)
        assert counts == _EACH
        counts.clear()
        library.search(_QUERY)
    assert counts == {"opened": 2}
