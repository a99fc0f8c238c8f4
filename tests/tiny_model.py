"""Tiny models with random weights, in the files that real ones come in."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from training.onnx_model import write_cross_encoder, write_encoder

from dowse._embed.models import Precision

Family = Literal["bert", "roberta", "distilbert"]

HIDDEN, INNER, HEADS, LAYERS, POSITIONS = 32, 64, 4, 2, 80
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def make_model(folder: Path, family: Family = "bert", *, labels: int = 0, **wanted: Any) -> Path:
    """Writes a model's folder as repositories publish it; with labels it is a cross-encoder."""
    make_source(folder, family, labels=labels, **wanted)
    (folder / "onnx").mkdir(exist_ok=True)
    graphs: dict[Precision, str] = {"fp32": "model.onnx", "int8": "model_int8.onnx"}
    for precision, name in graphs.items():
        graph = folder / "onnx" / name
        if labels:
            write_cross_encoder(folder, graph, precision)
        else:
            write_encoder(folder, graph, "mean", precision)
            _as_published(graph)
    (folder / "model.safetensors").unlink()
    return folder


def make_source(
    folder: Path,
    family: Family = "bert",
    *,
    pooling: str = "mean",
    labels: int = 0,
    seed: int = 0,
    **config: Any,
) -> Path:
    """Writes a model's folder as training leaves it."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = _tokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = _config(family, tokenizer.get_vocab_size(), labels) | config
    _write(folder / "config.json", settings)
    save_file(make_weights(settings, seed), folder / "model.safetensors")
    (folder / "1_Pooling").mkdir(exist_ok=True)
    _write(folder / "1_Pooling" / "config.json", {f"pooling_mode_{pooling}": True})
    _write(folder / "sentence_bert_config.json", {"max_seq_length": 64})
    return folder


def _as_published(path: Path) -> None:
    """Leaves out the vector of the whole text, and takes a mask, as most repositories do."""
    model = onnx.load(path, load_external_data=False)
    del model.graph.output[1:]
    for name in ("attention_mask", "token_type_ids"):
        tensor = onnx.helper.make_tensor_value_info(name, onnx.TensorProto.INT64, ["b", "s"])
        model.graph.input.append(tensor)
    path.write_bytes(model.SerializeToString())


def make_weights(config: dict[str, Any], seed: int) -> dict[str, NDArray[np.float32]]:
    """Random weights under the names that the config's family gives them."""
    shapes = _bert_shapes(config["vocab_size"], config["type_vocab_size"])
    shapes |= _head_shapes(config)
    random = np.random.default_rng(seed)
    weights = {
        name: random.normal(_usual(name), 0.25, shape).astype(np.float32)
        for name, shape in shapes.items()
    }
    if config["model_type"] == "distilbert":
        weights = {
            _distilbert(name): array for name, array in weights.items() if "token_type" not in name
        }
    return weights


def _usual(name: str) -> float:
    return 1.0 if name.endswith("LayerNorm.weight") else 0.0


def _bert_shapes(words: int, types: int) -> dict[str, tuple[int, ...]]:
    tables = {"word": words, "position": POSITIONS, "token_type": types}
    shapes: dict[str, tuple[int, ...]] = {
        f"embeddings.{name}_embeddings.weight": (rows, HIDDEN) for name, rows in tables.items()
    }
    matrices = {
        "attention.self.query": (HIDDEN, HIDDEN),
        "attention.self.key": (HIDDEN, HIDDEN),
        "attention.self.value": (HIDDEN, HIDDEN),
        "attention.output.dense": (HIDDEN, HIDDEN),
        "intermediate.dense": (INNER, HIDDEN),
        "output.dense": (HIDDEN, INNER),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in (f"encoder.layer.{number}" for number in range(LAYERS)):
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
        for name, shape in matrices.items():
            shapes |= {f"{layer}.{name}.weight": shape, f"{layer}.{name}.bias": shape[:1]}
    for norm in norms:
        shapes |= {f"{norm}.weight": (HIDDEN,), f"{norm}.bias": (HIDDEN,)}
    return shapes


def _head_shapes(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    labels = config.get("num_labels", 0)
    if not labels:
        return {}
    inner, outer = "pooler.dense", "classifier"
    if config["model_type"] == "roberta":
        inner, outer = "classifier.dense", "classifier.out_proj"
    return {
        f"{inner}.weight": (HIDDEN, HIDDEN),
        f"{inner}.bias": (HIDDEN,),
        f"{outer}.weight": (labels, HIDDEN),
        f"{outer}.bias": (labels,),
    }


def _distilbert(name: str) -> str:
    for ours, theirs in (
        ("encoder.layer", "transformer.layer"),
        ("attention.self.query", "attention.q_lin"),
        ("attention.self.key", "attention.k_lin"),
        ("attention.self.value", "attention.v_lin"),
        ("attention.output.dense", "attention.out_lin"),
        ("attention.output.LayerNorm", "sa_layer_norm"),
        ("output.LayerNorm", "output_layer_norm"),
        ("intermediate.dense", "ffn.lin1"),
        ("output.dense", "ffn.lin2"),
    ):
        name = name.replace(ours, theirs)
    return f"distilbert.{name}"


def _config(family: Family, words: int, labels: int) -> dict[str, Any]:
    config: dict[str, Any] = {
        "model_type": family,
        "vocab_size": words,
        "max_position_embeddings": POSITIONS,
        "type_vocab_size": 1 if family == "roberta" else 2,
        "layer_norm_eps": 1e-12,
        "pad_token_id": 0,
    }
    if labels:
        config["num_labels"] = labels
    if family == "distilbert":
        return config | {
            "dim": HIDDEN,
            "n_heads": HEADS,
            "n_layers": LAYERS,
            "hidden_dim": INNER,
            "activation": "gelu",
        }
    return config | {
        "hidden_size": HIDDEN,
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "intermediate_size": INNER,
        "hidden_act": "gelu",
    }


def _tokenizer() -> Tokenizer:
    letters = string.ascii_lowercase + string.digits + string.punctuation
    pieces = [*_SPECIAL, *letters, *(f"##{letter}" for letter in letters), "the", "query", "##ing"]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))  # noqa: S106
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")
