"""One request for all doors: every option means the same, and is refused in the same words.

The doors are Python, the command line, the socket of a server, HTTP and MCP. What is asked comes
from the table of options, so that a new row is asked at every door without a change here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
from mcp import Client
from mcp_types import CallToolResult
from msgspec.structs import asdict, fields
from starlette.testclient import TestClient

from command_line import Dowse as Line
from command_line import Result
from dowse import Dowse, DowseError
from dowse._config.parameters import Parameter
from dowse._config.presets import PRESETS
from dowse._config.request import OPTIONS, Call, filters_of, option, options_of, parse_request
from dowse._config.schema import known_settings, preset_values
from dowse._interfaces.http.security import Access
from dowse._interfaces.http.server import application
from dowse._interfaces.mcp.projects import VisibleProjects
from dowse._interfaces.mcp.server import build_server
from dowse._interfaces.served import RunningServer
from dowse._model import Response
from dowse._project.pool import EnginePool
from dowse._project.workspace import Workspace
from dowse._search.request import Filters
from dowse._search.strategies import SearchOptions
from dowse._util.bounds import limits
from dowse._util.messages import without_commands
from dowse.api import Asking
from dowse.testing import HashEmbedder
from mcp_client import text_of, with_client
from serving import serving

_QUERY = "restore the database of the station barometer"
_API = "http://127.0.0.1:7333"
_ROWS = [row for row in OPTIONS if row.name != "query"]

Asked = Mapping[str, Any]


@dataclass
class Outcome:
    """What a door gave: the results, or the words of a refusal."""

    hits: list[tuple[str, int, float, str, str]] | None = None
    poor: bool = False
    answer: str | None = None
    refused: str = ""

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Outcome:
        """The outcome that a JSON document tells."""
        if "error" in told:  # programs and agents have no command line, and get no commands
            return cls(refused=f"{told['error']} {without_commands(told['hint'])}")
        hits = [
            (
                one["document"],
                one["first_line"],
                round(one["score"], 4),
                one["match"],
                one.get("reason", ""),
            )
            for one in told["hits"]
        ]
        answer = told.get("answer")
        return cls(hits, told["no_good_match"], answer["text"] if answer else None)

    @classmethod
    def of_response(cls, found: Response) -> Outcome:
        """The outcome of a call in Python."""
        hits: list[tuple[str, int, float, str, str]] = [
            (hit.document, hit.first_line, round(hit.score, 4), hit.match, hit.reason)
            for hit in found.hits
        ]
        return cls(hits, found.no_good_match, found.answer.text if found.answer else None)


class Doors:
    """All doors to one project."""

    def __init__(self, program: Dowse, line: Line, http: TestClient, service: EnginePool) -> None:
        self._program, self._line, self._http = program, line, http
        self._mcp = build_server(VisibleProjects(lambda: service), ["notes"])
        self.served: list[bool] = []  # whether each request on its socket was answered

    def ask(self, call: Call, asked: Asked) -> dict[str, Outcome]:
        """What each door gives."""
        found = {
            "python": self._python(call, asked),
            "line": self._printed(call, asked, "--no-server"),
            "http": Outcome.of(self._http.get(f"/api/v1/{call}", params=_texts(asked)).json()),
        }
        if call == "search":
            body = self._http.post("/api/v1/search", json=dict(asked)).json()
            found |= {"mcp": self._agent(asked), "json": Outcome.of(body)}
            found["socket"] = self._printed(call, asked)
        return found

    def _python(self, call: Call, asked: Asked) -> Outcome:
        others = {name: value for name, value in asked.items() if name != "query"}
        try:
            return Outcome.of_response(getattr(self._program, call)(asked["query"], **others))
        except DowseError as error:
            return Outcome(refused=f"{error.message} {without_commands(error.hint)}".strip())

    def _printed(self, call: Call, asked: Asked, *more: str) -> Outcome:
        own = more if call == "search" else ()
        result: Result = self._line(call, "--json", *own, *_line(asked), "--", asked["query"])
        return Outcome.of(result.json)

    def _agent(self, asked: Asked) -> Outcome:
        async def work(client: Client) -> CallToolResult:
            # A reply to an agent has a budget of its own when the call names none, and a budget
            # without a number of results means all that fit. Weak results have no passages.
            given = {"max_tokens": 1_000_000, "compact": False}
            whole = {**given, **_usual_number(asked), **asked}
            return await client.call_tool("query_documents", whole)

        result = with_client(self._mcp, work)
        if result.is_error:
            return Outcome(refused=text_of(result))
        return Outcome.of(result.structured_content)


def _usual_number(asked: Asked) -> dict[str, Any]:
    """How many results other doors give, where the call does not say it."""
    row = option("n")
    if asked.keys() & {row.name, *row.aliases}:
        return {}
    name = str(asked.get("preset"))
    preset = preset_values(name) if name in PRESETS else {}
    return {row.name: preset.get(row.setting, SearchOptions().top_n)}


def _texts(asked: Asked) -> dict[str, Any]:
    """What is asked, as an address says it."""
    return {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in asked.items()
    }


def _line(asked: Asked) -> Iterator[str]:
    """What is asked, as a line says it."""
    for name, value in asked.items():
        spelled = "-n" if name == "n" else f"--{name.replace('_', '-')}"
        if name == "query":
            continue
        if isinstance(value, bool):
            yield spelled if value else spelled.replace("--", "--no-", 1)
        else:
            for one in value if isinstance(value, list) else [value]:
                yield from (spelled, str(one))


@pytest.fixture
def doors(
    notes: Path, workspace: Workspace, dowse: Line, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Doors]:
    """All doors to the notes, open."""
    service = EnginePool(workspace, notes)
    told: list[bool] = []
    get = RunningServer.get

    def noted(self: RunningServer, address: str, *rest: Any) -> bytes:
        told.append(address == "/health")  # until the answer is there
        body = get(self, address, *rest)
        told[-1] = True
        return body

    monkeypatch.setattr(RunningServer, "get", noted)
    with ExitStack() as stack:
        stack.callback(service.close)
        stack.enter_context(serving(service))
        app = application(service, Access(), watch=False)
        http = stack.enter_context(TestClient(app, base_url=_API))
        program = stack.enter_context(Dowse.open(notes, embedder=HashEmbedder()))
        doors = Doors(program, dowse, http, service)
        doors.served = told
        yield doors


def _good(row: Parameter) -> list[Any]:
    """Values of a row that mean something."""
    if row.kind == "choice":
        return list(row.choices)
    if row.name == "max_tokens":  # each door counts what it returns: a small budget differs
        return [int(row.high or 0)]
    values: dict[str, list[Any]] = {
        "texts": [[row.example], [row.example, "other"]],
        "date": [row.example],
        "integer": [int(row.high or 0), int(row.low or 0) or 2],
        "number": [0.0, 0.25],
        "boolean": [True, False],
        "assignments": [["search.top_n=1"], ["search.top_k=10", "near_dedup.enabled=false"]],
    }
    return values[row.kind]


def _bad(row: Parameter) -> list[Any]:
    """Values of a row that nobody can mean."""
    values: dict[str, list[Any]] = {
        "choice": ["magic"],
        "texts": [[""], ["a", " "], ["x"] * 101, ["y" * 1_001]],
        "date": ["soon", "", "2024-13"],
        "integer": [int(row.low or 0) - 1, int(row.high or 0) + 1],
        "number": [2.5, -1.5, -0.5],
        "boolean": [],  # a line can only say yes or no
        "assignments": [["nonsense"], ["chunk.overlap=1"], ["search.topn=3"], ["search.top_n=x"]],
    }
    return values[row.kind]


def _differing(found: Mapping[str, Outcome]) -> dict[str, Outcome]:
    """What the doors gave, when it is not the same."""
    first = next(iter(found.values()))
    return {} if all(one == first for one in found.values()) else dict(found)


def test_every_option_finds_the_same_at_every_door(doors: Doors) -> None:
    for row in _ROWS:
        for value in _good(row):
            found = doors.ask("search", {"query": _QUERY, row.name: value})
            assert not found["python"].refused, (row.name, value)
            assert not _differing(found), (row.name, value)
    assert doors.served
    assert all(doors.served)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"query": "restore OR frame", "where": ["category=reference"]}, ["STATIONS"]),
        ({"query": "category:guide OR author:grace"}, ["guides/restore.md", "STATIONS"]),
        ({"query": "[author:Grace] database"}, ["STATIONS"]),
        ({"query": "author:ada NOT bottle"}, ["guides/restore.md"]),
        ({"query": "file:copy"}, ["guides/copy.md"]),
        ({"query": "line:(rain bottle)"}, ["journal/day.txt"]),
        ({"query": "modified:<2022"}, ["long.md"]),
        ({"query": "", "before": "2023"}, ["lonely.md", "long.md"]),
        ({"query": "after:2023 before:2026"}, ["guides/restore.md", "guides/copy.md", "STATIONS"]),
    ],
)
def test_operators_and_fields_mean_the_same_at_every_door(
    doors: Doors, asked: Asked, expected: list[str]
) -> None:
    found = doors.ask("search", {"n": 20, "set": ["near_dedup.enabled=false"], **asked})
    assert not _differing(found)
    documents = dict.fromkeys(document for document, *_ in found["python"].hits or ())
    wanted = [name.replace("STATIONS", "reference/stations.md") for name in expected]
    assert sorted(documents) == sorted(wanted)
    if "OR" not in asked["query"]:
        assert list(documents) == wanted


def test_older_names_still_work_at_every_door(doors: Doors) -> None:
    for row in _ROWS:
        for alias in row.aliases:
            by_alias = doors.ask("search", {"query": _QUERY, alias: _good(row)[-1]})
            by_name = doors.ask("search", {"query": _QUERY, row.name: _good(row)[-1]})
            assert by_alias == by_name, alias


def test_every_wrong_value_is_refused_in_the_same_words(doors: Doors) -> None:
    for row in _ROWS:
        for value in _bad(row):
            found = doors.ask("search", {"query": _QUERY, row.name: value})
            assert found["python"].refused, (row.name, value)
            assert not _differing(found), (row.name, value)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"query": " "}, "The query is empty. A question"),
        ({"mmr": True, "per_doc": 1}, "mmr and per_doc are two ways"),
        ({"set": ["diversity.mmr=true"], "per_doc": 1}, "mmr and per_doc are two ways"),
        ({"after": "2025", "before": "2024"}, "Swap the dates"),
        ({"after": "2025", "before": "2025-01-01"}, "Swap the dates"),
        ({"where": ["=x"]}, "'=x' names no field. Write it as status=draft"),
        ({"where": ["status="]}, "'status=' names no value. Write it as status=draft"),
        ({"n": 2, "top_n": 2}, "top_n is another name of n. Use one."),
        ({"set": ["answer.sentences=1"]}, "answer.sentences is a setting of answers"),
        ({"set": ["answer.endpoint_url=http://x"]}, "one call cannot change it"),
    ],
)
def test_what_contradicts_itself_is_refused_in_the_same_words(
    doors: Doors, asked: Asked, words: str
) -> None:
    found = doors.ask("search", {"query": _QUERY} | dict(asked))
    assert words in found["python"].refused
    assert not _differing(found)


def test_an_unknown_option_is_answered_with_the_nearest(doors: Doors) -> None:
    found = doors.ask("search", {"query": _QUERY, "per_dc": 1})
    for door, outcome in found.items():
        assert "per_doc" in outcome.refused.replace("per-doc", "per_doc"), door
        assert "Did you mean" in outcome.refused, door


@pytest.mark.parametrize(
    "asked",
    [
        {"set": ["answer.sentences=1"]},
        {"set": ["answer.max_chars=60"], "n": 2},
        {"set": ["answer.sentences=0"]},
        {"max_tokens": 40, "n": 5},
        {"mmr": True, "per_doc": 1},
    ],
)
def test_every_door_that_answers_takes_the_options_of_answers(doors: Doors, asked: Asked) -> None:
    found = doors.ask("answer", {"query": "when is the writer stopped", **asked})
    assert not _differing(found)


def test_a_budget_keeps_what_an_answer_cites(doors: Doors, dowse: Line, notes: Path) -> None:
    for name, place in (("kit", "cellar"), ("box", "attic")):
        text = f"# Kit and box\n\nRed round pump valves of the {name} are in the {place}.\n"
        (notes / f"{name}.md").write_text(text, "utf-8")
    assert dowse("index", str(notes)).code == 0
    program = doors._program
    question = "where are red round pump valves of kit and box"
    words = {"answer.candidates": 0, "near_dedup.enabled": False}
    whole = program.answer(question, settings=words)
    cut = program.answer(question, settings=words, max_tokens=20)
    assert cut.answer == whole.answer
    assert cut.answer
    assert len(cut.hits) >= max(cut.answer.sources) > 1
    assert sum(bool(hit.text) for hit in cut.hits) < len(whole.hits)


def test_explanations_take_the_same_options(doors: Doors, dowse: Line) -> None:
    for row in options_of("explain"):
        for value in _good(row)[:1] if row.name != "query" else ():
            asked = {"query": _QUERY, row.name: value}
            printed = dowse("explain", "--json", *_line(asked), "--doc", "lonely", "--", _QUERY)
            address = _texts(asked) | {"reference": "lonely"}
            assert doors._http.get("/api/v1/explain", params=address).json() == printed.json
            chunks = doors._program.explain(_QUERY, "lonely", **{row.name: value}).chunks
            assert [one["rank"] for one in printed.json["chunks"]] == [one.rank for one in chunks]


# ── References ───────────────────────────────────────────────────────────────

_PODS = (
    "---\naliases: [Capsules]\n---\n# Pods\n\nFirst words. ^intro\n\n## Life cycle {#life}\n\n"
    "They begin.\n\n### Steps\n\nOne step.\n\n## End\n\n- a point\n- another ^point\n"
)


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("[[pods]]", ("concepts/pods.md", 1, 19)),
        ("![[Pods]]", ("concepts/pods.md", 1, 19)),
        ("[[Pods#Life cycle|how they live]]", ("concepts/pods.md", 8, 15)),
        ("[[pods#Life cycle#Steps]]", ("concepts/pods.md", 12, 15)),
        ("[[pods#^intro]]", ("concepts/pods.md", 6, 6)),
        ("[[pods#^point]]", ("concepts/pods.md", 19, 19)),
        ("concepts/pods.md#life-cycle", ("concepts/pods.md", 8, 15)),
        ("pods.md#life", ("concepts/pods.md", 8, 15)),
        ("/docs/concepts/pods/#steps", ("concepts/pods.md", 12, 15)),
        ("/docs/concepts/pods.html", ("concepts/pods.md", 1, 19)),
        ("concepts\\pods.md", ("concepts/pods.md", 1, 19)),
        ("Capsules", ("concepts/pods.md", 1, 19)),
        ("[[capsules]]:8-9", ("concepts/pods.md", 8, 9)),
        ("A copy", ("guides/copy.md", 1, 7)),
        ("a copy#restore-a-backup", ("guides/copy.md", 5, 7)),
    ],
)
def test_references_as_documents_write_them_mean_the_same_at_every_door(
    notes: Path, doors: Doors, dowse: Line, reference: str, expected: tuple[str, int, int]
) -> None:
    (notes / "concepts").mkdir()
    (notes / "concepts/pods.md").write_text(_PODS, "utf-8")
    assert dowse("index", notes).code == 0
    printed = dowse("get", "--json", reference).json["passages"][0]
    program = doors._program.get(reference)
    answered = doors._http.get("/api/v1/document", params={"reference": reference}).json()

    async def work(client: Client) -> CallToolResult:
        return await client.call_tool("get_document", {"references": [reference]})

    read = with_client(doors._mcp, work).structured_content["passages"][0]
    found = [printed, answered, read, asdict(program)]
    places = {(one["document"], one["first_line"], one["last_line"]) for one in found}
    assert places == {expected}


def test_a_place_that_a_document_has_not_is_named(doors: Doors) -> None:
    with pytest.raises(DowseError, match="no heading or block 'nowhere'"):
        doors._program.get("[[stations#nowhere]]")


# ── The table ────────────────────────────────────────────────────────────────


def test_rows_are_what_the_settings_declare() -> None:
    kinds = {int: "integer", float: "number", bool: "boolean"}
    for row in [one for one in OPTIONS if one.setting]:
        setting = known_settings()[row.setting]
        if row.kind == "choice":
            assert row.choices == tuple(filter(None, get_args(setting.type)))
            continue
        assert kinds[setting.type] == row.kind, row.name
        declared = limits(setting.declared)
        assert declared is None or (declared.ge, declared.le) == (row.low, row.high), row.name


def test_every_filter_has_a_row() -> None:
    assert {row.name for row in filters_of("search")} == {one.name for one in fields(Filters)}


def test_type_checkers_see_the_rows() -> None:
    own = {"settings", "tags"}
    assert Asking.__annotations__.keys() == {row.name for row in _ROWS} | own
    assert "tags" in option("tag").aliases


def test_a_query_has_a_longest_length() -> None:
    assert parse_request("search", {"query": "x" * 20_000}).query
    with pytest.raises(DowseError, match="at most 20,000 characters"):
        parse_request("search", {"query": "x" * 20_001})


def test_a_limit_per_document_takes_the_place_of_mmr() -> None:
    asked = parse_request("search", {"query": "x", "per_doc": 2})
    assert asked.changes["diversity.mmr"] is False
    assert "diversity.mmr" not in parse_request("search", {"query": "x", "per_doc": 0}).changes


def test_numbers_without_a_fraction_are_whole_and_halves_of_characters_are_replaced() -> None:
    asked = parse_request("search", {"query": "a\ud800b", "n": 3.0})
    assert (asked.query, asked.changes) == ("a\ufffd\ufffd\ufffdb", {"search.top_n": 3})
