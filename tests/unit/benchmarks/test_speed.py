"""What the benchmarks of speed compute: copies, ratios, tables, recall and pictures."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from benchmarks.speed import synthetic
from benchmarks.speed.figures import kept_folder, p50, ratio, table
from benchmarks.speed.growth import in_turns
from benchmarks.speed.installing import Failed
from benchmarks.speed.material import (
    SyntheticEmbedder,
    in_part,
    perturbed,
    questions,
    unit_vector,
    write_copies,
)
from benchmarks.speed.memory import different_queries, memory_table, resident, watched
from benchmarks.speed.peers import peer_table
from benchmarks.speed.pictures import draw_first_answer, draw_growth, draw_stages
from benchmarks.speed.recall import recall, scanned
from benchmarks.speed.stages import best_of, parts_of
from benchmarks.speed.start import start_table
from benchmarks.speed.svg import bar_chart, nice_end
from benchmarks.speed.synthetic import Built

from dowse.testing import HashEmbedder

_BODY = " ".join(["original"] * 200)
_TEXT = f'---\ntitle: "A note"\ntags: [original]\n---\n# Heading\n\n{_BODY}\n\n```\noriginal\n```\n'


def test_a_copy_has_some_other_words_and_keeps_its_form() -> None:
    copy = perturbed(_TEXT, 3, ["replaced"])
    lines = copy.split("\n")
    assert lines[:4] == ["---", 'title: "A note 3"', "tags: [original]", "---"]
    assert lines[4].endswith(" 3")
    assert lines[-4:] == ["```", "original", "```", ""]
    assert 20 <= copy.count("replaced") <= 60
    assert copy == perturbed(_TEXT, 3, ["replaced"])
    assert copy != perturbed(_TEXT, 4, ["replaced"])


@pytest.mark.parametrize("text", [_TEXT, "# No frontmatter\n", "---\nonly a rule\n"])
def test_every_document_says_its_part(text: str) -> None:
    written = in_part(text, 7)
    assert written.startswith("---\npart: 7\n")
    assert written.endswith(text.removeprefix("---\n") if text == _TEXT else text)


def test_copies_fill_the_size_that_is_asked_for(tmp_path: Path) -> None:
    files = [tmp_path / f"{n}.md" for n in range(3)]
    for path in files:
        path.write_text(_TEXT, "utf-8")
    count = write_copies(files, 10 * len(_TEXT), tmp_path / "copies")
    made = list((tmp_path / "copies").rglob("*.md"))
    assert len(made) == count
    assert 10 * len(_TEXT) <= sum(path.stat().st_size for path in made) < 12 * len(_TEXT)
    assert len({path.read_text("utf-8") for path in made}) == count
    assert questions(files, 2) == [" ".join(["original"] * 7)] * 2


def test_synthetic_vectors_are_of_unit_length_and_belong_to_their_text() -> None:
    embedder = SyntheticEmbedder(HashEmbedder())
    (batch,) = embedder.passages(["one", "two", "one"])
    assert np.allclose(np.linalg.norm(batch.vectors, axis=1), 1, atol=1e-6)
    assert np.array_equal(batch.vectors[0], batch.vectors[2])
    assert abs(float(batch.vectors[0] @ batch.vectors[1])) < 0.9
    assert np.array_equal(batch.vectors[1], unit_vector("two", 64))


def test_the_scan_is_compared_with_an_exact_search(tmp_path: Path) -> None:
    vectors = np.stack([unit_vector(str(n), 64) for n in range(400)])
    index = scanned(vectors, tmp_path / "vectors")
    found = [recall(index, vectors, unit_vector(f"asked {n}", 64)) for n in range(10)]
    assert np.mean(found) > 0.95
    assert recall(index, vectors[::-1], vectors[0]) < 0.5  # other vectors than those of the index


def test_queries_are_asked_in_turns_and_the_first_are_not_counted() -> None:
    order: list[str] = []
    ways = {"a": lambda query: order.append(f"a{query}"), "b": order.append}
    times, used = in_turns(ways, [str(n) for n in range(7)])
    assert order[:4] == ["a0", "0", "a1", "1"]
    assert [len(times["a"]), len(used["b"])] == [2, 2]


def test_an_index_of_other_documents_is_not_used_again() -> None:
    one, other = [Path("a.md"), Path("b.md")], [Path("a.md"), Path("c.md")]
    assert kept_folder("x", one) == kept_folder("x", one)
    assert len({kept_folder("x", one), kept_folder("x", other), kept_folder("y", one)}) == 3


def test_an_index_of_copies_is_not_copied_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synthetic, "KEPT", tmp_path)
    for chunks, stored in ((20_000, 20_000), (100_000, 80_000), (364_000, 264_000)):
        folder = tmp_path / f"{chunks}-chunks-abc"
        folder.mkdir()
        made = Built(str(folder), 1, chunks, stored, 1.0, 1.0)
        (folder / "built.json").write_text(json.dumps(asdict(made)), "utf-8")
    for size, base in ((50_000, 20_000), (364_000, 100_000), (1_000_000, 100_000)):
        found = synthetic._largest_below(tmp_path / f"{size}-chunks-abc", size)
        assert found is not None
        assert found.chunks == base


def test_figures_become_cells() -> None:
    assert p50([0.001, 0.003, 0.002]) == 2
    assert [ratio(3, 2), ratio(None, 2), ratio(3, None)] == ["1.5 ×", "–", "–"]
    assert table(("a", "b"), [(12345, 0.12345), (None, "x")]).split("\n") == [
        "| a | b |",
        "| --- | --- |",
        "| 12,345 | 0.123 |",
        "| – | x |",
    ]


def test_a_peer_that_cannot_be_measured_is_listed_with_the_reason() -> None:
    ours: dict[str, Any] = {"index": 2.0, "index CPU": 1.0, "query": 4.0, "query CPU": 4.0}
    theirs: dict[str, Any] = {"index": 1.0, "index CPU": 3.0, "query": 8.0, "query CPU": 2.0}
    rows: dict[str, dict[str, Any]] = {
        "dowse: hybrid": ours,
        "other": theirs | {"against": "hybrid"},
        "missing": {"against": "hybrid", "failed": str(Failed("there is no npm"))},
    }
    lines = peer_table(rows).split("\n")
    assert lines[3] == "| other | – | – | – | 1 (3) | 3 × | 8 (2) | 0.5 × |"
    assert "could not be measured: there is no npm" in lines[4]


def test_the_parts_of_a_query_add_up_to_the_whole() -> None:
    spent = {"embedding": 3.0, "retrieve": 4.0, "fuse": 0.01, "whole": 10.0, "CPU": 9.0, "p50": 9.5}
    assert parts_of(spent) == {"embedding": 3.0, "retrieve": 4.0, "others": 3.0}
    assert best_of([{"whole": 3.0}, {"whole": 1.0}, {"whole": 2.0}]) == {"whole": 1.0}


def test_pictures_are_valid_and_have_every_line_and_bar() -> None:
    names = [f"{one} CPU" for one in ("all", "hundredth", "keyword", "fts5", "embedding")]
    rows = [{"chunks": size} | dict.fromkeys(names, 5.0) for size in (2000, 20_000)]
    growth = ET.fromstring(draw_growth(rows))  # noqa: S314  (it was made here)
    assert len(growth.findall(".//{*}polyline")) == 5
    assert len(growth.findall(".//{*}circle")) == 10
    spent = {"embedding": 3.0, "present": 4.0, "whole": 10.0, "CPU": 9.0, "p50": 9.5}
    stages = ET.fromstring(draw_stages({"chunks": 2000, "now": spent}))  # noqa: S314
    assert len(stages.findall(".//{*}rect/{*}title")) == 3
    first = draw_first_answer([{"files": 1000, "words CPU": 2.0, "vectors CPU": 9.0}])
    assert "1,000 files" in first
    assert "9.0 CPU s" in first


def test_a_bar_is_as_long_as_its_value() -> None:
    picture = ET.fromstring(bar_chart("T", "s", {"<a>": {"x": 1.0}, "b": {"x": 4.0}}))  # noqa: S314
    widths = [
        float(bar.attrib["width"])
        for bar in picture.findall("{*}rect")
        if bar.find("{*}title") is not None
    ]
    assert widths[1] == pytest.approx(4 * widths[0], abs=0.2)
    assert [nice_end(value) for value in (0.3, 7, 10, 41)] == pytest.approx([0.4, 8, 10, 60])


def test_no_query_is_asked_twice() -> None:
    words = [f"word{number % 23}" for number in range(400)]
    asked = list(different_queries(words))
    assert len(asked) == len(set(asked)) == 23
    assert asked[0] == "word0 word1 word2 word3 word4"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says it")
def test_memory_is_looked_at_after_some_answers() -> None:
    asked = list[str]()
    sizes = watched(asked.append, (f"query {number}" for number in range(1500)), os.getpid())
    assert len(asked) == 1500
    assert list(sizes) == [100, 400, 1000]
    assert resident(os.getpid()) == pytest.approx(sizes[1000], rel=0.5)
    figures = {"`Dowse.search`": {100: (200.0, 250.0), 1000: (300.0, 400.0)}}
    shown = memory_table(figures).splitlines()[-1]
    assert shown == "| `Dowse.search` | 200 (250), 1 × | 300 (400), 1.5 × |"


def test_a_table_of_starts_compares_with_the_other_checkout() -> None:
    line = {"before": (200.0, 260.0), "now": (100.0, 110.0)}
    assert start_table({"`dowse`": line}).endswith("| `dowse` | 200 (260) | 100 (110) | 0.5 × |")
    alone = start_table({"`dowse`": {"now": (100.0, 110.0)}})
    assert alone.endswith("| `dowse` | – | 100 (110) | – |")
