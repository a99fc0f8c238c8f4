"""The model that is part of dowse."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from dowse._embed import models
from dowse._embed.open import models_status, open_embedder, pull, remove
from dowse._embed.options import DEFAULT_MODEL, EmbedOptions
from dowse.errors import EmbedError, UsageError, WeightsMissing

_TEXTS = (
    "Rotate the API keys > Open the console and choose rotate.",
    "A recipe for plum cake",
    "kubectl get pods --all-namespaces",
    "x",
)

_ROUNDED = [
    [-0.0695, 0.0206, -0.0208],
    [-0.0392, 0.0362, 0.0579],
    [-0.0881, 0.0549, -0.0357],
    [-0.0583, 0.0664, -0.0338],
]


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package whose files can be damaged."""
    shutil.copytree(models._WEIGHTS, tmp_path / "weights")
    monkeypatch.setattr(models, "_WEIGHTS", tmp_path / "weights")
    return tmp_path / "weights" / DEFAULT_MODEL


def test_it_needs_no_network(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("It used the network."))
    vector = open_embedder(EmbedOptions(), cache, fetch=False).query("how are backups made")
    assert vector.shape == (384,)
    assert np.linalg.norm(vector) == pytest.approx(1)


def test_its_vectors_have_never_changed(cache: Path) -> None:
    embedder = open_embedder(EmbedOptions(), cache)
    assert embedder.model.key == "dowse-docs-2/int8/12c1a33d"
    vectors = [embedder.query(text)[:3] for text in _TEXTS]
    assert np.allclose(vectors, _ROUNDED, atol=1e-4)


def test_it_is_there_in_int8_only(cache: Path) -> None:
    with pytest.raises(EmbedError, match="int8 only"):
        open_embedder(EmbedOptions(precision="fp32"), cache).query("a")


def test_nothing_is_kept_in_the_cache(cache: Path) -> None:
    open_embedder(EmbedOptions(), cache).query("a")
    assert not cache.exists()


def test_it_is_listed_first_and_can_be_neither_fetched_nor_removed(cache: Path) -> None:
    (status,) = models_status(cache)
    assert (status.name, status.here, status.damaged) == (DEFAULT_MODEL, True, ())
    assert pull(DEFAULT_MODEL, cache) == status
    with pytest.raises(UsageError, match="part of dowse"):
        remove(DEFAULT_MODEL, cache)
    assert not cache.exists()


def test_damaged_weights_are_noticed(copy: Path, cache: Path) -> None:
    weights = copy / "model.onnx_data"
    *most, last = weights.read_bytes()
    weights.write_bytes(bytes([*most, last ^ 1]))
    assert models_status(cache)[0].damaged == ("model.onnx_data",)
    with pytest.raises(WeightsMissing, match="Install dowse again"):
        open_embedder(EmbedOptions(), cache).query("a")


@pytest.mark.parametrize("name", ["model.onnx", "model.onnx_data", "tokenizer.json"])
def test_a_missing_file_is_named(copy: Path, cache: Path, name: str) -> None:
    (copy / name).unlink()
    with pytest.raises(WeightsMissing, match=name):
        open_embedder(EmbedOptions(), cache).query("a")
