"""Any sequence of edits gives the same index as a fresh build, and costs no more than it must."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse._model import Model
from dowse._project.engine import Engine
from dowse._search.request import SearchRequest
from dowse.errors import StampMismatch, WeightsMissing
from dowse.testing import HashEmbedder, NoEmbedder
from effort import examples
from index_content import content, keyword_scores
from vaults import note, open_engine, write_vault


def _content(engine: Engine) -> dict[str, object]:
    with engine.parts.store.read() as reading:
        return content(reading)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    write_vault(folder, 20)
    for path in folder.rglob("*.md"):
        os.utime(path, (1_700_000_000, 1_700_000_000))  # long settled, so that stat can be trusted
    return folder


def _edits() -> st.SearchStrategy[list[tuple[str, int, int]]]:
    kinds = ["write", "append", "delete", "rename", "alias", "touch", "folder", "index"]
    return st.lists(
        st.tuples(st.sampled_from(kinds), st.integers(0, 9), st.integers(0, 9)), max_size=14
    )


def _edit(folder: Path, kind: str, number: int, other: int) -> None:
    path = folder / f"sub-{number % 3}" / f"note-{number}.md"
    if kind == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(note(number, 10, random.Random(other)), "utf-8")
    elif not path.exists():
        return
    elif kind == "append":
        path.write_text(
            path.read_text("utf-8") + f"\nMore of {other}: [[note-{other}]].\n", "utf-8"
        )
    elif kind == "delete":
        path.unlink()
    elif kind == "rename":
        path.rename(path.with_name(f"note-{other}.md"))
    elif kind == "alias":
        path.write_text(
            f"---\naliases: [n{other}, note-{other}]\n---\nAlias of {other}.\n", "utf-8"
        )
    elif kind == "touch":
        os.utime(path, (1_600_000_000 + other, 1_600_000_000 + other))
    elif kind == "folder":
        shutil.rmtree(path.parent)


@examples(12, 30)
@given(_edits())
def test_any_sequence_of_edits_gives_the_index_of_a_fresh_build(
    edits: list[tuple[str, int, int]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder, "vault")
        vault.mkdir()
        with open_engine(vault, Path(folder, "grown")) as grown:
            grown.index()
            for kind, number, other in edits:
                if kind == "index":
                    grown.index()
                else:
                    _edit(vault, kind, number, other)
            grown.index()
            assert grown.check() == []
            with open_engine(vault, Path(folder, "fresh")) as fresh:
                fresh.index()
                assert _content(grown) == _content(fresh)


@examples(6, 12)
@given(_edits())
def test_any_sequence_of_edits_scores_like_a_fresh_build(
    edits: list[tuple[str, int, int]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder, "vault")
        for number in range(10):
            _edit(vault, "write", number, number)
        with open_engine(vault, Path(folder, "grown")) as grown:
            grown.index()
            for kind, number, other in edits:
                if kind == "index":
                    grown.index()
                else:
                    _edit(vault, kind, number, other)
            grown.index()
            with open_engine(vault, Path(folder, "fresh")) as fresh:
                fresh.index()
                assert _scores(grown) == _scores(fresh)
                assert _hits(grown) == _hits(fresh)


def _scores(engine: Engine) -> dict[str, object]:
    with engine.parts.store.read() as reading:
        return keyword_scores(reading)


def _hits(engine: Engine) -> list[object]:
    """Hits with their scores; equal scores by name, since keys depend on history."""
    asked = ("gateway station", "battery drift error", "note 3", "restore backup")
    return [
        sorted(
            (-round(hit.score, 5), hit.document, hit.id)
            for hit in engine.search(SearchRequest(query)).hits
        )
        for query in asked
    ]


def test_a_large_index_is_tidied_once_enough_of_it_was_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dowse._store.keyword._FEW", 0)
    vault = tmp_path / "vault"
    write_vault(vault, 60)
    with open_engine(vault, tmp_path / "grown") as grown:
        grown.index()
        notes = sorted(vault.rglob("*.md"))
        notes[0].unlink()
        grown.index()  # too little was deleted to make up for the work
        with open_engine(vault, tmp_path / "before") as fresh:
            fresh.index()
            assert _scores(grown) != _scores(fresh)
        with grown.parts.store.write() as writing:
            writing.tidy(10_000, thorough=True)
        with open_engine(vault, tmp_path / "before") as fresh:
            assert _scores(grown) == _scores(fresh)
        for note_ in notes[1:7]:
            note_.unlink()
        grown.index()
        with open_engine(vault, tmp_path / "after") as fresh:
            fresh.index()
            assert _scores(grown) == _scores(fresh)


def test_unchanged_files_are_not_read_and_nothing_is_embedded(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = HashEmbedder()
    engine = open_engine(vault, tmp_path / "index", embedder)
    assert engine.index().added == 20
    embedder.texts.clear()
    monkeypatch.setattr("dowse._index.prepare.load", _must_not_be_called)
    report = engine.index()
    assert (report.unchanged, report.added, report.changed, report.removed) == (20, 0, 0, 0)
    assert embedder.texts == []
    assert report.embedded == 0


def _must_not_be_called(*_: object) -> object:
    raise AssertionError("A file was read although its directory entry had not changed.")


def test_an_edited_paragraph_embeds_only_its_own_chunks(vault: Path, tmp_path: Path) -> None:
    embedder = HashEmbedder()
    engine = open_engine(vault, tmp_path / "index", embedder)
    long = vault / "long.md"
    parts = [f"## Part {n}\n\n" + f"Sentence of part {n}. " * 60 for n in range(12)]
    long.write_text("# Long\n\n" + "\n\n".join(parts), "utf-8")
    engine.index()
    with engine.parts.store.read() as reading:
        before = reading.catalogue.counts().chunks
    embedder.texts.clear()
    long.write_text(long.read_text("utf-8").replace("part 5.", "part five.", 1), "utf-8")
    report = engine.index()
    assert report.changed == 1
    assert before > 12
    assert [text for text in embedder.texts if " " in text] != []
    assert all("part five" in text for text in embedder.texts if " " in text)


def test_touching_a_file_reads_it_once_and_embeds_nothing(vault: Path, tmp_path: Path) -> None:
    embedder = HashEmbedder()
    engine = open_engine(vault, tmp_path / "index", embedder)
    engine.index()
    embedder.texts.clear()
    touched = next(vault.rglob("*.md"))
    os.utime(touched, (1_650_000_000, 1_650_000_000))
    report = engine.index()
    assert (report.changed, report.embedded, embedder.texts) == (0, 0, [])
    assert engine.index().unchanged == 20


def test_a_renamed_file_keeps_its_vectors_and_its_links(vault: Path, tmp_path: Path) -> None:
    embedder = HashEmbedder()
    engine = open_engine(vault, tmp_path / "index", embedder)
    (vault / "target.md").write_text("# Target\n\nWhere links lead.\n", "utf-8")
    (vault / "source.md").write_text("See [[target]].\n", "utf-8")
    engine.index()
    embedder.texts.clear()
    (vault / "target.md").rename(vault / "part-0" / "target.md")
    report = engine.index()
    assert (report.added, report.removed, embedder.texts) == (1, 1, [])
    with engine.parts.store.read() as reading:
        leads = {
            edge.source: edge.target for edge in reading.links.all() if edge.source == "source.md"
        }
        assert leads == {"source.md": "part-0/target.md"}
        assert reading.catalogue.document("target.md") is None


def test_a_folder_that_cannot_be_seen_empties_no_index(vault: Path, tmp_path: Path) -> None:
    engine = open_engine(vault, tmp_path / "index")
    engine.index()
    vault.rename(tmp_path / "unmounted")
    report = engine.index()
    assert report.removed == 0
    assert [item.whole for item in report.left_out] == [True]
    assert len(engine.documents()) == 20


def test_chunks_stored_without_weights_get_their_vectors_later(vault: Path, tmp_path: Path) -> None:
    without = open_engine(vault, tmp_path / "index", NoEmbedder())
    report = without.index()
    assert report.added == 20
    assert not report.complete
    assert "models pull" in report.notices[0]
    hits = without.search(SearchRequest("gateway station")).hits
    assert hits
    assert {place.strategy for hit in hits for place in hit.trace.places} == {"keyword"}
    without.close()
    with_weights = open_engine(vault, tmp_path / "index", HashEmbedder())
    assert with_weights.index().unchanged == 20
    fresh = open_engine(vault, tmp_path / "fresh", HashEmbedder())
    fresh.index()
    assert _content(with_weights) == _content(fresh)


class _Unknown(HashEmbedder):
    """An embedder of which the model cannot be told, as when the hub is out of reach."""

    @property
    def model(self) -> Model:
        raise WeightsMissing("The model is not here.", "Fetch it with: dowse models pull")


def test_a_model_that_is_unknown_hinders_no_keyword_search(vault: Path, tmp_path: Path) -> None:
    without = open_engine(vault, tmp_path / "index", _Unknown())
    for added in (20, 0):
        report = without.index()
        assert (report.added, report.complete) == (added, False)
        assert "models pull" in report.notices[0]
    response = without.search(SearchRequest("gateway station"))
    assert response.hits
    assert "dowse index --rebuild" in response.notices[0]
    without.close()
    with open_engine(vault, tmp_path / "index", HashEmbedder()) as known:
        with pytest.raises(StampMismatch, match="dowse index --rebuild"):
            known.index()
        assert known.index(rebuild=True).complete
        assert known.status().counts.embedded


def test_an_empty_index_takes_new_settings(vault: Path, tmp_path: Path) -> None:
    with open_engine(vault, tmp_path / "index", _Unknown()) as without:
        without.reset()
    with open_engine(vault, tmp_path / "index", HashEmbedder()) as known:
        assert known.index().complete


def test_what_was_embedded_before_an_interrupt_is_kept(vault: Path, tmp_path: Path) -> None:
    class Interrupted(HashEmbedder):
        def passages(self, texts):  # type: ignore[no-untyped-def]
            for batch in super().passages(texts):
                yield batch
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_engine(vault, tmp_path / "index", Interrupted()).index()
    embedder = HashEmbedder()
    engine = open_engine(vault, tmp_path / "index", embedder)
    assert engine.check() == []
    engine.index()
    fresh = HashEmbedder()
    open_engine(vault, tmp_path / "fresh", fresh).index()
    assert len(embedder.texts) == len(fresh.texts) - 16


def test_partial_paths_touch_nothing_else(vault: Path, tmp_path: Path) -> None:
    engine = open_engine(vault, tmp_path / "index")
    engine.index()
    gone, changed = vault / "part-0" / "note-0.md", vault / "part-1" / "note-1.md"
    gone.unlink()
    changed.write_text("Changed.\n", "utf-8")
    report = engine.index([vault / "part-1"])
    assert (report.changed, report.removed) == (1, 0)
    report = engine.index([gone])
    assert (report.changed, report.removed) == (0, 1)
