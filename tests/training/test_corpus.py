import json
from pathlib import Path

from training.corpus import (
    Chunk,
    Query,
    chunks_of,
    may_train,
    read_chunks,
    read_queries,
    write_lines,
)


def test_chunks_and_queries_survive_a_file(tmp_path: Path) -> None:
    chunks = [Chunk("a", 0, "Title", ["Title", "Part"], "text é")]
    queries = [Query("heading", "part", "a", 0, 1, hidden=True, key="part")]
    write_lines(tmp_path / "chunks", chunks)
    write_lines(tmp_path / "queries", queries)
    assert read_chunks(tmp_path / "chunks") == chunks
    assert read_queries(tmp_path / "queries") == queries


def test_queries_of_the_first_corpus_are_read(tmp_path: Path) -> None:
    rows = [
        {"k": "title", "q": "keys", "r": "a", "s": [2, 5], "h": 1, "y": "keys"},
        {"k": "sentence", "q": "rotate", "r": "a", "c": 7, "u": [3, 9]},
    ]
    path = tmp_path / "queries"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert read_queries(path) == [
        Query("title", "keys", "a", 2, 5, hidden=True, key="keys"),
        Query("sentence", "rotate", "a", 7, 8, cut=(3, 9)),
    ]


def test_share_alike_and_held_out_sources_are_not_trained_on() -> None:
    assert not may_train("pingcap+docs")
    assert not may_train("laravel+docs")
    assert may_train("docker+docs")


def test_a_folder_is_cut_as_dowse_cuts_it(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Keys\n\nRotate them.\n")
    (tmp_path / "b.md").write_text("---\ntitle: Backups\n---\n\nOnce a day.\n")
    found = list(chunks_of(tmp_path, first_document=4))
    assert [(name, one.document, one.title, one.path) for name, one in found] == [
        ("a.md", 4, "Keys", ["Keys"]),
        ("b.md", 5, "Backups", []),
    ]
