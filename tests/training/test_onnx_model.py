"""The graphs against a plain forward pass in double precision, written from the papers."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from training.onnx_model import (
    canonical_name,
    read_architecture,
    read_tensors,
    write_cross_encoder,
    write_encoder,
)

from dowse._embed import models
from dowse._embed.models import Pooling
from dowse._embed.open import Session
from dowse.errors import EmbedError
from tiny_model import HEADS, HIDDEN, LAYERS, Family, make_source

Array = NDArray[np.float64]

WEIGHTS = Path(__file__).parents[2] / "training" / "weights"
IDS = [2, 17, 40, 5, 63, 8, 8, 3]
TYPES = [0, 0, 0, 0, 1, 1, 1, 1]


class PlainBert:
    """BERT, one text at a time."""

    def __init__(self, folder: Path, *, first_position: int = 0, activation: str = "gelu") -> None:
        weights = load_file(folder / "model.safetensors")
        self._weights = {canonical_name(n): a.astype(np.float64) for n, a in weights.items()}
        self._first_position = first_position
        self._activation = activation

    def tokens(self, ids: list[int], types: list[int]) -> Array:
        value = self._table("word")[ids]
        value = value + self._table("position")[self._first_position :][: len(ids)]
        if "embeddings.token_type_embeddings.weight" in self._weights:
            value = value + self._table("token_type")[types]
        value = self._norm("embeddings.LayerNorm", value)
        for layer in (f"encoder.layer.{number}" for number in range(LAYERS)):
            attended = self.linear(f"{layer}.attention.output.dense", self._attend(layer, value))
            value = self._norm(f"{layer}.attention.output.LayerNorm", value + attended)
            inner = self._activate(self.linear(f"{layer}.intermediate.dense", value))
            outer = self.linear(f"{layer}.output.dense", inner)
            value = self._norm(f"{layer}.output.LayerNorm", value + outer)
        return value

    def linear(self, name: str, value: Array) -> Array:
        return value @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _table(self, name: str) -> Array:
        return self._weights[f"embeddings.{name}_embeddings.weight"]

    def _attend(self, layer: str, value: Array) -> Array:
        parts = [
            self.linear(f"{layer}.attention.self.{p}", value) for p in ("query", "key", "value")
        ]
        query, key, content = (part.reshape(len(value), HEADS, -1).swapaxes(0, 1) for part in parts)
        scores = query @ key.swapaxes(1, 2) / math.sqrt(HIDDEN / HEADS)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        attended: Array = (weights @ content).swapaxes(0, 1).reshape(len(value), HIDDEN)
        return attended

    def _norm(self, name: str, value: Array) -> Array:
        value = value - value.mean(-1, keepdims=True)
        value = value / np.sqrt((value**2).mean(-1, keepdims=True) + 1e-12)
        scaled: Array = value * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return scaled

    def _activate(self, value: Array) -> Array:
        gate: Array = np.vectorize(math.erf)(value / math.sqrt(2))
        if self._activation == "relu":
            gate = np.sign(value)
        elif self._activation == "gelu_new":
            gate = np.tanh(math.sqrt(2 / math.pi) * (value + 0.044715 * value**3))
        return value / 2 * (1 + gate)


def encode(folder: Path, pooling: Pooling = "mean", precision: Any = "fp32") -> Session:
    write_encoder(folder, folder / "model.onnx", pooling, precision)
    return opened(folder / "model.onnx")


def opened(graph: Path) -> Session:
    return Session(graph, "mean", is_fused=True)


@pytest.mark.parametrize(
    ("family", "first_position"), [("bert", 0), ("roberta", 1), ("distilbert", 0)]
)
def test_token_vectors_of_every_family(tmp_path: Path, family: Family, first_position: int) -> None:
    folder = make_source(tmp_path, family)
    tokens = encode(folder).tokens(IDS)
    expected = PlainBert(folder, first_position=first_position).tokens(IDS, [0] * len(IDS))
    assert np.allclose(tokens, expected, atol=1e-4)


@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "relu"])
def test_activations(tmp_path: Path, activation: str) -> None:
    folder = make_source(tmp_path, hidden_act=activation)
    tokens = encode(folder).tokens(IDS)
    expected = PlainBert(folder, activation=activation).tokens(IDS, [0] * len(IDS))
    assert np.allclose(tokens, expected, atol=1e-4)


def test_the_two_gelus_are_distinguished(tmp_path: Path) -> None:
    exact = encode(make_source(tmp_path / "a", hidden_act="gelu")).tokens(IDS)
    bent = encode(make_source(tmp_path / "b", hidden_act="gelu_new")).tokens(IDS)
    assert 0 < np.abs(exact - bent).max() < 0.1


def test_pooling_takes_the_mean_or_the_first_token(tmp_path: Path) -> None:
    folder = make_source(tmp_path)
    expected = PlainBert(folder).tokens(IDS, [0] * len(IDS))
    mean = encode(folder, "mean").vector(IDS)
    first = encode(folder, "cls").vector(IDS)
    assert mean.shape == first.shape == (HIDDEN,)
    assert np.allclose(mean, expected.mean(0), atol=1e-4)
    assert np.allclose(first, expected[0], atol=1e-4)


@pytest.mark.parametrize("length", [1, 2, 3, 80])
def test_every_length_up_to_the_table_of_positions(tmp_path: Path, length: int) -> None:
    folder = make_source(tmp_path)
    ids = [5 + number % 50 for number in range(length)]
    tokens = encode(folder).tokens(ids)
    assert np.allclose(tokens, PlainBert(folder).tokens(ids, [0] * length), atol=1e-4)


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"])
def test_int8_stays_close(tmp_path: Path, family: Family) -> None:
    folder = make_source(tmp_path, family)
    exact = encode(folder).vector(IDS)
    rounded = encode(folder, precision="int8").vector(IDS)
    cosine = exact @ rounded / np.linalg.norm(exact) / np.linalg.norm(rounded)
    assert 0.97 < cosine < 1


def test_int8_survives_a_row_of_zeros(tmp_path: Path) -> None:
    folder = make_source(tmp_path)
    weights = load_file(folder / "model.safetensors")
    weights["encoder.layer.0.output.dense.weight"][3] = 0
    save_file(weights, folder / "model.safetensors")
    assert np.isfinite(encode(folder, precision="int8").vector(IDS)).all()


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize(
    ("family", "head", "labels"),
    [
        ("bert", ("pooler.dense", "classifier"), 1),
        ("bert", ("pooler.dense", "classifier"), 3),
        ("roberta", ("classifier.dense", "classifier.out_proj"), 1),
    ],
)
def test_cross_encoder(
    tmp_path: Path, family: Family, head: tuple[str, str], labels: int, precision: Any
) -> None:
    folder = make_source(tmp_path, family, labels=labels)
    write_cross_encoder(folder, folder / "model.onnx", precision)
    types = TYPES if family == "bert" else [0] * len(IDS)
    logits = opened(folder / "model.onnx").logits(IDS, types)
    plain = PlainBert(folder, first_position=1 if family == "roberta" else 0)
    inner = np.tanh(plain.linear(head[0], plain.tokens(IDS, types)[0]))
    expected = plain.linear(head[1], inner)
    assert logits.shape == (labels,)
    assert np.allclose(logits, expected, atol=1e-4 if precision == "fp32" else 0.5)


@pytest.mark.parametrize("prefix", ["bert.", "model.", "0.auto_model."])
def test_weights_under_other_names(tmp_path: Path, prefix: str) -> None:
    folder = make_source(tmp_path)
    expected = encode(folder).vector(IDS)
    weights = load_file(folder / "model.safetensors")
    renamed = {
        prefix
        + name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): array
        for name, array in weights.items()
    }
    numbers = {"embeddings.position_ids": np.arange(80)[None]}
    save_file(renamed | numbers, folder / "model.safetensors")
    assert np.array_equal(encode(folder).vector(IDS), expected)


def test_half_precision_weights(tmp_path: Path) -> None:
    folder = make_source(tmp_path)
    expected = encode(folder).vector(IDS)
    weights = load_file(folder / "model.safetensors")
    halves = {name: array.astype(np.float16) for name, array in weights.items()}
    save_file(halves, folder / "model.safetensors")
    assert np.allclose(encode(folder).vector(IDS), expected, atol=0.05)


def test_rows_of_small_integers_with_their_scales(tmp_path: Path) -> None:
    folder = make_source(tmp_path)
    packed: dict[str, Any] = {}
    for name, array in load_file(folder / "model.safetensors").items():
        if array.ndim == 2:
            scale = np.abs(array).max(axis=1, keepdims=True) / 127
            packed |= {name: np.rint(array / scale).astype(np.int8), f"{name}.scale": scale}
        else:
            packed[name] = array.astype(np.float16)
    save_file(packed, folder / "model.safetensors")
    tokens = encode(folder).tokens(IDS)
    unpacked = {
        name: array * packed.get(f"{name}.scale", np.float32(1))
        for name, array in packed.items()
        if not name.endswith(".scale")
    }
    save_file(unpacked, folder / "model.safetensors")
    assert np.allclose(tokens, PlainBert(folder).tokens(IDS, [0] * len(IDS)), atol=1e-4)


def test_bfloat16_weights(tmp_path: Path) -> None:
    header = json.dumps({"a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}).encode()
    upper_halves = np.array([1.5, -2.0], dtype="<f4").view("<u2")[1::2]
    content = len(header).to_bytes(8, "little") + header + upper_halves.tobytes()
    (tmp_path / "model.safetensors").write_bytes(content)
    assert read_tensors(tmp_path / "model.safetensors")["a"].tolist() == [1.5, -2.0]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"model_type": "mpnet"}, "type 'mpnet'"),
        ({"position_embedding_type": "relative_key"}, "relative positions"),
        ({"hidden_act": "swish"}, "activation 'swish'"),
        ({"num_hidden_layers": "many"}, "config.json"),
        ({"num_hidden_layers": None}, "config.json"),
        ({"num_hidden_layers": 10**9}, "layers is 1,000,000,000"),
        ({"num_attention_heads": 0}, "heads is 0"),
        ({"num_attention_heads": 5}, "5 heads cannot share vectors of 32"),
        ({"hidden_size": 1e9}, "hidden is 1,000,000,000"),
        ({"hidden_size": -32}, "hidden is -32"),
        ({"max_position_embeddings": 0}, "positions is 0"),
        ({"layer_norm_eps": float("nan")}, "norm_epsilon is nan"),
        ({"num_labels": -1}, "labels is -1"),
    ],
)
def test_a_model_that_cannot_run_is_refused_with_the_reason(
    tmp_path: Path, config: dict[str, Any], said: str
) -> None:
    folder = make_source(tmp_path)
    changed = json.loads((folder / "config.json").read_text()) | config
    (folder / "config.json").write_text(json.dumps(changed))
    with pytest.raises(EmbedError, match=said):
        read_architecture(folder)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe"])
def test_a_garbled_config_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(EmbedError, match=r"config\.json"):
        read_architecture(tmp_path)


@pytest.mark.parametrize("content", [b"", b"\xff" * 100, b"\x08" + b"\x00" * 7 + b"{}      "])
def test_garbled_weights_are_named(tmp_path: Path, content: bytes) -> None:
    folder = make_source(tmp_path)
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(EmbedError, match=r"model\.safetensors|no tensor"):
        encode(folder)


def test_weights_of_another_model_are_named(tmp_path: Path) -> None:
    folder = make_source(tmp_path, num_hidden_layers=3)
    with pytest.raises(EmbedError, match=r"no tensor 'encoder\.layer\.2"):
        encode(folder)


def test_the_graph_in_the_wheel_is_made_of_the_weights_that_are_kept_here(tmp_path: Path) -> None:
    name = "dowse-docs-2"
    write_encoder(WEIGHTS / name, tmp_path / "model.onnx", "cls", "int8")
    for file in ("model.onnx", "model.onnx_data"):
        assert (tmp_path / file).read_bytes() == (models._WEIGHTS / name / file).read_bytes()
    digest = hashlib.sha256((WEIGHTS / name / "model.safetensors").read_bytes()).hexdigest()
    assert digest == models.SHIPPED_WEIGHTS
