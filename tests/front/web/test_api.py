"""The JSON API says what the command line says, in the same records."""

from __future__ import annotations

import re
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from command_line import Dowse
from dowse._config.presets import PRESETS
from dowse._config.schema import known_settings, settable
from dowse._interfaces.http.routes import ROUTES
from dowse._interfaces.http.security import Access, Limits
from dowse._interfaces.http.server import application
from dowse._project.pool import EnginePool
from dowse._project.workspace import Workspace
from dowse._util.process import GivenUp, raise_if_cancelled
from tiny_model import make_model

API = "/api/v1"
HERE = "http://127.0.0.1:7333"


def _ids(client: TestClient, **parameters: Any) -> list[str]:
    answer = client.get(f"{API}/search", params={"q": "database", **parameters})
    assert answer.status_code == 200, answer.text
    return [hit["document"] for hit in answer.json()["hits"]]


def test_a_search_is_that_of_the_command_line(client: TestClient, dowse: Dowse) -> None:
    told = client.get(f"{API}/search", params={"q": "restore the database", "n": 3}).json()
    printed = dowse("search", "restore the database", "-n", 3, "--json").json
    assert len(told["hits"]) == 3
    assert told.keys() == printed.keys()
    assert told["hits"] == printed["hits"]


def test_results_come_in_parts(client: TestClient, dowse: Dowse) -> None:
    def told(**parameters: Any) -> Any:
        return client.get(f"{API}/search", params={"q": "database", **parameters}).json()

    whole = told(n=4)
    parts = [told(n=2), told(n=2, offset=2)]
    assert [hit["rank"] for part in parts for hit in part["hits"]] == [1, 2, 3, 4]
    ids = [hit["document"] for part in parts for hit in part["hits"]]
    assert ids == [hit["document"] for hit in whole["hits"]]
    assert [part["offset"] for part in parts] == [0, 2]
    assert parts[1]["total"] == whole["total"] >= 4
    assert told(n=2, offset=2, project="all")["hits"] == parts[1]["hits"]
    beyond = told(offset=50)
    assert (beyond["hits"], beyond["nearest"], beyond["total"]) == ([], [], whole["total"])
    ended = dowse("search", "database", "--offset", 50)
    assert "Nothing is left after the first 50" in ended.err


def test_refusals_use_the_words_of_the_request(client: TestClient) -> None:
    def refused(**parameters: Any) -> str:
        answer = client.get(f"{API}/search", params=parameters)
        assert answer.status_code == 400
        return str(answer.json()["error"])

    assert refused(q="x", limit=0) == "limit cannot be 0."
    assert refused(q="x", top_n="many") == "top_n cannot be 'many'."
    assert refused(query="x", n=0) == "n cannot be 0."
    assert refused(q=" ") == "The q is empty."


def test_the_same_can_be_sent_as_json(client: TestClient) -> None:
    by_address = client.get(f"{API}/search", params={"q": "database", "tag": ["database"], "n": 2})
    as_json = client.post(f"{API}/search", json={"q": "database", "tag": ["database"], "n": 2})
    assert as_json.status_code == 200
    assert as_json.json()["hits"] == by_address.json()["hits"]


_FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({"tag": "ops"}, {"guides/restore.md"}),
    ({"tag": ["database", "reference"]}, set()),
    ({"category": ["guide", "reference"]}, {"guides/restore.md", "reference/stations.md"}),
    ({"author": "grace"}, {"reference/stations.md"}),
    ({"path": "./reference/"}, {"reference/stations.md"}),
    ({"source": ".txt"}, {"journal/day.txt"}),
    ({"language": "python"}, {"reference/stations.md"}),
    ({"after": "2025", "before": "2025-06"}, {"guides/restore.md"}),
]
"""Filters, and the documents that fulfil them."""


def test_filters(client: TestClient) -> None:
    for parameters, expected in _FILTERS:
        assert set(_ids(client, **parameters)) == expected, parameters


def test_settings_hold_for_one_search(client: TestClient) -> None:
    assert len(_ids(client, set=["search.top_n=1", "near_dedup.enabled=false"])) == 1
    assert len(_ids(client)) > 1
    assert len(_ids(client, q="barometer", per_doc=1)) == len(
        set(_ids(client, q="barometer", per_doc=1))
    )


@pytest.mark.parametrize("call", ["search", "answer", "explain"])
def test_a_request_learns_nothing_about_folders(
    client: TestClient, tmp_path: Path, call: str
) -> None:
    model = make_model(tmp_path / "model", labels=1)
    asked = {"q": "database", "rerank": "true"} | (
        {"reference": "x.md"} if call == "explain" else {}
    )
    told = {
        client.get(f"{API}/{call}", params={**asked, "set": f"rerank.model={folder}"}).text
        for folder in (model, tmp_path, tmp_path / "absent", "~", "./model", "../x")
    }
    assert len(told) == 1
    assert "cannot be a folder" in told.pop()


def test_only_the_model_of_a_search_can_name_a_folder() -> None:
    found = known_settings()
    texts = {one for one in settable("answer") if found[one].type is str}
    assert texts == {"rerank.model"}


def test_every_option_of_a_search_is_taken(client: TestClient) -> None:
    options = {
        "mode": "keyword",
        "preset": "seed-a",
        "min_confidence": 0.01,
        "parents": "true",
        "mmr": "false",
        "rerank": "false",
        "project": "notes",
    }
    assert _ids(client, **options)


def test_the_trace_can_be_left_out(client: TestClient) -> None:
    bare = client.get(f"{API}/search", params={"q": "database", "explain": "false"}).json()
    full = client.get(f"{API}/search", params={"q": "database"}).json()
    assert all(hit["places"] == [] and hit["steps"] == [] for hit in bare["hits"])
    assert all(hit["places"] and hit["steps"] for hit in full["hits"])


def test_texts_are_cut_to_a_budget(client: TestClient) -> None:
    told = client.get(f"{API}/search", params={"q": "barometer", "max_tokens": 40}).json()
    assert len(told["hits"]) == 1
    assert "fit into 40 tokens" in told["notices"][-1]


def test_an_answer(client: TestClient) -> None:
    told = client.get(f"{API}/answer", params={"q": "what sends a frame to the database"}).json()
    assert "station sends a frame" in told["answer"]["text"]


def test_an_explanation(client: TestClient, dowse: Dowse) -> None:
    told = client.get(f"{API}/explain", params={"q": "lighthouse", "reference": "lonely"}).json()
    printed = dowse("explain", "lighthouse", "--doc", "lonely", "--json").json
    assert told == printed
    assert told["found"]


def test_what_belongs_to_a_document(client: TestClient, dowse: Dowse) -> None:
    told = client.get(f"{API}/related", params={"reference": "stations", "n": 3}).json()
    assert told == dowse("related", "stations", "-n", 3, "--json").json


def test_the_graph(client: TestClient, dowse: Dowse) -> None:
    assert client.get(f"{API}/graph").json() == dowse("graph", "--json").json


def test_projects_name_the_one_that_is_meant(client: TestClient, notes: Path) -> None:
    told = client.get(f"{API}/projects").json()
    assert told["current"] == "notes"
    assert [one["roots"] for one in told["projects"]] == [[str(notes)]]


def test_settings_say_all_that_set_takes(client: TestClient) -> None:
    told = client.get(f"{API}/settings").json()
    switches = {one["name"]: one for one in told["settings"]}
    assert switches["parents.enabled"]["type"] == "boolean"
    assert switches["search.top_n"]["type"] == "integer"
    assert switches["threshold.min_confidence"]["type"] == "number"
    assert switches["search.mode"]["choices"] == [mode["name"] for mode in told["modes"]]
    assert switches["search.preset"]["choices"] == list(told["presets"])
    assert not any(name.startswith(("chunk.", "embed.")) for name in switches)
    for name, one in switches.items():
        value = str(one["value"]).lower() if one["type"] == "boolean" else one["value"]
        assert _ids(client, set=f"{name}={value}") is not None


def test_indexing_runs_in_the_background(
    client: TestClient, service: EnginePool, notes: Path
) -> None:
    (notes / "new.md").write_text("# New\n\nThe anemometer spins.\n", "utf-8")
    begun = client.post(f"{API}/index", params={"project": "notes"})
    assert begun.status_code == 202
    job = service.job("notes")
    assert job is not None
    assert job.ended.wait(30)
    told = client.get(f"{API}/status").json()
    assert told["job"]["state"] == "done"
    assert told["job"]["report"]["added"] == 1
    assert told["counts"]["documents"] == 7
    assert told["watch"] == {"watching": False, "event": None, "error": None}
    assert _ids(client, q="anemometer")[0] == "new.md"


_FAILURES = [
    ("search", 400, "query is missing"),
    ("search?q=", 400, "q is empty"),
    ("search?q=%20", 400, "q is empty"),
    ("search?q=a&q=b", 400, "2 times"),
    ("search?q=a&limi=3", 400, "no parameter 'limi'"),
    ("search?q=a&limit=3&n=2", 400, "limit is another name of n"),
    ("search?q=a&n=0", 400, "n cannot be 0"),
    ("search?q=a&n=three", 400, "n cannot be 'three'"),
    ("search?q=a&n=1e999", 400, "n cannot be '1e999'"),
    ("search?q=a&parents=yes", 400, "parents cannot be 'yes'"),
    ("search?q=a&mode=magic", 400, "magic"),
    ("search?q=a&set=nonsense", 422, "set takes a setting"),
    ("search?q=a&set=search.nothing=1", 422, "no setting"),
    ("search?q=a&set=search.top_n=none", 422, "search.top_n"),
    ("search?q=a&set=chunk.overlap=1", 422, "of the index"),
    ("search?q=a&after=2024-13", 422, "not a date"),
    ("search?q=a&project=nobody", 404, "nobody"),
    ("document?reference=nothing.md", 404, "nothing.md"),
    ("document?reference=../../etc/passwd", 404, "no document"),
    ("document?reference=lonely:900", 422, "not a line 900"),
    ("related?reference=a%00b", 400, "reference has a NUL character"),
    ("projects?all=1", 400, "no parameter"),
    ("nothing", 404, "Not Found"),
]
"""What is asked, the status of the answer, and what it says."""


def test_failures_say_what_to_do(client: TestClient) -> None:
    for address, status, said in _FAILURES:
        answer = client.get(f"{API}/{address}")
        assert answer.status_code == status, (address, answer.text)
        told = answer.json()
        assert told.keys() == {"error", "hint"}, address
        assert said in told["error"], address
        assert told["hint"], address


def test_unknown_parameters_are_answered_with_the_known_ones(client: TestClient) -> None:
    told = client.get(f"{API}/related", params={"reference": "lonely", "most": 3}).json()
    assert told["hint"] == "Known: project, reference, n."


_BODIES = [
    (b"{", "application/json", 400),
    (b"[]", "application/json", 400),
    (b'{"q": "a", "n": "3"}', "application/json", 400),
    (b'{"q": "a", "limi": 3}', "application/json", 400),
    (b'{"q": "\\ud800"}', "application/json", 400),
    (b"\xff", "application/json", 400),
    (b'{"q": "a"}', "text/plain", 415),
]
"""A body that means nothing, as what it is declared, and the status of the answer."""


def test_bodies_that_mean_nothing(client: TestClient) -> None:
    for body, kind, status in _BODIES:
        answer = client.post(f"{API}/search", content=body, headers={"Content-Type": kind})
        assert answer.status_code == status, body
        assert answer.json().keys() == {"error", "hint"}


def test_other_methods_learn_what_there_is(client: TestClient) -> None:
    answer = client.delete(f"{API}/search")
    assert answer.status_code == 405
    assert set(answer.headers["Allow"].split(", ")) == {"GET", "HEAD", "POST"}
    assert client.head(f"{API}/search", params={"q": "a"}).status_code == 200


def test_a_project_without_an_index_says_so(client: TestClient, home: Path, dowse: Dowse) -> None:
    (home / "empty").mkdir()
    assert dowse("project", "add", home / "empty").code == 0
    answer = client.get(f"{API}/search", params={"q": "a", "project": "empty"})
    assert answer.status_code == 404
    assert answer.json()["error"] == "The project 'empty' has not been indexed yet."
    assert "dowse index" not in answer.json()["hint"]  # a program has no command line
    assert client.get(f"{API}/status", params={"project": "empty"}).json()["indexed"] is False


def test_the_names_of_presets_are_those_there_are() -> None:
    rows = {row.name: row for row in ROUTES[0].takes}
    assert rows["preset"].choices == tuple(PRESETS)


def test_what_the_guide_asks_of_the_sample_vault_is_answered(
    dowse: Dowse, workspace: Workspace, tmp_path: Path
) -> None:
    root = Path(__file__).parents[3]
    vault = shutil.copytree(root / "examples" / "vault", tmp_path / "vault")
    assert dowse("index", vault).code == 0
    guide = (root / "docs" / "http.md").read_text("utf-8")
    asked = re.findall(r'^curl "http://127\.0\.0\.1:7333(/[^"]+)"', guide, re.MULTILINE)
    assert len(asked) >= 5
    pool = EnginePool(workspace, vault)
    with TestClient(application(pool, Access(), watch=False), base_url=HERE) as client:
        for address in asked:
            assert client.get(address).status_code == 200, address
    pool.close()
    for route in ROUTES:
        assert f"`{route.method} {route.path}`" in guide


def test_deep_json_is_refused(client: TestClient) -> None:
    for body in ("[" * 100_000, '{"q":' * 50_000, '{"q": "a", "tag": ' + "[" * 5_000):
        answer = client.post(
            f"{API}/search", content=body, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 400
        assert "not a JSON object" in answer.json()["error"]


def test_more_filter_values_than_allowed_are_refused(client: TestClient, dowse: Dowse) -> None:
    assert client.post(f"{API}/search", json={"q": "a", "path": ["x"] * 100}).status_code == 200
    for name in ("path", "tag", "author", "category", "source", "language"):
        many = [f"value{number}" for number in range(1_500)]
        answer = client.post(f"{API}/search", json={"q": "database", name: many})
        assert answer.status_code == 400, answer.text
        assert name in answer.json()["error"]
    told = dowse("search", "database", *(f"--path=folder{n}" for n in range(1_500)))
    assert told.code == 2
    assert "path has 1,500 values." in told.err
    assert "100 at most" in told.err


def test_work_stops_when_its_answer_is_given_up(service: EnginePool) -> None:
    begun, stopped = threading.Event(), threading.Event()

    def search(*_: object, **__: object) -> None:
        begun.set()
        try:
            for _step in range(1_000):
                raise_if_cancelled()
                time.sleep(0.01)
        except GivenUp:
            stopped.set()
            raise

    access = Access(limits=Limits(seconds=0.2))
    with (
        pytest.MonkeyPatch.context() as patch,
        TestClient(application(service, access, watch=False), base_url=HERE) as client,
    ):
        patch.setattr(service.open(service.select("notes")), "search", search)
        assert client.get(f"{API}/search", params={"q": "slow"}).status_code == 504
        assert begun.is_set()
        assert stopped.wait(10)
