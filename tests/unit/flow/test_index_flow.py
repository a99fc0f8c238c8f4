"""Every step from a file to the index is a row of INDEX_FLOW, which runs batch by batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dowse._index import pipeline
from dowse._index.pipeline import INDEX_FLOW
from dowse._index.prepare import FileBatch, IndexStage
from dowse._model import Event
from vaults import open_engine

_EACH_BATCH = ["read", "parse", "chunk", "embed", "store"]


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(pipeline, "_FILES", 2)
    folder = tmp_path / "vault"
    folder.mkdir()
    for number in range(5):
        (folder / f"{number}.md").write_text(f"# Note {number}\n\nText {number}.\n", "utf-8")
    return folder


def test_reading_to_storing_are_rows_of_their_own() -> None:
    assert [row.name for row in INDEX_FLOW if row.over in {"files", "batch"}] == _EACH_BATCH


def test_each_row_is_announced_timed_and_counted(vault: Path, tmp_path: Path) -> None:
    events: list[Event] = []
    report = open_engine(vault, tmp_path / "index").index(announce=events.append)
    names = [row.name for row in INDEX_FLOW]
    assert list(dict.fromkeys(event.stage for event in events if event.stage in names)) == names
    assert list(report.seconds) == names
    assert list(report.counts) == names
    counted = {name: report.counts[name] for name in ("scan", *_EACH_BATCH)}
    assert counted == dict.fromkeys(counted, 5)
    assert events[-1].stage == "tidy"
    assert [event.done for event in events if event.stage == "read"] == [0, 2, 4]
    stored = [event for event in events if event.stage == "store"]
    assert (stored[-1].done, stored[-1].total) == (5, 5)


def test_a_batch_passes_all_rows_before_the_next_begins(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, int]] = []

    def watched(row: IndexStage) -> IndexStage:
        def run(work: Any) -> int:
            return noted(row.name, work if row.over == "files" else work.batch) + row.run(work)

        return replace(row, run=run)

    def noted(name: str, batch: FileBatch) -> int:
        seen.append((name, len(batch.sources)))
        return 0

    monkeypatch.setattr(pipeline, "INDEX_FLOW", tuple(map(watched, INDEX_FLOW)))
    open_engine(vault, tmp_path / "index").index()
    expected = [(name, size) for size in (2, 2, 1) for name in _EACH_BATCH]
    assert seen[1 : 1 + len(expected)] == expected


def test_a_row_is_the_only_place_to_change(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shout(batch: FileBatch) -> int:
        batch.texts = [
            file._replace(text=replace(file.text, text=file.text.text.upper()))
            for file in batch.texts
        ]
        return len(batch.texts)

    at = [row.name for row in INDEX_FLOW].index("parse")
    rows = (*INDEX_FLOW[:at], IndexStage("shout", shout, over="files"), *INDEX_FLOW[at:])
    monkeypatch.setattr(pipeline, "INDEX_FLOW", rows)
    engine = open_engine(vault, tmp_path / "index")
    assert engine.index().counts["shout"] == 5
    assert engine.get("3.md").text == "# NOTE 3\n\nTEXT 3."


def test_a_changed_title_embeds_the_chunks_again(tmp_path: Path) -> None:
    note = tmp_path / "vault" / "note.md"
    note.parent.mkdir()
    note.write_text("---\ntitle: Pumps\n---\nOpen the valve first.\n", "utf-8")
    engine = open_engine(note.parent, tmp_path / "index")
    engine.index()
    note.write_text("---\ntitle: Pumps and valves\n---\nOpen the valve first.\n", "utf-8")
    assert engine.index().embedded == 1
