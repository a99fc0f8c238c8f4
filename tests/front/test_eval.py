"""`dowse eval`: what it measures and compares, and what it says when it cannot."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from command_line import Dowse, on_terminal
from dowse._interfaces.cli.commands.evaluation import draw_eval
from dowse._project.evaluation import (
    Difference,
    EvalRecord,
    Latency,
    Measures,
    RunReport,
    TypeReport,
)
from dowse._project.workspace import Given

_DOCS = {
    "guides/restore.md": "# Restore a backup\n\nStop the writer before you restore the database.\n",
    "guides/gauge.md": "# Rain gauge\n\nThe rain gauge is calibrated with a bottle of water.\n",
    "mast.md": "# Mast\n\nThe mast carries a barometer and an antenna.\n",
    "clock.md": "# Clock\n\nThe clock drifts; the station asks for the time every hour.\n",
}
_QUERIES = [
    {"_id": "q1", "text": "restore the database", "type": "factual"},
    {"_id": "q2", "text": "calibrated bottle", "type": "factual"},
    {"_id": "q3", "text": "which instrument is on the mast", "type": "exploratory"},
    {"_id": "u1", "text": "zebra quagga", "type": "unanswerable"},
    {"_id": "x1", "text": "nobody has judged this", "type": "factual"},
]
_QRELS = {"q1": "guides/restore.md", "q2": "guides/gauge.md", "q3": "mast.md"}


@pytest.fixture
def collection(home: Path, by_meaning: None) -> Path:  # noqa: ARG001  vectors without weights
    folder = home / "judged"
    for name, text in _DOCS.items():
        path = folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, _QUERIES)), "utf-8")
    rows = [f"{query}\t{document}\t2" for query, document in _QRELS.items()]
    (folder / "qrels.tsv").write_text(
        "\n".join(["query-id\tcorpus-id\tscore", *rows]) + "\n", "utf-8"
    )
    return folder


def test_a_collection_is_measured(dowse: Dowse, collection: Path) -> None:
    shape = dowse("eval", collection, "--json").json
    assert (shape["collection"], shape["documents"]) == ("judged", 4)
    assert (shape["queries"], shape["unanswerable"], shape["unjudged"]) == (3, 1, 1)
    (run,) = shape["runs"]
    assert run["name"] == "default"
    assert run["measures"]["hit_1"] == 1.0
    assert [(one["type"], one["queries"]) for one in run["types"]] == [
        ("factual", 2),
        ("exploratory", 1),
    ]
    assert 0 < run["latency"]["p50"] <= run["latency"]["p95"]
    assert run["rejected"] in {0, 1}
    assert shape["comparison"] is None


def test_it_reads_well(dowse: Dowse, collection: Path) -> None:
    result = dowse("eval", collection)
    assert result.code == 0
    assert "3 queries with judgments, 1 without an answer, 4 documents, 1 left out" in result.out
    assert "nDCG@10" in result.out
    assert "Empty answers: 0 of 3." in result.out
    assert "Without an answer:" in result.out


def test_it_is_no_project_of_the_user(dowse: Dowse, home: Path, collection: Path) -> None:
    before = sorted(path for path in collection.rglob("*"))
    dowse("eval", collection)
    assert dowse("project", "list", "--json").json["projects"] == []
    assert sorted(path for path in collection.rglob("*")) == before
    assert len(list((home / "own" / "cache" / "evaluations").iterdir())) == 1


def test_changes_to_the_documents_are_noticed(dowse: Dowse, collection: Path) -> None:
    dowse("eval", collection)
    (collection / "docs" / "mast.md").unlink()
    result = dowse("eval", collection)
    assert "3 documents" in result.out
    assert "1 judged document cannot be found, such as mast.md" in result.err
    for path in sorted((collection / "docs").rglob("*.md")):  # new files with the same text
        path.write_text(path.read_text("utf-8"), "utf-8")
        path.rename(path.with_suffix(".old"))
        path.with_suffix(".old").rename(path)
    assert dowse("eval", collection, "--json").json["documents"] == 3


def test_documents_that_judgments_call_otherwise_are_no_failure_of_the_search(
    dowse: Dowse, collection: Path
) -> None:
    qrels = (collection / "qrels.tsv").read_text("utf-8")
    (collection / "qrels.tsv").write_text(qrels.replace(".md", ""), "utf-8")
    result = dowse("eval", collection)
    assert result.code == 2
    assert "No judged document is in judged: judgments name 'guides/gauge'" in result.err
    assert "documents are called 'clock.md'" in result.err


def test_other_settings_of_the_index_have_an_index_of_their_own(
    dowse: Dowse, home: Path, collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dowse("eval", collection)
    assert dowse("eval", collection, "--set", "chunk.overlap=0").code == 0
    assert len(list((home / "own" / "cache" / "evaluations").iterdir())) == 2
    monkeypatch.setenv("DOWSE_CHUNK_OVERLAP", "10")  # what held for the first index has changed
    assert dowse("eval", collection).code == 0


def test_a_preset_is_measured_with_the_index_that_it_describes(
    dowse: Dowse, home: Path, collection: Path
) -> None:
    shape = dowse("eval", collection, "--compare", "seed-a", "seed-b", "--json").json
    assert shape["notices"] == []
    assert [run["name"] for run in shape["runs"]] == ["seed-a", "seed-b"]
    folders = list((home / "own" / "cache" / "evaluations").iterdir())
    built = [_built_with(folder)["chunk"] for folder in folders]
    assert sorted((one["strategy"], one["context"]) for one in built) == [
        ("fixed", "none"),
        ("headers", "headings"),
    ]
    dowse("eval", collection, "--preset", "seed-b")
    assert sorted((home / "own" / "cache" / "evaluations").iterdir()) == sorted(folders)


def _built_with(folder: Path) -> dict[str, Any]:
    with closing(sqlite3.connect(next(folder.rglob("*.db")))) as database:
        (stamp,) = database.execute("SELECT value FROM meta WHERE name = 'stamp'").fetchone()
    built: dict[str, Any] = json.loads(stamp)
    return built


@pytest.mark.parametrize("second", ["seed-a", "fuse.keyword=0"])
def test_two_ways_of_searching_are_compared(dowse: Dowse, collection: Path, second: str) -> None:
    shape = dowse("eval", collection, "--compare", "default", second, "--json").json
    assert [run["name"] for run in shape["runs"]] == ["default", second]
    comparison = shape["comparison"]
    first, last = (run["measures"]["mrr"] for run in shape["runs"])
    assert comparison["mrr"]["difference"] == pytest.approx(last - first)
    assert sum(comparison["mrr"][name] for name in ("wins", "ties", "losses")) == 3


def test_a_choice_of_different_results_is_seen_in_a_comparison(
    dowse: Dowse, collection: Path
) -> None:
    for hour in range(6):
        text = f"# Restore the database at {hour}\n\nRestore the database at {hour} o'clock.\n"
        (collection / "docs" / f"hour-{hour}.md").write_text(text, "utf-8")
    line = ["--compare", "default", "diversity.mmr=true", "--set", "diversity.balance=0.2"]
    shape = dowse("eval", collection, *line, "--json").json
    assert shape["comparison"]["mrr"]["ties"] < 3


def test_a_sample_is_always_the_same(dowse: Dowse, collection: Path) -> None:
    one, two = (dowse("eval", collection, "--queries", "2", "--json").json for _ in range(2))
    assert one["queries"] + one["unanswerable"] == 2
    assert one["runs"][0]["measures"] == two["runs"][0]["measures"]


def test_what_a_dowse_toml_asks_for_without_consent_is_reported(
    dowse: Dowse, collection: Path
) -> None:
    (collection / "docs" / "dowse.toml").write_text('[embed]\nmodel = "other"\n', "utf-8")
    assert "asks to set embed.model" in dowse("eval", collection).err


def test_keyword_search_alone_can_be_measured(
    dowse: Dowse, collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOWSE_EMBED_PROVIDER", "none")
    assert dowse("eval", collection, given=Given()).code == 0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["--compare", "seed-a", "seed-b", "--preset", "seed-a"], "--compare names presets"),
        (["--compare", "default", "seed-z"], "'seed-z' is neither a preset"),
        (["--set", "fuse.nothing=1"], "no setting 'fuse.nothing'"),
        (["--set", "fuse.keyword=many"], "does not fit"),
        (["--queries", "0"], "--queries"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    dowse: Dowse, collection: Path, line: list[str], said: str
) -> None:
    result = dowse("eval", collection, *line)
    assert result.code == 2
    assert said in result.err


def test_a_collection_that_is_none_is_refused(dowse: Dowse, home: Path) -> None:
    result = dowse("eval", home / "nowhere", "--json")
    assert result.code == 2
    assert "There is no collection" in result.json["error"]


def test_documents_without_judgments_and_judgments_without_documents(
    dowse: Dowse, collection: Path
) -> None:
    (collection / "docs").rename(collection / "elsewhere")
    assert "has no documents to search" in dowse("eval", collection).err
    (collection / "qrels.tsv").unlink()
    assert "There is no file" in dowse("eval", collection).err


def test_it_runs_on_a_terminal(collection: Path) -> None:
    environment = {"DOWSE_EMBED_PROVIDER": "none"}
    code, seen = on_terminal("eval", str(collection), environment=environment)
    assert code == 0
    assert "nDCG@10" in seen


def test_nothing_is_wider_than_80_columns() -> None:
    measures = Measures(*[0.123456] * 8)
    name = "a-type-whose-name-is-much-too-long"
    types = (TypeReport(name, 12_345, measures), TypeReport("", 1, measures))
    runs = tuple(
        RunReport(
            f"run {n} " * 9,
            12_345,
            3,
            1_234,
            measures,
            types,
            Latency(0.9991, 59.9),
            0.5,
            (),
        )
        for n in range(2)
    )
    difference = Difference(0.5, 0.4, -0.1, -1.234, -0.123, -0.1, 0.00001, 1_234, 1_234, 1_234)
    compared = dict.fromkeys(("ndcg_10", "recall_100"), difference)
    shape = EvalRecord(
        "set " * 30, 123_456, 12_345, 100, 5, runs,
        compared, (),
    )  # fmt: skip
    drawn = [one.plain for one in draw_eval(shape, 80)]
    assert max(map(cell_len, drawn)) <= 80
