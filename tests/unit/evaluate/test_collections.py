"""Judged collections: how they are read, and what is said when something is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from dowse._project.evaluation import Collection, read_collection, sample
from dowse.errors import NotFound, UsageError

_CORPUS = Path(__file__).parents[3] / "benchmarks" / "corpus"

_QUERIES = [
    {"_id": "1", "text": "restore a backup", "type": "factual"},
    {"_id": "2", "text": "nothing about this", "type": "unanswerable"},
    {"_id": "3", "text": "nobody has judged this", "type": "factual"},
    {"_id": "4", "text": "judged, but nothing helps"},
]
_QRELS = "query-id\tcorpus-id\tscore\n1\tguides/a b.md\t2\n1\tc.md\t1\n1\td.md\t0\n4\tc.md\t0\n"


def _json_lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


def _collection(folder: Path, **changed: str) -> Collection:
    files = {
        "docs/c.md": "# C\n",
        "queries.jsonl": _json_lines(_QUERIES),
        "qrels.tsv": _QRELS,
    }
    return read_collection(_write(folder, files | changed))


def test_a_folder_is_read(tmp_path: Path) -> None:
    collection = _collection(tmp_path / "handbook")
    assert collection.name == "handbook"
    assert collection.documents == tmp_path / "handbook" / "docs"
    assert [query.id for query in collection.answerable] == ["1"]
    assert collection.answerable[0].relevant == {"guides/a b.md": 2, "c.md": 1}
    assert [query.id for query in collection.unanswerable] == ["2"]
    assert collection.unjudged == 2


def test_the_corpus_that_ships_with_the_project_is_read() -> None:
    collection = read_collection(_CORPUS)
    assert (len(collection.answerable), len(collection.unanswerable)) == (100, 20)
    assert collection.unjudged == 0


def test_windows_line_ends_byte_order_marks_and_empty_lines_do_no_harm(tmp_path: Path) -> None:
    collection = _collection(
        tmp_path,
        **{
            "qrels.tsv": "\ufeff" + _QRELS.replace("\n", "\r\n\r\n"),
            "queries.jsonl": "\ufeff" + _json_lines(_QUERIES).replace("\n", "\r\n"),
        },
    )
    assert collection.answerable[0].relevant == {"guides/a b.md": 2, "c.md": 1}


def test_ids_are_compared_as_documents_are_named(tmp_path: Path) -> None:
    collection = _collection(tmp_path, **{"qrels.tsv": "1\tCafe\u0301.md\t1\n"})
    assert collection.answerable[0].relevant == {"Caf\u00e9.md": 1}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"qrels.tsv": "query-id\tcorpus-id\tscore\n1\ta.md\tgood\n"},
            "line 2: this is not a judg",
        ),
        ({"qrels.tsv": "1\ta.md\n"}, "line 1: this is not a judgment"),
        ({"qrels.tsv": "1\t\t1\n"}, "line 1: this is not a judgment"),
        ({"qrels.tsv": "1\ta.md\t1\n1\ta.md\t2\n"}, "line 2: 'a.md' has two grades"),
        ({"qrels.tsv": "9\ta.md\t1\n"}, "judges the query '9', which is not in"),
        ({"qrels.tsv": "2\ta.md\t1\n"}, "The query '2' is unanswerable, but"),
        ({"qrels.tsv": "", "queries.jsonl": '{"_id": "1", "text": "x"}'}, "has no query with a"),
        ({"queries.jsonl": "{"}, "line 1 is not JSON"),
        ({"queries.jsonl": "[" * 100_000}, "line 1 is not JSON"),
        ({"queries.jsonl": "[]"}, "line 1 has no _id"),
        ({"queries.jsonl": '{"_id": "1"}'}, "line 1 has no text"),
        ({"queries.jsonl": '{"_id": "1", "text": " "}'}, "line 1 has no text"),
        (
            {"queries.jsonl": '{"_id": 1, "text": "a"}\n\n{"_id": "1", "text": "b"}'},
            "line 3: there",
        ),
    ],
)
def test_what_is_broken_is_reported_with_its_line(
    tmp_path: Path, changed: dict[str, str], said: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(said)) as caught:
        _collection(tmp_path, **changed)
    assert caught.value.hint


def test_what_is_missing_is_reported(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="There is no collection"):
        read_collection(tmp_path / "nowhere")
    with pytest.raises(NotFound, match=r"There is no file .*qrels\.tsv"):
        read_collection(_write(tmp_path, {"queries.jsonl": "", "qrels.tsv/other": ""}))
    with pytest.raises(NotFound, match=r"There is no file .*queries\.jsonl"):
        read_collection(_write(tmp_path / "unasked", {"qrels.tsv": "1\ta.md\t1\n"}))


def test_bytes_that_are_no_text_are_reported(tmp_path: Path) -> None:
    (tmp_path / "qrels.tsv").write_bytes(b"1\t\xff\xfe\t1\n")
    with pytest.raises(UsageError, match=r"qrels\.tsv cannot be read"):
        read_collection(tmp_path)


def test_a_sample_is_always_the_same_and_in_order() -> None:
    collection = read_collection(_CORPUS)
    some = sample(collection, 25)
    assert some == sample(collection, 25)
    assert len(some.queries) == 25
    places = [collection.queries.index(query) for query in some.queries]
    assert places == sorted(places)
    assert sample(collection, 1_000) == collection
