"""`dowse search`: every option does what it says."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from command_line import Dowse
from dowse._interfaces.cli.commands.search import draw_response
from dowse._model import Hit, Place, Response, Step
from dowse._search.formats import count_tokens

pytestmark = pytest.mark.usefixtures("notes")


def _documents(dowse: Dowse, *line: object) -> list[str]:
    result = dowse("search", *line, "--json")
    assert result.code == 0, result.out
    return [hit["document"] for hit in result.json["hits"]]


def _first(dowse: Dowse, *line: object) -> dict[str, Any]:
    hit: dict[str, Any] = dowse("search", *line, "--json").json["hits"][0]
    return hit


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (["--category", "guide"], {"guides/restore.md"}),
        (["--category", "guide", "--category", "reference"], {"guides/restore.md", "STATIONS"}),
        (["--author", "ada"], {"guides/restore.md"}),
        (["--tag", "ops"], {"guides/restore.md"}),
        (["--tag", "#ops/backup", "--tag", "database"], {"guides/restore.md"}),
        (["--tag", "ops", "--tag", "reference"], set()),
        (["--path", "reference/"], {"STATIONS"}),
        (["--path", "./reference"], {"STATIONS"}),
        (["--source", "txt"], {"journal/day.txt"}),
        (["--source", ".txt"], {"journal/day.txt"}),
        (["--lang", "python"], {"STATIONS"}),
        (["--language", "bash"], {"guides/restore.md"}),
        (["--after", "2025", "--source", "md"], {"guides/restore.md"}),
        (["--before", "2024-02", "--after", "2023-06-01"], {"guides/copy.md"}),
        (["--category", "guide", "--path", "reference"], set()),
        (["--where", "author=grace"], {"STATIONS"}),
        (["--where", "modified>=2025"], {"guides/restore.md"}),
        (["--where", "category", "--where", "author!=Ada"], {"STATIONS"}),
        (["--where", "tags=ops"], {"guides/restore.md"}),
        (["--where", "nobody=has this"], set()),
    ],
)
def test_filters(dowse: Dowse, filters: list[str], expected: set[str]) -> None:
    wanted = {name.replace("STATIONS", "reference/stations.md") for name in expected}
    line = ["-n", "20", "database frame bottle restore", "--set", "near_dedup.enabled=false"]
    assert set(_documents(dowse, *line, *filters)) == wanted


def test_results_as_grep_prints_them(notes: Path, dowse: Dowse) -> None:
    line = ("search", "bottle", "-n", "1", "--format", "grep")
    text = "The rain gauge was calibrated with a bottle of water."
    assert dowse(*line).out == f"notes/journal/day.txt:3:38:{text}\n"
    assert text[38 - 1 :].startswith("bottle")
    os.chdir(notes / "guides")
    assert dowse(*line).out == f"{notes}/journal/day.txt:3:38:{text}\n"
    refused = dowse("search", "bottle", "--format", "grep", "--max-tokens", "9")
    assert refused.code == 2


def test_a_condition_that_needs_no_words_finds_documents_without_them(dowse: Dowse) -> None:
    found = _documents(dowse, "-n", "20", "bottle OR author:grace")
    assert set(found) == {"journal/day.txt", "reference/stations.md"}


def test_only_a_date_lists_the_newest_first(dowse: Dowse) -> None:
    found = _documents(dowse, "--before", "2025-12", "-n", "10")
    assert found == [
        "guides/restore.md",
        "guides/copy.md",
        "reference/stations.md",
        "lonely.md",
        "long.md",
    ]


def test_unknown_operators_are_named(dowse: Dowse) -> None:
    told = dowse("search", "colour:red bottle").err
    assert "colour: is no operator and no field of any document" in " ".join(told.split())


def test_a_date_that_is_none_is_refused(dowse: Dowse) -> None:
    result = dowse("search", "--after", "someday", "x")
    assert result.code == 2
    assert "'someday' is not a date" in result.err
    assert "yesterday, 7d or last week" in result.err


def test_a_short_word_is_not_taken_for_a_longer_one(home: Path, dowse: Dowse) -> None:
    (home / "films").mkdir()
    for number in range(8):
        (home / "films" / f"{number}.md").write_text(f"# {number}\n\nA film on vimeo.\n", "utf-8")
    assert dowse("index", home / "films").code == 0
    searched = dowse("search", "-p", "films", "vim", "--mode", "keyword", "--json").json
    assert (searched["hits"], searched["notices"]) == ([], [])
    fixed = dowse("search", "-p", "films", "vimoe", "--mode", "keyword", "--json").json
    assert len(fixed["hits"]) == 5
    assert fixed["notices"] == ['Nothing has "vimoe"; searched for "vimeo" instead.']


@pytest.mark.parametrize("option", ["--tag", "--author", "--path", "--category"])
def test_a_filter_that_names_nothing_is_refused(dowse: Dowse, option: str) -> None:
    result = dowse("search", option, " ", "x")
    assert result.code == 2
    assert f"{option.removeprefix('--')} names nothing." in result.err


@pytest.mark.parametrize(
    ("mode", "strategies"),
    [
        ("hybrid", {"semantic", "keyword"}),
        ("keyword", {"keyword"}),
        ("semantic", {"semantic"}),
        ("code", {"code"}),
        ("hyde", {"semantic"}),
    ],
)
def test_modes(dowse: Dowse, mode: str, strategies: set[str]) -> None:
    shape = dowse("search", "--mode", mode, "get_station_by_id database", "--json").json
    assert shape["hits"]
    places = [place for hit in shape["hits"] for place in hit["places"]]
    assert {place["strategy"] for place in places if place["rank"]} == strategies


def test_code_is_found_by_another_spelling(dowse: Dowse) -> None:
    assert _documents(dowse, "--mode", "code", "get_station_by_id") == ["reference/stations.md"]


def test_parents_are_sections(dowse: Dowse) -> None:
    chunk = _first(dowse, "--no-parents", "--passages", "word3x1")
    section = _first(dowse, "--parents", "word3x1")
    assert chunk["id"] != chunk["section"]
    assert section["id"] == section["section"]
    assert chunk["text"] in section["text"]
    assert len(chunk["text"]) < len(section["text"])
    sections = dowse("search", "--parents", "-n", "20", "barometer", "--json").json["hits"]
    assert len({hit["id"] for hit in sections}) == len(sections)


def test_one_document_is_one_result_that_says_where_else_it_matches(dowse: Dowse) -> None:
    shown = dowse("search", "barometer").out
    assert shown.count("long.md") == 1
    assert re.search(r"^ *\d+ more: lines \d+–\d+", shown, re.MULTILINE)
    hit = _first(dowse, "barometer")
    assert {"id", "header_path", "first_line", "last_line", "score"} == set(hit["more"][0])
    assert f"long.md:{hit['line']}  " in shown
    passages = dowse("search", "--passages", "barometer", "--json").json["hits"]
    assert [one["document"] for one in passages] == ["long.md"] * 5
    assert not any(one["more"] for one in passages)


def test_results_of_one_document_can_be_limited(dowse: Dowse) -> None:
    unlimited = _documents(dowse, "-n", "20", "barometer", "--passages")
    assert len(unlimited) > len(set(unlimited))
    limited = _documents(dowse, "-n", "20", "barometer", "--per-doc", "1")
    assert limited == list(dict.fromkeys(unlimited))


def test_mmr_is_a_stage_that_runs(dowse: Dowse) -> None:
    assert "diversity" in dowse("search", "--mmr", "restore", "--json").json["seconds"]
    assert "diversity" not in dowse("search", "--no-mmr", "restore", "--json").json["seconds"]
    both = dowse("search", "--mmr", "--per-doc", "1", "restore")
    assert both.code == 2
    assert "mmr and per_doc are two ways" in both.err


def test_reranking_without_a_model_is_reported(dowse: Dowse) -> None:
    result = dowse("search", "--rerank", "restore")
    assert result.code == 0
    assert "Not reranked" in result.err
    assert "rerank" not in dowse("search", "--no-rerank", "restore", "--json").json["seconds"]


def test_a_preset_holds_for_one_search(dowse: Dowse) -> None:
    convex = _first(dowse, "restore database")
    ranks = _first(dowse, "--preset", "seed-a", "restore database")
    assert ranks["places"][0]["contribution"] == pytest.approx(1 / 61)
    assert convex["places"] != ranks["places"]
    assert _first(dowse, "restore database") == convex
    assert dowse("search", "--preset", "nonsense", "x").code == 2


def test_a_preset_says_which_settings_the_index_was_not_built_with(dowse: Dowse) -> None:
    line = ["search", "--preset", "seed-b", "restore", "--json"]
    (notice,) = dowse(*line).json["notices"]
    assert notice.startswith("The preset seed-b changes only the search: the index was built with")
    for name in ("chunk.context", "chunk.strategy", "keyword.stemming", "keyword.title"):
        assert f" {name}" in notice
    assert "chunk.fixed_size" not in notice
    assert dowse("search", "--preset", "general", "restore", "--json").json["notices"] == []
    commands = notice.partition("To use all of it: ")[2].split(", then ")
    for command in commands:
        assert dowse(*command.split()[1:]).code == 0
    assert dowse(*line).json["notices"] == []


def test_any_setting_of_a_search_can_be_set(dowse: Dowse) -> None:
    assert len(_documents(dowse, "--set", "search.top_n=1", "database")) == 1
    line = ["--set", "graph.enabled=true", "--set", "recency.bias = 0", "database"]
    seconds = dowse("search", *line, "--json").json["seconds"]
    assert "graph" in seconds
    assert "recency" not in seconds


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("search.topn=3", "Did you mean search.top_n"),
        ("search.top_n", "Write it as: fuse.keyword=2"),
        ("search.top_n=many", "Return at most this many results"),
        ("search.top_n=0", "must be between 1 and 10,000"),
        ("chunk.overlap=3", "dowse config set chunk.overlap"),
        ("threshold.min_confidence=2", "between -1 and 1"),
        ("=3", "There is no setting"),
    ],
)
def test_a_setting_that_cannot_be_is_explained(dowse: Dowse, wrong: str, told: str) -> None:
    result = dowse("search", "--set", wrong, "x")
    assert result.code == 2
    assert told in result.err.replace("\n", " ")


def test_the_formats(notes: Path, dowse: Dowse) -> None:
    line = ["search", "restore database", "-n", "20"]
    whole = dowse(*line, "--json").json
    same = dowse(*line, "--format", "json").json
    assert {**whole, "seconds": 0} == {**same, "seconds": 0}
    lines = dowse(*line, "--format", "jsonl").out.splitlines()
    assert [json.loads(one) for one in lines] == whole["hits"]
    files = dowse(*line, "--format", "files").out.splitlines()
    assert files == [str(notes / name) for name in dict.fromkeys(_documents(dowse, *line[1:]))]
    markdown = dowse(*line, "--format", "md").out
    assert all(f"{hit['document']}:{hit['first_line']}" in markdown for hit in whole["hits"])
    assert dowse(*line, "--format", "text").out == dowse(*line).out


def test_a_hit_describes_itself(notes: Path, dowse: Dowse) -> None:
    hit = _first(dowse, "station frame")
    assert hit["document"] == "reference/stations.md"
    assert hit["path"] == str(notes / "reference/stations.md")
    assert hit["links_out"] == ["guides/restore.md", "journal/day.txt"]
    assert sorted(hit["links_in"]) == ["guides/copy.md", "guides/restore.md"]
    assert hit["stale"] is False
    assert hit["tags"] == ["reference"]
    assert len(hit["section"]) == 16


def test_json_and_another_format_contradict_each_other(dowse: Dowse) -> None:
    result = dowse("search", "--json", "--format", "md", "x")
    assert result.code == 2
    assert "contradict" in result.json["error"]


@pytest.mark.parametrize("wish", [["--format", "json"], ["--format=json"], ["--json"]])
def test_errors_have_the_format_too(dowse: Dowse, wish: list[str]) -> None:
    assert dowse("search", *wish, "--nonsense", "x").json["error"]
    assert dowse("search", *wish, "").json["error"] == "The query is empty."


@pytest.mark.parametrize("form", ["text", "md"])
@pytest.mark.parametrize("budget", [60, 150, 400])
def test_all_that_is_printed_fits_a_budget(dowse: Dowse, form: str, budget: int) -> None:
    line = ["search", "restore database", "-n", "20", "--format", form, "--full"]
    unlimited, result = dowse(*line), dowse(*line, "--max-tokens", budget)
    assert count_tokens(unlimited.out) > budget
    assert result.code == 0
    assert count_tokens(result.out) <= budget
    assert f"fit into {budget} tokens" in (result.err if form == "text" else result.out)


@pytest.mark.parametrize("form", ["json", "jsonl"])
@pytest.mark.parametrize("budget", [20, 60, 100_000])
def test_the_texts_in_json_fit_a_budget(dowse: Dowse, form: str, budget: int) -> None:
    line = ["search", "restore database", "-n", "20"]
    whole = dowse(*line, "--json").json["hits"]
    result = dowse(*line, "--format", form, "--max-tokens", budget)
    hits = result.json["hits"] if form == "json" else list(map(json.loads, result.out.splitlines()))
    assert hits
    assert sum(count_tokens(hit["text"]) for hit in hits) <= budget
    assert (hits == whole) is (budget == 100_000)
    assert [hit["id"] for hit in hits] == [hit["id"] for hit in whole][: len(hits)]


def test_a_budget_cuts_the_last_text(dowse: Dowse) -> None:
    whole = _first(dowse, "writer")["text"]
    cut = dowse("search", "writer", "-n", "1", "--max-tokens", "52")
    assert "…" in cut.out
    assert "the last one cut" in cut.err
    assert len(whole) > 52
    assert dowse("search", "writer", "--format", "files", "--max-tokens", "9").code == 2


def test_whole_texts(dowse: Dowse) -> None:
    short, full = dowse("search", "pg_restore"), dowse("search", "pg_restore", "--full")
    assert "```bash" not in short.out
    assert "    ```bash\n    pg_restore --clean stations.dump\n" in full.out


def test_emptiness_can_be_a_failure(dowse: Dowse) -> None:
    line = ["search", "--mode", "keyword", "xyzzyxyzzy"]
    assert dowse(*line).code == 0
    for form in ("text", "json", "jsonl", "md", "files"):
        assert dowse(*line, "--fail-on-empty", "--format", form).code == 1
    assert dowse("search", "--fail-on-empty", "restore").code == 0


def test_what_came_near_is_reported(dowse: Dowse) -> None:
    line = ["search", "restore database", "--min-confidence", "1", "-n", "2"]
    result = dowse(*line)
    assert (result.code, result.out) == (0, "")
    assert "Nothing found.\nThe nearest results, below the minimum confidence:\n 1 " in result.err
    assert "guides/restore.md" in result.err
    shape = dowse(*line, "--json").json
    assert shape["hits"] == []
    assert [hit["rank"] for hit in shape["nearest"]] == [1, 2]
    assert "threshold" in shape["nearest"][0]["steps"][-1]["stage"]
    assert dowse(*line, "--quiet").err == ""


def test_the_filter_that_kept_results_out_is_named(dowse: Dowse) -> None:
    result = dowse("search", "--mode", "keyword", "lighthouse", "--tag", "database")
    assert "--tag database excluded 1 passage that would otherwise match." in result.err
    shape = dowse("search", "--mode", "keyword", "lighthouse tag:database", "--json").json
    assert shape["removed"] == {"tag:database": 1}
    unknown = dowse("search", "--mode", "keyword", "xyzzyxyzzy", "--tag", "database").err
    assert "leave out --tag database." in unknown


def test_a_query_without_words(dowse: Dowse) -> None:
    result = dowse("search", "--mode", "keyword", "?!")
    assert (result.code, result.out) == (0, "")
    assert "no word" in result.err


@pytest.mark.parametrize("form", ["text", "json", "jsonl", "md", "files"])
def test_bytes_that_are_no_text_break_no_format(dowse: Dowse, form: str) -> None:
    assert dowse("search", "--format", form, "--", "restore \udcff \ud800").code == 0


def test_a_file_that_changed_is_marked(notes: Path, dowse: Dowse) -> None:
    assert "changed since indexed" not in dowse("search", "lighthouse").out
    (notes / "lonely.md").write_text("# Lonely\n\nNobody links to the lighthouse today.\n", "utf-8")
    assert "Lonely  (changed since indexed)" in dowse("search", "lighthouse").out
    assert _first(dowse, "lighthouse")["stale"] is True


def test_explaining_results(dowse: Dowse) -> None:
    line = ["--set", "community.enabled=true", "--set", "calibrate.enabled=true"]
    out = dowse("search", "station frame", *line, "--explain").out
    for word in ("semantic", "keyword", "place 1", "gives 0.", "calibrate", "→ 0.", "× 1.10"):
        assert word in out
    account = out.partition("\nstage")[2]
    for stage in ("retrieve", "fuse", "top_n", "present", "all"):
        assert f"\n{stage} " in account
    assert " ms" in account


def test_the_explanation_is_no_wider_than_the_terminal() -> None:
    places = (Place("semantic", 123_456, 1234.5, 0.0159), Place("keyword", None, 0.2, 0.0))
    reason = "nearly the same text as " + "a-long-folder-name/" * 6 + "file.md:12"
    steps = (
        Step("community", 0.03, 0.033),
        Step("recency", 0.0, 0.0),
        Step("semantic_dedup", 0.9, 0.9, reason),
    )
    hit = Hit(
        score=0.5, id="0" * 16, section="1" * 16, document="folder/" * 20 + "x.md",
        title="Title " * 30, header_path=("Heading " * 12,) * 3, line=2, first_line=1, last_line=9,
        date="1970-01-01T00:00:00+00:00", stale=True, tags=(), links_out=(), links_in=(),
        snippet="snippet " * 40, text="text\n\n" + "\tword" * 60 + "雨" * 90, places=places,
        steps=steps,
    )  # fmt: skip
    response = Response(
        query="q",
        hits=(hit,),
        merged=3,
        counts={"retrieve": 1_000_000, "fuse": 1},
        seconds={"retrieve": 12.0, "present": 0.1},
    )
    for full in (False, True):
        drawn = list(draw_response(response, 80, full=full, explain=True))
        paths = [one for one in drawn if hit.document in one.plain]
        assert len(paths) == 1  # which is never cut: people copy it
        assert max(cell_len(one.plain) for one in drawn if one not in paths) <= 80
    text = "\n".join(one.plain for one in drawn)
    assert "× 1.10" in text
    assert "further back" in text
    assert "dropped: nearly the same text" in text
    assert "3 results stand for others that mean the same." in text


def test_a_snippet_without_blanks_fills_its_lines() -> None:
    hit = Hit(
        id="a" * 16,
        section="b" * 16,
        document="zh.md",
        title="Zh",
        header_path=(),
        line=1,
        first_line=1,
        last_line=2,
        score=0.5,
        text="",
        snippet="数据质量" * 60,
        date="1970-01-01T00:00:00+00:00",
        tags=(),
        links_out=(),
        links_in=(),
        stale=False,
    )
    *_, first, last = draw_response(Response(query="q", hits=(hit,)), 80)
    assert 70 <= cell_len(last.plain) <= 80
    assert cell_len(first.plain) <= 80
    assert last.plain.endswith(" …")


def test_results_without_a_good_match_are_dim_below_a_line_that_says_so() -> None:
    hit = Hit(
        reason="only 1 of 3 words found", score=0.02, id="a" * 16, section="b" * 16,
        document="a.md", title="Alpha", header_path=(), line=1, first_line=1, last_line=2,
        date="1970-01-01T00:00:00+00:00", stale=False, tags=(), links_out=(), links_in=(),
        snippet="text", text="text",
    )  # fmt: skip
    found = Response(query="q", hits=(hit,))
    first, *others = draw_response(replace(found, no_good_match=True), 80)
    assert first.plain == "No good match. Nearest:"
    assert others[0].plain == " 1  ▰▱▱ weak      Alpha  only 1 of 3 words found"
    assert all("dim" in {str(span.style) for span in one.spans} for one in others if one.plain)
    assert "0.02" not in others[0].plain
    *_, explained = (one.plain for one in draw_response(found, 80, explain=True) if "Alpha" in one)
    assert "0.02" in explained
