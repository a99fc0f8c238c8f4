"""`dowse models`, and the command line with a model at work: a tiny one, made on the spot."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from command_line import Dowse
from tiny_model import make_model

DEFAULT = "dowse-docs-2"
MINILM = "all-MiniLM-L6-v2"


@pytest.fixture
def model(home: Path) -> Path:
    return make_model(home / "tiny")


@pytest.fixture
def embedding(model: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user who wants vectors from the tiny model."""
    monkeypatch.setenv("DOWSE_EMBED_PROVIDER", "local")
    monkeypatch.setenv("DOWSE_EMBED_MODEL", str(model))
    return model


def test_the_default_model_is_part_of_dowse(dowse: Dowse) -> None:
    listed = dowse("models", "list").out.split()
    assert (listed[:2], listed[-3:]) == ([DEFAULT, "here"], ["part", "of", "dowse"])
    (only,) = dowse("models", "list", "--json").json["models"]
    assert (only["name"], only["here"]) == (DEFAULT, True)
    assert dowse("models", "pull").out.startswith(f"{DEFAULT} is here: ")
    assert dowse("models", "remove", DEFAULT).code == 2


def test_a_model_comes_and_goes(model: Path, dowse: Dowse) -> None:
    pulled = dowse("models", "pull", "someone/tiny", "--from", model)
    assert pulled.code == 0
    assert pulled.out.startswith("someone/tiny is here: ~/own/cache/models/")
    assert dowse("models", "pull", "someone/tiny", "--from", model, "--json").json["here"] is True
    assert "someone/tiny  here" in dowse("models", "list").out
    assert dowse("models", "remove", "someone/tiny").out == "Removed someone/tiny.\n"
    assert dowse("models", "remove", "someone/tiny").code == 2


def test_a_source_that_is_not_there(home: Path, dowse: Dowse) -> None:
    assert dowse("models", "pull", MINILM, "--from", home / "nowhere").code == 2


def test_doctor_finds_missing_and_damaged_weights(
    model: Path, dowse: Dowse, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOWSE_EMBED_PROVIDER", "local")
    assert dowse("doctor").code == 0
    monkeypatch.setenv("DOWSE_EMBED_MODEL", MINILM)
    missing = dowse("doctor")
    assert missing.code == 1
    assert f"Fix: dowse models pull {MINILM}" in missing.out
    monkeypatch.setenv("DOWSE_EMBED_MODEL", "someone/tiny")
    assert dowse("models", "pull", "someone/tiny", "--from", model).code == 0
    assert dowse("doctor").code == 0
    (weights,) = (home / "own/cache/models").rglob("onnx/model.onnx")
    weights.write_bytes(weights.read_bytes()[:-1])
    damaged = dowse("doctor")
    assert damaged.code == 1
    assert "onnx/model.onnx" in damaged.out
    assert "dowse models pull someone/tiny" in damaged.out
    monkeypatch.setenv("DOWSE_EMBED_MODEL", str(model))
    assert dowse("doctor").code == 0


@pytest.mark.usefixtures("embedding")
def test_from_a_folder_to_a_result_by_meaning(vault: Path, dowse: Dowse) -> None:
    report = dowse("index", vault, "--json").json
    assert report["complete"] is True
    assert report["embedded"] == 4  # the model cannot read the Japanese note
    for mode in ("hybrid", "semantic"):
        hits = dowse("search", "restore", "--mode", mode, "--json").json["hits"]
        assert any(place["strategy"] == "semantic" for hit in hits for place in hit["places"])
    again = dowse("index", vault, "--json").json
    assert (again["embedded"], again["unchanged"]) == (0, 5)
    assert "5 of 5 chunks" in dowse("status").out


@pytest.mark.usefixtures("embedding")
def test_a_keyword_search_loads_no_model(vault: Path, dowse: Dowse) -> None:
    assert dowse("index", vault).code == 0
    program = (
        "import sys; from dowse._interfaces.cli.main import run; code = run(sys.argv[1:]);"
        "sys.exit(code or 'onnxruntime' in sys.modules)"
    )
    line = [sys.executable, "-c", program, "search", "restore"]
    assert subprocess.run([*line, "--mode", "keyword"], check=False).returncode == 0
    assert subprocess.run(line, check=False).returncode == 1


def test_without_weights_dowse_searches_by_words_and_says_so(
    vault: Path, embedding: Path, dowse: Dowse
) -> None:
    assert dowse("index", vault).code == 0
    embedding.rename(embedding.with_name("elsewhere"))
    (vault / "new.md").write_text("# Kites\n\nRestore them in spring.\n", "utf-8")
    result = dowse("index", vault)
    assert result.code == 3
    assert "keyword search only" in result.err
    found = dowse("search", "kites restore")
    assert found.code == 0
    assert "new.md" in found.out
    assert "by words alone" in found.err
    assert dowse("search", "kites", "--mode", "semantic").code == 1
    assert dowse("status").code == 0
    embedding.with_name("elsewhere").rename(embedding)
    assert dowse("index", vault).code == 0
    counts = dowse("status", "--json").json["counts"]
    assert counts["embedded"] == counts["chunks"]


def test_a_new_index_of_a_model_that_is_away_is_one_of_words(
    vault: Path, embedding: Path, dowse: Dowse
) -> None:
    embedding.rename(embedding.with_name("elsewhere"))
    result = dowse("index", vault)
    assert result.code == 3
    assert "keyword search only" in result.err
    assert str(embedding) in result.err
    assert dowse("search", "restore").code == 0
    embedding.with_name("elsewhere").rename(embedding)
    refused = dowse("index", vault)
    assert refused.code == 4
    assert "dowse index --rebuild" in refused.err
    assert dowse("index", vault, "--rebuild").code == 0
    counts = dowse("status", "--json").json["counts"]
    assert counts["embedded"] == counts["chunks"]
