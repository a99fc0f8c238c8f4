"""The model that is part of dowse."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from dowse._embed.models import shipped
from dowse._embed.open import models_status, open_embedder, pull, remove
from dowse._embed.options import DEFAULT_MODEL, EmbedOptions
from dowse.errors import UsageError, WeightsMissing

_TEXTS = (
    "Rotate the API keys > Open the console and choose rotate.",
    "A recipe for plum cake",
    "kubectl get pods --all-namespaces",
    "x",
)


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package whose files can be damaged."""
    shutil.copytree(shipped._FOLDER, tmp_path / "weights")
    monkeypatch.setattr(shipped, "_FOLDER", tmp_path / "weights")
    return tmp_path / "weights" / DEFAULT_MODEL


def test_it_needs_no_network(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("It used the network."))
    vector = open_embedder(EmbedOptions(), cache, fetch=False).query("how are backups made")
    assert vector.shape == (384,)
    assert np.linalg.norm(vector) == pytest.approx(1)


def test_int8_is_the_default_and_stays_close_to_single_precision(cache: Path) -> None:
    auto, full = (
        open_embedder(EmbedOptions(precision=precision), cache) for precision in ("auto", "fp32")
    )
    assert "/int8/" in auto.model.key
    cosines = [float(auto.query(text) @ full.query(text)) for text in _TEXTS]
    assert min(cosines) >= 0.97


def test_only_the_graph_is_kept_in_the_cache(cache: Path) -> None:
    open_embedder(EmbedOptions(), cache).query("a")
    kept = [path for path in cache.rglob("*") if path.is_file()]
    assert sorted(path.suffix for path in kept) == [".onnx", ".weights"]


def test_it_is_listed_first_and_can_be_neither_fetched_nor_removed(cache: Path) -> None:
    (status,) = models_status(cache)
    assert (status.name, status.here, status.damaged) == (DEFAULT_MODEL, True, ())
    assert pull(DEFAULT_MODEL, cache) == status
    with pytest.raises(UsageError, match="part of dowse"):
        remove(DEFAULT_MODEL, cache)
    assert not cache.exists()


def test_damaged_weights_are_noticed(copy: Path, cache: Path) -> None:
    weights = copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"?")
    assert models_status(cache)[0].damaged == ("model.safetensors",)
    with pytest.raises(WeightsMissing, match="Install dowse again"):
        open_embedder(EmbedOptions(), cache).query("a")


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_missing_file_is_named(copy: Path, cache: Path, name: str) -> None:
    (copy / name).unlink()
    with pytest.raises(WeightsMissing, match=name):
        open_embedder(EmbedOptions(), cache).query("a")
