"""What happens beside a call: indexing, loading, and calls that nobody waits for any more."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.server.lowlevel.server import Server

from command_line import Dowse
from dowse._interfaces.mcp import server as progress
from dowse._interfaces.mcp.projects import VisibleProjects
from dowse._interfaces.mcp.server import build_server
from dowse._model import Event
from dowse._project.engine import Engine
from dowse._project.pool import EnginePool, Job
from dowse._project.state import noted
from dowse._search.request import SearchRequest
from dowse.errors import DowseError
from mcp_client import Ask, text_of, with_client
from serving import serving

_SOON = 20  # seconds that a busy machine may take for what takes none


def _finished(service: EnginePool, project: str) -> Job:
    job = service.job(project)
    assert job is not None
    assert job.ended.wait(_SOON)
    return job


@pytest.fixture
def new_project(service: EnginePool, home: Path) -> str:
    """A project that nobody has indexed."""
    (home / "fresh").mkdir()
    (home / "fresh" / "tide.md").write_text("# Tide\n\nThe tide gauge is new.\n")
    return service.workspace.projects.add([home / "fresh"]).name


def test_a_missing_index_is_reported_and_made_in_the_background(
    ask: Ask, service: EnginePool, new_project: str
) -> None:
    first = ask("query_documents", query="tide", project=new_project)
    assert first.is_error
    assert "has no index yet" in text_of(first)
    assert "project_info" in text_of(first)
    _finished(service, new_project)
    found = ask("query_documents", query="tide", project=new_project).structured_content
    assert [hit["document"] for hit in found["hits"]] == ["tide.md"]
    job = ask("project_info", project=new_project).structured_content["job"]
    assert not job["running"]
    assert "error" not in job


def test_a_changed_file_is_reported_and_indexed_in_the_background(
    ask: Ask, service: EnginePool, notes: Path
) -> None:
    (notes / "lonely.md").write_text("# Lonely\n\nThe lighthouse has got a keeper.\n")
    found = ask("query_documents", query="lighthouse").structured_content
    assert found["hits"][0]["stale"]
    assert "updated in the background" in found["notices"][-1]
    _finished(service, "notes")
    again = ask("query_documents", query="lighthouse keeper").structured_content
    assert "keeper" in again["hits"][0]["text"]
    assert again["notices"] == []


def test_a_folder_that_is_away_is_reported_and_no_run_is_begun_in_vain(
    ask: Ask, service: EnginePool, notes: Path
) -> None:
    notes.rename(notes.with_name("away"))
    found = ask("query_documents", query="lighthouse").structured_content
    assert found["hits"][0]["stale"]
    assert found["notices"] == ["Some of these files are not here: this is what was indexed."]
    info = ask("project_info").structured_content
    assert info["notices"] == [f"{notes} is not here; what was indexed stays."]
    assert service.job("notes") is None


def test_asking_for_the_state_of_a_project_updates_it(
    ask: Ask, service: EnginePool, notes: Path
) -> None:
    (notes / "new.md").write_text("# New\n\nA buoy.\n")
    info = ask("project_info").structured_content
    assert info["status"]["freshness"]["new"] == 1
    _finished(service, "notes")
    assert ask("project_info").structured_content["status"]["up_to_date"]


def test_progress_is_reported_while_a_run_is_under_way(
    ask: Ask, service: EnginePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job("notes", Event("embed", 3, 10, "chunks"))
    monkeypatch.setattr(service, "job", lambda _: job)
    info = ask("project_info").structured_content["job"]
    assert (info["running"], info["stage"], info["done"], info["total"]) == (True, "embed", 3, 10)
    found = ask("query_documents", query="lighthouse").structured_content
    assert "embed, 3 of 10 chunks" in found["notices"][0]


def test_a_run_that_failed_is_reported(
    ask: Ask, service: EnginePool, new_project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise DowseError("The disk is full.", "Make room.")

    monkeypatch.setattr(Engine, "index", fail)
    ask("query_documents", query="tide", project=new_project)
    _finished(service, new_project)
    again = ask("query_documents", query="tide", project=new_project)
    assert "The last attempt failed: The disk is full. Make room." in text_of(again)
    _finished(service, new_project)
    info = ask("project_info", project=new_project)
    assert "The last attempt failed: The disk is full." in text_of(info)
    _finished(service, new_project)


def test_a_failure_of_the_machine_is_reported(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "/index")

    monkeypatch.setattr(Engine, "search", fail)
    failed = ask("query_documents", query="lighthouse")
    assert failed.is_error
    assert "Permission denied: '/index'. The user finds out more" in text_of(failed)


def test_a_failure_of_the_machine_ends_a_run(
    service: EnginePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Engine, "index", fail)
    service.index(service.select("notes"))
    assert "No space left on device" in str(_finished(service, "notes").error)


def test_a_failure_that_nobody_foresaw_ends_a_run_and_is_reported(
    ask: Ask, service: EnginePool, new_project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(Engine, "index", fail)
    service.index(service.select(new_project))
    _finished(service, new_project)
    again = ask("query_documents", query="tide", project=new_project)
    assert "The last attempt failed: ZeroDivisionError: division by zero." in text_of(again)
    assert "dowse index -v" not in text_of(again)  # an agent has no command line
    _finished(service, new_project)


def test_folders_that_a_project_gets_later_are_searched_too(
    ask: Ask, home: Path, dowse: Dowse
) -> None:
    assert not ask("query_documents", query="lighthouse").is_error  # the project is open by now
    (home / "more").mkdir()
    (home / "more" / "tide.md").write_text("# Tide\n\nThe tide gauge is new.\n")
    assert dowse("index", home / "more", "-p", "notes").code == 0
    found = ask("query_documents", query="tide gauge is new", top_n=1).structured_content
    assert [hit["document"] for hit in found["hits"]] == ["@more/tide.md"]


def test_a_cancelled_call_stops_and_others_go_on(
    server: Server[Any], era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, release = threading.Event(), threading.Event()
    search = Engine.search

    def slow(self: Engine, request: SearchRequest) -> Any:
        if request.query == "slow":
            began.set()
            release.wait(_SOON)
        return search(self, request)

    monkeypatch.setattr(Engine, "search", slow)

    async def work(client: Client) -> None:
        async with anyio.create_task_group() as group:
            for _ in range(8):  # more than may work at the same time
                group.start_soon(client.call_tool, "query_documents", {"query": "slow"})
            await anyio.to_thread.run_sync(began.wait, _SOON)
            group.cancel_scope.cancel()
        assert not release.is_set()
        found = await client.call_tool("query_documents", {"query": "lighthouse"})
        assert found.structured_content["hits"]

    try:
        with_client(server, work, era)
    finally:
        release.set()


@pytest.mark.usefixtures("notes")
def test_something_is_loaded_even_where_no_project_is_meant(
    service: EnginePool, home: Path, dowse: Dowse, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "other").mkdir()
    (home / "other" / "one.md").write_text("# One\n\nThe lighthouse.\n")
    assert dowse("index", home / "other").code == 0
    loaded = threading.Event()
    monkeypatch.setattr(Engine, "search", lambda *_, **__: loaded.set())
    EnginePool(service.workspace, home).warm()
    assert loaded.wait(_SOON)


def test_nothing_is_opened_before_it_is_asked_for() -> None:
    def refuse() -> EnginePool:
        raise AssertionError("too early")

    VisibleProjects(refuse)


def _serving_itself(service: EnginePool) -> Server[Any]:
    return build_server(VisibleProjects(lambda: service), [])


def _asking_a_running_server(_: EnginePool) -> Server[Any]:
    projects = VisibleProjects(lambda: pytest.fail("Nothing is opened here."))
    return build_server(projects, [], shares=True)


@pytest.mark.parametrize("built", [_serving_itself, _asking_a_running_server])
def test_a_call_with_progress_waits_for_the_first_index(
    built: Callable[[EnginePool], Server[Any]],
    service: EnginePool,
    new_project: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress, "INTERVAL", 0.02)
    index = Engine.index

    def slow(self: Engine, *arguments: Any, announce: Any, **rest: Any) -> Any:
        announce(Event("embed", 3, 10, "chunks"))
        said.wait(_SOON)
        return index(self, *arguments, announce=announce, **rest)

    monkeypatch.setattr(Engine, "index", slow)
    said = threading.Event()
    seen: list[tuple[float, str | None]] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        assert total is None
        seen.append((progress, message))
        if message == f"Indexing {new_project}: embed, 3 of 10 chunks" and len(seen) > 2:
            said.set()

    async def work(client: Client) -> Any:
        return await client.call_tool(
            "query_documents",
            {"query": "tide", "project": new_project},
            progress_callback=heard,
            meta={"progress_token": "t"},  # a client in another process sets it by itself
        )

    with serving(service):
        found = with_client(built(service), work)
    assert [hit["document"] for hit in found.structured_content["hits"]] == ["tide.md"]
    assert said.is_set()
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("query_documents", {"query": "lighthouse"}),
        ("get_document", {"references": ["lonely"]}),
        ("related_documents", {"reference": "lonely"}),
        ("browse", {}),
        ("recent", {}),
    ],
)
def test_every_tool_says_how_far_an_unfinished_index_is(
    ask: Ask, service: EnginePool, tool: str, arguments: dict[str, Any]
) -> None:
    with noted(service.select("notes").folder, lambda _: None) as announce:
        announce(Event("store", 200, 1672, "files"))
        found = ask(tool, **arguments)
    told = "The index is being built: 200 of 1,672 files so far"
    assert told in found.structured_content["notices"][0]
    assert told in text_of(found)
