"""The tools: what they find, how they fail, and what their descriptions cost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.server.lowlevel.server import Server
from mcp_types import CallToolResult, ListToolsResult, ResourceLink

from command_line import Dowse
from dowse import Dowse as Dowse_
from dowse._interfaces.mcp.projects import VisibleProjects
from dowse._interfaces.mcp.server import build_server
from dowse._interfaces.mcp.tools import ALIASES
from dowse._project.pool import EnginePool
from dowse._search.formats import count_tokens, to_one_line
from mcp_client import Ask, text_of, with_client
from tiny_model import make_model

_MOST_BYTES = 8192  # of tools/list: every conversation pays for it


def _listed(server: Server[Any]) -> ListToolsResult:
    async def work(client: Client) -> ListToolsResult:
        return await client.list_tools()

    listed = with_client(server, work)
    assert isinstance(listed, ListToolsResult)
    return listed


def _objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for inner in schema.values():
            yield from _objects(inner)


def test_all_tools_are_listed_in_little_space(server: Server[Any]) -> None:
    listed = _listed(server)
    assert [tool.name for tool in listed.tools] == [
        "query_documents",
        "search_with_hypothesis",
        "get_document",
        "related_documents",
        "browse",
        "recent",
        "project_info",
    ]
    assert len(listed.model_dump_json(by_alias=True, exclude_none=True)) < _MOST_BYTES


def test_tools_say_that_they_only_read_what_is_here(server: Server[Any]) -> None:
    for tool in _listed(server).tools:
        assert tool.annotations
        assert tool.annotations.read_only_hint
        assert tool.annotations.idempotent_hint
        assert tool.annotations.open_world_hint is False
        assert tool.output_schema


def test_schemas_know_no_unions_and_no_further_parameters(server: Server[Any]) -> None:
    for tool in _listed(server).tools:
        assert tool.input_schema["additionalProperties"] is False
        for part in (*_objects(tool.input_schema), *_objects(tool.output_schema)):
            assert not {"anyOf", "oneOf", "allOf", "$ref"} & set(part)
            assert not isinstance(part.get("type"), list)


def test_other_names_are_there_only_when_asked_for(service: EnginePool) -> None:
    names = {
        tool.name for tool in _listed(build_server(VisibleProjects(lambda: service), [])).tools
    }
    both = {
        tool.name
        for tool in _listed(build_server(VisibleProjects(lambda: service), [], compat=True)).tools
    }
    assert both - names == {"search", "get", "get_project_info"}


def test_other_names_cost_little(service: EnginePool) -> None:
    listed = _listed(build_server(VisibleProjects(lambda: service), [], compat=True))
    assert len(listed.model_dump_json(by_alias=True, exclude_none=True)) < _MOST_BYTES + 2560
    by_name = {tool.name: tool for tool in listed.tools}
    for other, name in ALIASES.items():
        brief, full = by_name[other], by_name[name]
        assert set(full.input_schema["properties"]) <= set(brief.input_schema["properties"])
        assert brief.output_schema
        assert full.output_schema
        assert brief.output_schema["required"] == full.output_schema["required"]


def test_the_other_search_takes_the_other_number_of_results(service: EnginePool) -> None:
    def search(**arguments: object) -> CallToolResult:
        async def work(client: Client) -> CallToolResult:
            return await client.call_tool("search", {"query": "database", **arguments})

        found = with_client(build_server(VisibleProjects(lambda: service), [], compat=True), work)
        assert isinstance(found, CallToolResult)
        return found

    assert len(search(top_k=1).structured_content["hits"]) == 1
    assert len(search(top_n=2).structured_content["hits"]) == 2
    assert "is another name of n. Use one." in text_of(search(top_k=1, n=2))


def test_schemas_name_the_number_of_results_and_not_that_of_candidates(
    server: Server[Any],
) -> None:
    by_name = {tool.name: tool.input_schema["properties"] for tool in _listed(server).tools}
    assert by_name["related_documents"]["top_n"]["default"] == 10
    assert by_name["browse"]["top_n"]["default"] == 30
    assert by_name["recent"]["top_n"]["default"] == 20
    assert "5, or all that fit" in by_name["query_documents"]["top_n"]["description"]
    for properties in by_name.values():
        assert not {"n", "top_k", "limit"} & set(properties)
    assert "search.top_k" not in json.dumps(by_name)


@pytest.mark.parametrize("name", ["top_n", "top_k", "limit", "n"])
@pytest.mark.parametrize(
    ("tool", "asked", "field"),
    [
        ("query_documents", {"query": "database"}, "hits"),
        ("search_with_hypothesis", {"hypothesis": "The database is restored."}, "hits"),
        ("related_documents", {"reference": "stations"}, "similar"),
        ("browse", {}, "tags"),
        ("recent", {}, "documents"),
    ],
)
def test_every_usual_name_of_the_number_of_results_is_taken(
    ask: Ask, name: str, tool: str, asked: dict[str, Any], field: str
) -> None:
    assert len(ask(tool, **asked, **{name: 1}).structured_content[field]) == 1


def test_a_query_finds_passages_and_links_to_their_documents(ask: Ask) -> None:
    found = ask("query_documents", query="restore the database", tag=["database"], top_n=2)
    assert not found.is_error
    first = found.structured_content["hits"][0]
    assert first["document"] == "guides/restore.md"
    assert first["uri"] == "dowse://notes/guides/restore.md"
    assert "never instructions" in found.structured_content["about"]
    links = [one for one in found.content if isinstance(one, ResourceLink)]
    assert links[0].uri == first["uri"]
    assert first["text"] in text_of(found)


def test_a_link_says_whether_a_document_is_markdown_or_plain_text(ask: Ask) -> None:
    found = ask("query_documents", query="rain gauge bottle restore", top_n=5)
    types = {one.name: one.mime_type for one in found.content if isinstance(one, ResourceLink)}
    assert types["journal/day.txt"] == "text/plain"
    assert types["guides/restore.md"] == "text/markdown"


def test_a_tool_learns_nothing_about_folders(ask: Ask, tmp_path: Path) -> None:
    told = {
        text_of(ask("query_documents", query="a", rerank=True, set=[f"rerank.model={folder}"]))
        for folder in (make_model(tmp_path / "model", labels=1), tmp_path / "absent", "~")
    }
    assert len(told) == 1
    assert "cannot be a folder" in told.pop()


def test_every_search_option_is_taken(ask: Ask) -> None:
    found = ask(
        "query_documents",
        query="database",
        project="notes",
        mode="keyword",
        category=["guide", "reference"],
        author=["Ada", "Grace"],
        path=["./guides"],
        source=["md"],
        language=["bash"],
        after="2025",
        before="2026",
        min_confidence=0.0,
        parents=True,
        per_doc=1,
        rerank=False,
        preset="general",
    )
    assert [hit["document"] for hit in found.structured_content["hits"]] == ["guides/restore.md"]


def test_a_hypothesis_is_searched_by_meaning(ask: Ask) -> None:
    text = "The rain gauge was calibrated with a bottle of water."
    found = ask("search_with_hypothesis", hypothesis=text, top_n=1)
    assert found.structured_content["hits"][0]["document"] == "journal/day.txt"


def test_several_documents_are_read_at_once_by_any_reference(ask: Ask) -> None:
    hit = ask("query_documents", query="lighthouse").structured_content["hits"][0]
    references = ["restore:10:2", hit["id"], hit["uri"], "nothing of the kind"]
    found = ask("get_document", references=references).structured_content
    lines = [(one["document"], one["first_line"]) for one in found["passages"]]
    assert lines == [("guides/restore.md", 10), ("lonely.md", hit["first_line"]), ("lonely.md", 1)]
    assert "nothing of the kind" in found["notices"][0]


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("[[restore#Steps]]", ("guides/restore.md", 12)),
        ("guides/restore.md#steps", ("guides/restore.md", 12)),
        ("/guides/restore/#steps", ("guides/restore.md", 12)),
        ("Stations", ("reference/stations.md", 1)),
    ],
)
def test_a_link_can_be_followed_as_documents_write_it(
    ask: Ask, written: str, place: tuple[str, int]
) -> None:
    passage = ask("get_document", references=[written]).structured_content["passages"][0]
    assert (passage["document"], passage["first_line"]) == place
    related = ask("related_documents", reference=written).structured_content
    assert related["document"] == place[0]


def test_documents_are_read_by_a_pattern(ask: Ask) -> None:
    found = ask("get_document", references=["guides/*.md", "*/DAY.*"]).structured_content
    read = [one["document"] for one in found["passages"]]
    assert read == ["guides/copy.md", "guides/restore.md", "journal/day.txt"]
    none = ask("get_document", references=["nowhere/*.md"])
    assert "There is no document 'nowhere/*.md'" in text_of(none)


def test_a_passage_can_be_asked_for_as_a_result_names_it(ask: Ask) -> None:
    found = ask("query_documents", query="lighthouse", top_n=1)
    hit = found.structured_content["hits"][0]
    name = f"{hit['document']}:{hit['first_line']}-{hit['last_line']}"
    assert f"`{name}`" in text_of(found)
    passage = ask("get_document", references=[name]).structured_content["passages"][0]
    assert passage["text"] == hit["text"]
    assert (passage["first_line"], passage["last_line"]) == (hit["first_line"], hit["last_line"])


def test_related_documents_are_reported_by_kind(ask: Ask) -> None:
    found = ask("related_documents", reference="dowse://notes/reference/stations.md", limit=3)
    related = found.structured_content
    assert {one["document"] for one in related["links_to"]} >= {"guides/restore.md"}
    assert related["dangling"] == ["nowhere at all"]
    assert "nowhere at all" in text_of(found)


def test_the_project_says_what_it_holds_and_what_is_missing(ask: Ask) -> None:
    info = ask("project_info").structured_content
    assert [one["name"] for one in info["projects"]] == ["notes"]
    assert info["model"] == "hash/64"
    assert info["status"]["counts"]["documents"] == 6
    assert info["status"]["up_to_date"]


def _sent(found: CallToolResult) -> tuple[int, int]:
    """The tokens of the two forms of a reply, as they are sent."""
    structured = json.dumps(found.structured_content, ensure_ascii=False, separators=(",", ":"))
    links = [one for one in found.content if isinstance(one, ResourceLink)]
    linked = " ".join(f"{one.uri} {one.name} {one.title}" for one in links)
    return count_tokens(structured), count_tokens(text_of(found)) + count_tokens(linked)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("query_documents", {"query": "barometer restore database", "top_n": 20}),
        ("query_documents", {"query": "barometer restore database", "compact": True}),
        ("query_documents", {"query": "barometer", "top_n": 20, "min_confidence": 1.0}),
        ("get_document", {"references": ["long.md", "restore", "stations"]}),
    ],
)
def test_replies_keep_to_their_budget(ask: Ask, tool: str, arguments: dict[str, Any]) -> None:
    for budget in (100, 150, 300, 1000):
        found = ask(tool, **arguments, max_tokens=budget)
        if found.is_error:
            assert "max_tokens" in text_of(found)
        else:
            assert max(_sent(found)) <= budget


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("query_documents", {"query": "barometer", "passages": True}),
        ("query_documents", {"query": "barometer", "passages": True, "compact": True}),
        ("get_document", {"references": ["long.md"]}),
    ],
)
def test_a_budget_is_used_where_there_is_enough_to_say(
    ask: Ask, tool: str, arguments: dict[str, Any]
) -> None:
    for budget in (400, 550, 700) if "compact" in arguments else (400, 600, 1000):
        sent = _sent(ask(tool, **arguments, max_tokens=budget))
        assert 0.9 * budget <= min(sent) <= max(sent) <= budget, budget


def test_results_that_do_not_fit_are_named_by_their_places(ask: Ask) -> None:
    found = ask("query_documents", query="barometer", passages=True, n=20, max_tokens=600)
    notice = found.structured_content["notices"][0]
    assert "fit into" in notice
    following = notice.partition("Next: ")[2].rstrip(".").split(", ")
    passage = ask("get_document", references=following[:1]).structured_content["passages"][0]
    assert "The barometer of part" in passage["text"]


def test_a_compact_result_is_one_line_with_title_and_place(ask: Ask) -> None:
    found = ask("query_documents", query="calibrated rain gauge", compact=True)
    hit = found.structured_content["hits"][0]
    line = "The rain gauge was calibrated with a bottle of water."
    place = {"document": "journal/day.txt", "line": 3, "title": "day"}
    assert hit == {**place, "text": line, "match": hit["match"]}
    assert f"- `journal/day.txt:3` {hit['match']}: `day` `{line}`" in text_of(found)


def test_where_nothing_fits_a_reply_has_only_the_lines_that_come_nearest(ask: Ask) -> None:
    asked = {"query": "barometer database", "min_confidence": 1.0}
    found = ask("query_documents", **asked)
    told = found.structured_content
    assert told["hits"] == []
    assert told["nearest"]
    for hit in told["nearest"]:
        assert hit.keys() == {"document", "line", "title", "text", "match"}
        assert "\n" not in hit["text"]
    assert "Nearest:" in text_of(found)
    assert "```" not in text_of(found)
    assert told["statistics"]["counts"]["retrieve"] > 0
    whole = ask("query_documents", **asked, compact=False).structured_content["nearest"]
    assert len(whole[0]["text"]) > len(told["nearest"][0]["text"])


def test_a_weak_result_is_the_line_that_matches_and_says_where_its_passage_is(ask: Ask) -> None:
    asked = {"query": "restore the database", "passages": True, "set": ["near_dedup.enabled=false"]}
    brief = ask("query_documents", **asked).structured_content["hits"]
    whole = ask("query_documents", **asked, compact=False).structured_content["hits"]
    assert {hit["match"] == "weak" for hit in brief} == {True, False}
    for one, full in zip(brief, whole, strict=True):
        assert (one["first_line"], one["last_line"]) == (full["first_line"], full["last_line"])
        if one["match"] == "weak":
            line = full["text"].split("\n")[one["line"] - one["first_line"]]
            assert line[:100] in one["text"]
        else:
            assert one["text"] == full["text"]


def test_a_compact_line_is_the_one_that_matches(home: Path, dowse: Dowse) -> None:
    long = "Nothing of it is here. " * 20 + "The zeppelin is in the last sentence."
    (home / "lines").mkdir()
    text = f"# Airships\n\nA first line.\n\n{long}\n\n## Zeppelin crew\n\nThey wait.\n"
    (home / "lines" / "a.md").write_text(text, "utf-8")
    assert dowse("index", home / "lines").code == 0
    with Dowse_.open(home / "lines") as program:
        [hit] = program.search("zeppelin last sentence", n=1).hits
        line = to_one_line(hit)
        assert line.line == 5
        assert "The zeppelin is in the last sentence." in line.text
        [crew] = program.search("zeppelin crew", n=1).hits
        assert (to_one_line(crew).line, to_one_line(crew).text) == (
            7,
            "## Zeppelin crew They wait.",
        )


def test_what_is_said_of_a_path_goes_with_every_result_below_it(
    ask: Ask, notes: Path, dowse: Dowse
) -> None:
    files = {path: path.read_bytes() for path in notes.rglob("*") if path.is_file()}
    dowse("project", "describe", "notes", "--path", "guides/", "Checked", "every spring.")
    found = ask("query_documents", query="restore the database", top_n=3, compact=False)
    for hit in found.structured_content["hits"]:
        expected = "Checked every spring." if hit["document"].startswith("guides/") else None
        assert hit.get("context") == expected
    assert "\n> Checked every spring.\n" in text_of(found)
    line = ask("query_documents", query="restore the database", compact=True)
    assert "(Checked every spring.)" in text_of(line)
    hits = dowse("search", "restore the database", "-n", 1, "--json").json["hits"]
    assert hits[0]["context"] == "Checked every spring."
    assert "    Checked every spring.\n" in dowse("search", "restore the database").out
    assert {path: path.read_bytes() for path in notes.rglob("*") if path.is_file()} == files
    dowse("project", "describe", "notes", "--path", "guides/", "--clear")
    assert "context" not in ask("query_documents", query="database").structured_content["hits"][0]


def test_statistics_are_there_also_when_nothing_is_found(ask: Ask) -> None:
    for asked in ({"query": "zzzz", "mode": "keyword"}, {"query": "database", "tag": ["none"]}):
        told = ask("query_documents", **asked).structured_content
        assert told["hits"] == []
        assert told["statistics"]["counts"], asked


def test_a_search_returns_documents_and_says_where_else_they_match(ask: Ask) -> None:
    found = ask("query_documents", query="barometer", n=3)
    hit = found.structured_content["hits"][0]
    assert hit["document"] == "long.md"
    assert hit["first_line"] <= hit["line"] <= hit["last_line"]
    other = ask("get_document", references=[f"long.md:{hit['more'][0]}"])
    assert "The barometer of part" in text_of(other)
    assert f"{len(hit['more'])} more: lines {hit['more'][0].replace('-', '–')}" in text_of(found)


def test_a_search_says_how_many_candidates_each_stage_left(ask: Ask) -> None:
    found = ask("query_documents", query="barometer", n=3)
    statistics = found.structured_content["statistics"]
    assert statistics["merged"] == 0
    assert statistics["counts"]["retrieve"] > statistics["counts"]["documents"]
    assert f"documents {statistics['counts']['documents']}" in text_of(found)


def test_a_cut_document_says_how_to_go_on(ask: Ask) -> None:
    found = ask("get_document", references=["long.md"], max_tokens=800).structured_content
    reference = found["notices"][0].partition("reference ")[2].partition(",")[0]
    after = ask("get_document", references=[reference], max_tokens=800).structured_content
    assert after["passages"][0]["first_line"] == found["passages"][0]["last_line"]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("query_documents", {"querry": "x"}, "Did you mean query? Known: query, project, top_n,"),
        ("query_documents", {}, "query is missing."),
        ("query_documents", {"query": "  "}, "query is empty."),
        ("query_documents", {"query": "x", "top_n": "five"}, "must be a whole number"),
        ("query_documents", {"query": "x", "top_n": 0}, "from 1 to 10,000"),
        ("query_documents", {"query": "x", "top_n": True}, "must be a whole number"),
        ("query_documents", {"query": "x", "tag": {"a": 1}}, 'texts, as ["a", "b"]'),
        ("query_documents", {"query": "x", "tag": [""]}, "tag names nothing"),
        ("query_documents", {"query": "x", "mode": "magic"}, "hybrid, semantic, keyword, code"),
        ("query_documents", {"query": "x", "after": "soon"}, "2024-06-30"),
        ("query_documents", {"query": "x", "mmr": True, "per_doc": 1}, "Use one."),
        ("query_documents", {"query": "x", "project": "other"}, "use one of: notes"),
        ("get_document", {"references": []}, "a list of 1 to 20 texts"),
        ("get_document", {"references": ["restor"]}, "Did you mean guides/restore.md?"),
        ("get_document", {"references": ["restore:9-8"]}, "path:first-last"),
        ("get_document", {"references": ["xyzzy"]}, "Find it with query_documents."),
        ("related_documents", {"reference": "abcd1234"}, "Find it with query_documents."),
        ("get_document", {"references": ["dowse://notes"]}, "dowse://{project}/{+path}"),
        ("related_documents", {"reference": "nobody"}, "There is no document"),
        ("project_info", {"project": "other"}, "use one of: notes"),
    ],
)
def test_a_wrong_call_learns_how_to_become_a_right_one(
    ask: Ask, tool: str, arguments: dict[str, Any], said: str
) -> None:
    failed = ask(tool, **arguments)
    assert failed.is_error
    assert said in text_of(failed)


@pytest.mark.parametrize(
    ("loose", "exact"),
    [
        ({"n": "2", "tag": "database"}, {"n": 2, "tag": ["database"]}),
        ({"tag": '["database"]', "passages": "true"}, {"tag": ["database"], "passages": True}),
        ({"after": 2025, "min_confidence": "0.1"}, {"after": "2025", "min_confidence": 0.1}),
    ],
)
def test_values_of_a_similar_type_are_accepted(
    ask: Ask, loose: dict[str, Any], exact: dict[str, Any]
) -> None:
    found = ask("query_documents", query="restore the database", **loose)
    assert not found.is_error
    expected = ask("query_documents", query="restore the database", **exact)
    assert found.structured_content["hits"] == expected.structured_content["hits"]


def test_one_reference_may_be_a_text_instead_of_a_list(ask: Ask) -> None:
    found = ask("get_document", references="restore:10-11", max_tokens="400").structured_content
    assert [one["first_line"] for one in found["passages"]] == [10]


def test_null_means_that_nothing_was_said(ask: Ask) -> None:
    assert not ask("query_documents", query="database", tag=None, top_n=None).is_error


def test_nothing_found_is_no_error(ask: Ask) -> None:
    found = ask("query_documents", query="database", tag=["no such tag"])
    assert not found.is_error
    assert found.structured_content["hits"] == []
    assert "`tag no such tag` kept out" in text_of(found)
    assert list(found.structured_content["removed"]) == ["tag no such tag"]
