"""All projects at once: at the command line, over the socket, HTTP, MCP and in Python."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_types import CallToolResult
from starlette.testclient import TestClient

from command_line import Dowse
from dowse import AllDowse, AsyncAllDowse
from dowse._interfaces.http.security import Access
from dowse._interfaces.http.server import application
from dowse._interfaces.mcp.projects import VisibleProjects
from dowse._interfaces.mcp.server import build_server, mcp_sessions
from dowse._project.pool import EnginePool
from dowse._project.workspace import Workspace
from dowse._search.request import SearchRequest
from dowse._search.writer import EndpointWriter
from mcp_client import text_of, with_client
from serving import serving

_API = "http://127.0.0.1:7333"
_FOLDERS = {
    "work": {
        "README.md": "# Work\n\nHow the masts of the stations are built and kept.\n",
        "mast.md": "# Mast\n\nThe turbine of the mast is oiled in spring.\n",
    },
    "home": {"garden.md": "# Garden\n\nThe turbine in the garden pumps water.\n"},
    "empty": {"note.md": "# Note\n\nNothing of interest.\n"},
}

Calls = Callable[..., CallToolResult]


@pytest.fixture
def several(home: Path, dowse: Dowse) -> Path:
    """A user with three projects, in a folder that belongs to none of them."""
    for name, files in _FOLDERS.items():
        for file, text in files.items():
            (home / name).mkdir(exist_ok=True)
            (home / name / file).write_text(text, "utf-8")
        assert dowse("index", home / name).code == 0
    return home


@pytest.fixture
def service(several: Path, workspace: Workspace) -> EnginePool:
    return EnginePool(workspace, several)


def _call(service: EnginePool, tool: str, **arguments: Any) -> CallToolResult:
    async def work(client: Client) -> CallToolResult:
        return await client.call_tool(tool, arguments)

    server = build_server(VisibleProjects(lambda: service, service.only), ["work"])
    result: CallToolResult = with_client(server, work)
    return result


def _http(service: EnginePool) -> TestClient:
    app = application(service, Access(), watch=False, mcp=mcp_sessions(service))
    return TestClient(app, base_url=_API)


def _places(hits: Any) -> list[tuple[str, str]]:
    return sorted((hit["project"], hit["document"]) for hit in hits)


_TURBINES = [("home", "garden.md"), ("work", "mast.md")]


def test_every_door_searches_all_projects_where_none_is_named(
    several: Path, service: EnginePool, dowse: Dowse
) -> None:
    printed = dowse("search", "turbine", "--json").json
    assert printed["project"] == "all"
    assert _places(printed["hits"]) == _TURBINES
    assert {hit["path"] for hit in printed["hits"]} == {
        str(several / "home/garden.md"),
        str(several / "work/mast.md"),
    }
    with serving(service):
        assert dowse("search", "turbine", "--json").json["hits"] == printed["hits"]
    with _http(service) as http:
        answered = http.get("/api/v1/search", params={"query": "turbine"}).json()
        assert _places(answered["hits"]) == _TURBINES
        named = http.get("/api/v1/search", params={"query": "turbine", "project": "work"}).json()
        assert _places(named["hits"]) == [("work", "mast.md")]
    told = _call(service, "query_documents", query="turbine").structured_content
    assert _places(told["hits"]) == _TURBINES
    with AllDowse() as everything:
        found = everything.search("turbine", n=1)
        assert len(found) == 1
        assert {hit.project for hit in everything.search("turbine")} == {"home", "work"}


def test_every_door_answers_from_all_projects(
    several: Path, service: EnginePool, dowse: Dowse
) -> None:
    assert several.exists()
    question = "what does the turbine do"
    printed = dowse("answer", question, "--json").json
    assert "pumps water" in printed["answer"]["text"]
    assert "oiled in spring" in printed["answer"]["text"]
    for sentence in printed["answer"]["sentences"]:
        assert sentence["text"] in printed["hits"][sentence["hit"] - 1]["text"]
    assert "Garden — home" in dowse("answer", question).out
    with serving(service):
        assert dowse("answer", question, "--json").json["answer"] == printed["answer"]
    with _http(service) as http:
        told = http.get("/api/v1/answer", params={"query": question}).json()
        assert told["answer"] == printed["answer"]
    with AllDowse() as everything:
        few = everything.answer(question, settings={"answer.sentences": 1}).answer
        assert few is not None
        assert few.sources == (1,)

    async def awaited() -> str:
        async with AsyncAllDowse() as everything:
            assert len(await everything.search("turbine")) == 2
            answer = (await everything.answer(question)).answer
            return answer.text if answer else ""

    assert anyio.run(awaited) == printed["answer"]["text"]


def test_a_model_writes_one_answer_from_all_projects(
    service: EnginePool, dowse: Dowse, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []

    def write(_: object, __: str, material: str) -> str:
        shown.append(material)
        return "Pumps [1]."

    monkeypatch.setenv("DOWSE_ANSWER_ENDPOINT_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("DOWSE_ANSWER_ENDPOINT_MODEL", "pen")
    monkeypatch.setattr(EndpointWriter, "write", write)
    assert service.find() is None
    answer = service.open_all().answer(SearchRequest("turbine")).answer
    assert answer is not None
    assert (answer.text, answer.written_by) == ("Pumps [1].", "pen")
    assert len(shown) == 1
    assert all(text in shown[0] for text in ("pumps water", "oiled in spring"))
    assert dowse("answer", "turbine", "--json").json["answer"]["text"] == "Pumps [1]."


def test_in_a_folder_of_a_project_all_must_be_said(several: Path, dowse: Dowse) -> None:
    os.chdir(several / "work")
    one = dowse("search", "turbine", "--json").json
    assert (one["project"], _places(one["hits"])) == ("work", [("work", "mast.md")])
    assert _places(dowse("search", "-p", "all", "turbine", "--json").json["hits"]) == _TURBINES


def test_scores_are_those_of_the_project_alone_and_the_best_come_first(
    several: Path, dowse: Dowse
) -> None:
    hits = dowse("search", "turbine water", "--json").json["hits"]
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)
    for hit in hits:
        alone = dowse("search", "-p", hit["project"], "turbine water", "--json").json["hits"]
        assert hit["score"] == alone[0]["score"]
    assert several.exists()


def test_people_read_the_project_and_open_the_file(several: Path, dowse: Dowse) -> None:
    out = dowse("search", "garden turbine").out
    assert "Garden — home" in out
    printed = dowse("open", "1", "--print", "--with", "vim").out
    assert printed.endswith(f"{several}/home/garden.md\n")
    files = dowse("search", "garden turbine", "--format", "files").out.splitlines()
    assert files[0] == str(several / "home/garden.md")


def test_a_project_that_cannot_be_searched_does_not_stop_the_others(
    several: Path, service: EnginePool, dowse: Dowse
) -> None:
    (several / "new").mkdir()
    assert dowse("project", "add", several / "new").code == 0
    broken = next((several / "own").rglob("empty/project.toml"))
    broken.write_text("nonsense = [")
    result = dowse("search", "turbine", "--json").json
    assert _places(result["hits"]) == _TURBINES
    told = " ".join(result["notices"])
    assert "new was not searched" in told
    assert "dowse index -p new" in told
    assert "empty/project.toml cannot be read" in told
    assert "new was not searched" in text_of(_call(service, "query_documents", query="turbine"))


def test_the_advice_for_a_wrong_project_works(several: Path, service: EnginePool) -> None:
    inside = EnginePool(service.workspace, several / "work")  # where one project is meant otherwise
    for asked, found in (("query_documents", {"query": "turbine"}), ("recent", {})):
        wrong = _call(inside, asked, **found, project="wrok")
        assert wrong.is_error
        advice = "Search all of them with project all, or use one of: empty, home, work."
        assert advice in text_of(wrong)
        told = str(_call(inside, asked, **found, project="all").structured_content)
        assert "mast.md" in told
        assert "garden.md" in told
        assert not _call(inside, asked, **found, project="work").is_error


def test_agents_read_from_all_projects_without_naming_one(service: EnginePool) -> None:
    read = _call(service, "get_document", references=["garden", "mast"]).structured_content
    assert [one["document"] for one in read["passages"]] == ["garden.md", "mast.md"]
    related = _call(service, "related_documents", reference="garden").structured_content
    assert related["project"] == "home"
    missing = _call(service, "get_document", references=["nothing of the kind"])
    assert "There is no document" in text_of(missing)


def test_a_server_of_one_project_shows_it_alone(workspace: Workspace, several: Path) -> None:
    service = EnginePool(workspace, several, only="work")
    with _http(service) as http:
        listed = http.get("/api/v1/projects").json()
        assert [one["name"] for one in listed["projects"]] == [listed["current"]] == ["work"]
        found = http.get("/api/v1/search", params={"query": "turbine"}).json()
        assert _places(found["hits"]) == [("work", "mast.md")]
        other = http.get("/api/v1/search", params={"query": "turbine", "project": "home"})
        assert other.status_code == 404
    told = _call(service, "project_info").structured_content
    assert [one["name"] for one in told["projects"]] == ["work"]
    assert _call(service, "query_documents", query="turbine", project="home").is_error


def test_a_project_says_what_is_in_it(several: Path, service: EnginePool, dowse: Dowse) -> None:
    readme = "How the masts of the stations are built and kept."
    assert dowse("project", "describe", "work").out.strip() == readme
    assert "It has no description." in dowse("project", "describe", "home").out
    (several / "home/dowse.toml").write_text('[project]\ndescription = "Plants and water."\n')
    assert dowse("project", "describe", "home").out.strip() == "Plants and water."
    dowse("project", "describe", "home", "My own", "garden.")
    described = {
        one["name"]: one["description"]
        for one in dowse("project", "list", "--json").json["projects"]
    }
    assert described == {"empty": "", "home": "My own garden.", "work": readme}
    told = _call(service, "project_info").structured_content["projects"]
    assert {one["name"]: one["description"] for one in told} == described
    assert dowse("project", "describe", "home", "--clear").out.strip() == "Plants and water."
    with _http(service) as http:
        listed = http.get("/api/v1/projects").json()["projects"]
        assert {one["name"]: one["description"] for one in listed}["work"] == readme


def test_agents_are_told_what_is_in_each_project(service: EnginePool) -> None:
    async def work(client: Client) -> str:
        return client.instructions or ""

    projects = {one.name: service.workspace.description(one) for one in service.projects()}
    from dowse._interfaces.mcp.replies import introduced  # noqa: PLC0415  with what it is given

    server = build_server(VisibleProjects(lambda: service), introduced(projects))
    told = with_client(server, work)
    assert "work (How the masts of the stations are built and kept.)" in told


def test_a_name_may_have_blanks(several: Path, dowse: Dowse) -> None:
    assert dowse("project", "rename", "home", "home and garden").code == 0
    found = dowse("search", "-p", "home and garden", "turbine", "--json").json
    assert _places(found["hits"]) == [("home and garden", "garden.md")]
    (several / "own notes").mkdir()
    (several / "own notes/a.md").write_text("# A\n", "utf-8")
    added = dowse("project", "add", several / "own notes", "--name", "own notes")
    assert "dowse index -p 'own notes'" in added.out
    for wrong in ("two  blanks", " front", "back ", "all", "a/b"):
        refused = dowse("project", "add", several / "own notes", "--name", wrong)
        assert refused.code == 2, wrong
