"""Texts in a script that the model cannot read: no vector is made of them, and words find them."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from dowse._model import Model
from dowse._project.engine import Engine
from dowse._search.request import SearchRequest
from dowse.testing import HashEmbedder
from vaults import open_engine

CHINESE = "# 备份\n\n每天晚上进行一次数据库备份, 并且保留三十天。\n"
ENGLISH = "# Backups\n\nEvery night the database is dumped, and kept for thirty days.\n"


class LatinEmbedder(HashEmbedder):
    """Reads Latin letters alone, as models trained on English do."""

    @property
    def model(self) -> Model:
        return replace(super().model, scripts=())


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "zh.md").write_text(CHINESE, "utf-8")
    (folder / "en.md").write_text(ENGLISH, "utf-8")
    return folder


def _indexed(vault: Path, embedder: HashEmbedder) -> Engine:
    engine = open_engine(vault, vault.parent / "index", embedder)
    engine.index()
    return engine


def test_the_model_does_not_see_them(vault: Path) -> None:
    embedder = LatinEmbedder()
    report = open_engine(vault, vault.parent / "index", embedder).index()
    assert (report.unreadable, report.embedded) == (1, 1)
    assert report.complete
    assert all("备份" not in text for text in embedder.texts)


def test_nothing_waits_for_a_vector_afterwards(vault: Path) -> None:
    engine = _indexed(vault, LatinEmbedder())
    counts = engine.status().counts
    assert counts.embedded == counts.chunks == 2
    assert engine.index().unreadable == 0
    assert engine.check() == []


def test_words_find_them_and_meaning_does_not(vault: Path) -> None:
    engine = _indexed(vault, LatinEmbedder())
    assert engine.search(SearchRequest("数据库备份")).hits[0].document == "zh.md"
    near = engine.search(
        SearchRequest("database dumped every night", changes={"search.mode": "semantic"})
    ).hits
    assert [hit.document for hit in near] == ["en.md"]
    assert engine.related("zh.md").similar == ()


def test_a_model_for_all_scripts_reads_them(vault: Path) -> None:
    embedder = HashEmbedder()
    report = open_engine(vault, vault.parent / "index", embedder).index()
    assert (report.unreadable, report.embedded) == (0, 2)
