"""Whether the server is alive and ready, what it counts, and what its log never says."""

from __future__ import annotations

import json
import logging
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from starlette.requests import ClientDisconnect
from starlette.testclient import TestClient

import engines
from command_line import Dowse
from dowse._interfaces.cli.log import start_logging
from dowse._interfaces.http.security import Access
from dowse._interfaces.http.server import application
from dowse._project.pool import EnginePool
from dowse._project.workspace import Workspace
from dowse._util.metrics import Metrics, Numbers, Times

HERE = "http://127.0.0.1:7333"
_LINE = re.compile(
    r"[a-z_]+"
    r'(?:\{[a-z]+="(?:[^"\\\n]|\\.)*"(?:,[a-z]+="(?:[^"\\\n]|\\.)*")*\})?'
    r" [-+0-9.einf]+"
)


@pytest.fixture
def guarded(service: EnginePool) -> Iterator[TestClient]:
    """The server, with a token."""
    app = application(service, Access(token="secret"), watch=False)  # noqa: S106  it opens nothing
    with TestClient(app, base_url=HERE) as client:
        yield client


def _figure(page: str, line: str) -> float:
    found = [float(one.rpartition(" ")[2]) for one in page.splitlines() if one.startswith(line)]
    assert len(found) == 1, (line, page)
    return found[0]


def _until(holds: Callable[[], bool], within: float = 30.0) -> None:
    end = time.monotonic() + within
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_health_needs_no_token_and_says_nothing_else(guarded: TestClient) -> None:
    answer = guarded.get("/health")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok"}


@pytest.mark.parametrize("path", ["/ready", "/metrics"])
def test_what_names_projects_needs_the_token(guarded: TestClient, path: str) -> None:
    assert guarded.get(path).status_code == 401
    assert guarded.get(path, headers={"Authorization": "Bearer secret"}).status_code == 200


def test_ready_names_every_project_and_its_generation(client: TestClient) -> None:
    answer = client.get("/ready")
    assert answer.status_code == 200
    told = answer.json()
    assert told["ready"] is True
    (project,) = told["projects"]
    assert project["project"] == "notes"
    assert project["generation"] >= 1
    assert project["indexing"] is False
    assert project["reason"] == ""


def test_an_index_that_does_not_open_is_not_ready(client: TestClient, service: EnginePool) -> None:
    service.close()
    shutil.rmtree(service.workspace.projects.get("notes").folder / "index", ignore_errors=True)
    for path in service.workspace.projects.get("notes").folder.rglob("*.sqlite*"):
        path.unlink()
    answer = client.get("/ready")
    assert answer.status_code == 503
    told = answer.json()
    assert told["ready"] is False
    assert told["projects"][0]["reason"]


def test_ready_follows_a_database_that_goes_down_and_comes_back(
    vault: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engines.own_postgresql() as database:
        monkeypatch.setenv("DOWSE_STORE_URL", database.url)
        with workspace.open(workspace.projects.add([vault])) as made:
            made.index()
        with (
            closing(EnginePool(workspace, vault)) as service,
            TestClient(application(service, Access(), watch=False), base_url=HERE) as client,
        ):
            assert client.get("/ready").json()["ready"] is True
            database.kill()
            down = client.get("/ready")
            assert (down.status_code, client.get("/health").status_code) == (503, 200)
            assert "cannot be reached" in down.json()["projects"][0]["reason"]
            database.start()
            _until(lambda: client.get("/ready").status_code == 200)


def test_metrics_count_requests_searches_and_stages(client: TestClient) -> None:
    for _ in range(3):
        client.get("/api/v1/search", params={"q": "confidential words"})
    client.get("/api/v1/search", params={"q": "a", "project": "no-such"})
    client.get("/api/v1/no/such/route/1")
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    page = answer.text
    for line in page.splitlines():
        assert line.startswith(("# HELP dowse_", "# TYPE dowse_")) or _LINE.fullmatch(line), line
    begin = 'dowse_http_requests_total{method="GET",route='
    assert _figure(page, f'{begin}"/api/v1/search",status="200"}}') == 3
    assert _figure(page, f'{begin}"/api/v1/search",status="404"}}') == 1
    assert _figure(page, f'{begin}"other",status="404"}}') == 1
    assert _figure(page, 'dowse_searches_total{project="notes"}') == 3
    assert _figure(page, 'dowse_search_stage_seconds_count{stage="retrieve"}') == 3
    assert _figure(page, 'dowse_search_stage_seconds_bucket{stage="fuse",le="+Inf"}') == 3
    assert _figure(page, 'dowse_errors_total{kind="NotFound"}') == 1
    assert _figure(page, "dowse_http_requests_in_flight ") == 1  # this one
    assert _figure(page, 'dowse_index_generation{project="notes"}') >= 1
    assert "confidential" not in page


def test_index_runs_are_counted(client: TestClient, service: EnginePool) -> None:
    client.post("/api/v1/index")
    job = service.job("notes")
    assert job is not None
    assert job.ended.wait(30)
    _until(lambda: "dowse_index_runs_total{" in client.get("/metrics").text)
    page = client.get("/metrics").text
    assert _figure(page, 'dowse_index_runs_total{project="notes",outcome="done"}') == 1
    assert _figure(page, 'dowse_indexing{project="notes"}') == 0


def test_figures_are_written_as_prometheus_reads_them() -> None:
    counts = Numbers("a_total", "All.", ("what",))
    counts.add('odd "name"\\\n')
    assert list(counts.lines()) == [
        "# HELP a_total All.",
        "# TYPE a_total counter",
        'a_total{what="odd \\"name\\"\\\\\\n"} 1',
    ]
    times = Times("b_seconds", "Times.")
    for seconds in (0.0005, 0.003, 99.0):
        times.add(seconds=seconds)
    lines = list(times.lines())
    assert 'b_seconds_bucket{le="0.001"} 1' in lines
    assert 'b_seconds_bucket{le="0.005"} 2' in lines
    assert 'b_seconds_bucket{le="30"} 2' in lines
    assert 'b_seconds_bucket{le="+Inf"} 3' in lines
    assert lines[-2:] == ["b_seconds_sum 99.003500", "b_seconds_count 3"]


def test_names_that_clients_make_up_do_not_fill_the_memory(client: TestClient) -> None:
    for number in range(50):
        client.get(f"/{number}")
        client.request(f"METHOD{number}", "/")
    routes = set(re.findall(r'route="([^"]*)"', client.get("/metrics").text))
    assert routes <= {"other", "/", "/metrics"}


def test_an_empty_page_is_whole() -> None:
    assert Metrics().page().endswith("\n")


@pytest.fixture
def logging_restored() -> Iterator[None]:
    """The log goes where it went before."""
    loggers = [logging.getLogger(), logging.getLogger("dowse")]
    before = [(one, list(one.handlers), one.level, one.propagate) for one in loggers]
    yield
    for one, handlers, level, propagate in before:
        one.handlers[:], one.propagate = handlers, propagate
        one.setLevel(level)


@pytest.mark.usefixtures("logging_restored")
def test_the_log_is_json_and_holds_no_query(
    guarded: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    start_logging("json", "debug")
    headers = {"Authorization": "Bearer secret"}
    guarded.get("/api/v1/search", params={"q": "confidential words"}, headers=headers)
    logged = capsys.readouterr().err
    lines = [json.loads(line) for line in logged.splitlines()]
    (told,) = [one for one in lines if one.get("route") == "/api/v1/search"]
    assert told["level"] == "info"
    assert told["status"] == 200
    assert told["milliseconds"] >= 0
    assert "confidential" not in logged
    assert "secret" not in logged


@pytest.mark.usefixtures("logging_restored")
def test_the_log_as_text_keeps_one_line_per_message(capsys: pytest.CaptureFixture[str]) -> None:
    start_logging("text", "warning")
    logging.getLogger("dowse.web").warning("two\nlines")
    logging.getLogger("dowse.web").info("too detailed")
    try:
        raise ClientDisconnect
    except ClientDisconnect:
        logging.getLogger("mcp.server").exception("a client has gone away")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("warning two lines")


def test_a_search_shows_its_times_when_asked(notes: Path, dowse: Dowse) -> None:
    assert notes.is_dir()
    assert "Time by stage: " in dowse("search", "database", "--verbose").err
    assert "Time by stage: " not in dowse("search", "database").err
