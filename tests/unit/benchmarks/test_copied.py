"""Very large indexes of benchmarks are indexes of their folders."""

from __future__ import annotations

from pathlib import Path

from benchmarks.speed.copied import Copies
from benchmarks.speed.recall import growing, vectors_in

from dowse import Dowse
from dowse.testing import HashEmbedder


def test_copies_of_an_index_are_found_and_match_their_files(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in ("heron", "otter", "badger"):
        text = f"# {name}\n\nA {name} lives near still water, where some reeds grow tall.\n"
        (docs / f"{name}.md").write_text(text, "utf-8")
    with Dowse(docs, home=tmp_path / "home", embedder=HashEmbedder()) as project:
        project.index()
        assert Copies(project).store(8) == (8, 8)
        report = project.index()
        assert (report.added, report.changed, report.removed, report.unchanged) == (0, 0, 0, 8)
        found = {hit.document for hit in project.search("otter", n=10, mode="keyword").hits}
        assert found >= {"otter.md", "set-1/otter.md"}  # others may have got the word
    (index,) = (tmp_path / "home").rglob("index")
    assert len(vectors_in([index])) == 8


def test_samples_double_in_number() -> None:
    assert growing(800) == [100, 200, 400, 800]
    assert growing(100) == [50, 100]
