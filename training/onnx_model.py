"""Weights of an encoder of the BERT family → its ONNX graph, as dowse loads it.

    python -m training.onnx_model FOLDER OUT [--precision int8|fp32] [--pooling mean|cls] [--scores]

FOLDER has config.json, model.safetensors and tokenizer.json. OUT gets the graph in model.onnx, its
large constants in model.onnx_data, which onnxruntime maps into memory, and the tokenizer.

The graphs take texts without padding, so they need no attention mask: a text's vector cannot
depend on how long its neighbours are. Transformer blocks are those of BERT (arXiv:1810.04805).
"""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias, get_args

import numpy as np
import onnx
from msgspec import Struct
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnx.external_data_helper import set_external_data

from dowse._embed.models import Pooling, read_json
from dowse.errors import EmbedError

# ── config.json ────────────────────────────────────────────────────────────────

Activation = Literal["Gelu", "FastGelu", "Relu"]
"""The onnxruntime operator between the two layers of a feed-forward block."""

_ACTIVATIONS: dict[str, Activation] = {
    "gelu": "Gelu",
    "gelu_python": "Gelu",
    "gelu_new": "FastGelu",
    "gelu_fast": "FastGelu",
    "gelu_pytorch_tanh": "FastGelu",
    "relu": "Relu",
}
_BERT = frozenset({"bert"})
_ROBERTA = frozenset({"roberta", "xlm-roberta", "camembert"})
_DISTILBERT = frozenset({"distilbert"})
_POSSIBLE: Mapping[str, tuple[float, float]] = {  # far beyond every encoder that is published
    "layers": (1, 1_000),
    "heads": (1, 1_000),
    "hidden": (1, 65_536),
    "norm_epsilon": (0, 1),
    "positions": (3, 1_000_000),  # both ends of a text have a token
    "labels": (1, 100_000),
}
_FETCH_AGAIN = "Fetch the model's files again, or choose another model."
_USE_ANOTHER = "Choose a model of the BERT, RoBERTa or DistilBERT family, or use an endpoint."

# DistilBERT's names for what BERT has too; and what the earliest exports called the two norms.
_RENAMED = (
    (r"^(?:0\.auto_model\.|model\.)", ""),
    (r"^(?:bert|roberta|distilbert)\.", ""),
    (r"^transformer\.layer\.", "encoder.layer."),
    (r"attention\.q_lin\.", "attention.self.query."),
    (r"attention\.k_lin\.", "attention.self.key."),
    (r"attention\.v_lin\.", "attention.self.value."),
    (r"attention\.out_lin\.", "attention.output.dense."),
    (r"sa_layer_norm\.", "attention.output.LayerNorm."),
    (r"ffn\.lin1\.", "intermediate.dense."),
    (r"ffn\.lin2\.", "output.dense."),
    (r"output_layer_norm\.", "output.LayerNorm."),
    (r"\.gamma$", ".weight"),
    (r"\.beta$", ".bias"),
)


class Architecture(Struct, frozen=True):
    """The shape of an encoder."""

    layers: int
    heads: int
    hidden: int  # width of a token vector
    norm_epsilon: float
    activation: Activation
    first_position: int  # the row of the position table that the first token takes
    positions: int  # how many tokens the position table serves
    labels: int  # outputs of a classification head


def read_architecture(folder: Path) -> Architecture:
    """The architecture that a model folder's config.json describes."""
    config = read_json(folder / "config.json")
    family = str(config.get("model_type", "")).lower()
    if family not in _BERT | _ROBERTA | _DISTILBERT:
        raise EmbedError(f"dowse cannot run models of the type {family!r}.", _USE_ANOTHER)
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise EmbedError("dowse cannot run models with relative positions.", _USE_ANOTHER)
    try:
        found = _distilbert(config) if family in _DISTILBERT else _bert(config, family)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise EmbedError(f"{folder / 'config.json'} lacks or garbles {error}.") from error
    for name, (least, most) in _POSSIBLE.items():
        if not least <= getattr(found, name) <= most:
            raise EmbedError(
                f"{folder / 'config.json'} describes an impossible model: {name} is "
                f"{getattr(found, name):,}, and must be from {least:,} to {most:,}.",
                _FETCH_AGAIN,
            )
    if found.hidden % found.heads:
        raise EmbedError(
            f"{folder / 'config.json'} describes an impossible model: {found.heads} heads cannot "
            f"share vectors of {found.hidden} numbers.",
            _FETCH_AGAIN,
        )
    return found


def canonical_name(tensor: str) -> str:
    """The name that BERT gives to the same tensor."""
    for pattern, replacement in _RENAMED:
        tensor = re.sub(pattern, replacement, tensor)
    return tensor


def _bert(config: Mapping[str, Any], family: str) -> Architecture:
    # RoBERTa numbers positions from the padding token's id onwards.
    first = int(config.get("pad_token_id", 1)) + 1 if family in _ROBERTA else 0
    return Architecture(
        layers=int(config["num_hidden_layers"]),
        heads=int(config["num_attention_heads"]),
        hidden=int(config["hidden_size"]),
        norm_epsilon=float(config.get("layer_norm_eps", 1e-12)),
        activation=_activation(str(config.get("hidden_act", "gelu"))),
        first_position=first,
        positions=int(config["max_position_embeddings"]) - first,
        labels=_labels(config),
    )


def _distilbert(config: Mapping[str, Any]) -> Architecture:
    return Architecture(
        layers=int(config["n_layers"]),
        heads=int(config["n_heads"]),
        hidden=int(config["dim"]),
        norm_epsilon=1e-12,
        activation=_activation(str(config.get("activation", "gelu"))),
        first_position=0,
        positions=int(config["max_position_embeddings"]),
        labels=_labels(config),
    )


def _activation(name: str) -> Activation:
    if name not in _ACTIVATIONS:
        raise EmbedError(f"dowse does not know the activation {name!r}.", _USE_ANOTHER)
    return _ACTIVATIONS[name]


def _labels(config: Mapping[str, Any]) -> int:
    return int(config.get("num_labels") or len(config.get("id2label") or ()) or 2)


# ── model.safetensors ──────────────────────────────────────────────────────────

Array: TypeAlias = "NDArray[np.float32]"
"""A weight, always computed with in single precision."""

_SCALE = ".scale"  # next to a matrix of small integers: the factor of each row


class Tensors:
    """The weights of a model, by name."""

    def __init__(
        self, arrays: Mapping[str, Array], packed: Mapping[str, tuple[NDArray[np.int8], Array]]
    ) -> None:
        self._arrays = arrays
        self.packed = packed  # matrices that are stored as bytes, and the factor of each row

    def __getitem__(self, name: str) -> Array:
        try:
            return self._arrays[name]
        except KeyError:
            raise EmbedError(
                f"The weights have no tensor {name!r}.",
                "They do not belong to this config.json, or to no encoder of the BERT family.",
            ) from None

    def __contains__(self, name: str) -> bool:
        return name in self._arrays


def read_tensors(path: Path) -> Tensors:
    """The weights in a safetensors file, whatever precision they are stored in."""
    import ml_dtypes  # noqa: F401, PLC0415  (teaches numpy bfloat16; needed only while building)
    from safetensors import SafetensorError, safe_open  # noqa: PLC0415  (as above)

    try:
        with safe_open(path, "numpy") as file:
            stored = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (no mapping)
            return _in_single_precision(stored)
    except (OSError, SafetensorError, ValueError, TypeError) as error:
        raise EmbedError(f"{path} cannot be read: {error}.") from error


def _in_single_precision(stored: Mapping[str, NDArray[Any]]) -> Tensors:
    arrays: dict[str, Array] = {}
    packed = {}
    for name, tensor in stored.items():
        scale = stored.get(name + _SCALE)
        if np.issubdtype(tensor.dtype, np.integer) and scale is None:
            continue  # position numbers, which old exports store
        if name.removesuffix(_SCALE) in stored and name.endswith(_SCALE):
            continue
        array = np.asarray(tensor, dtype=np.float32)
        if scale is not None:
            packed[canonical_name(name)] = (tensor, np.asarray(scale, np.float32))
            array = array * scale
        arrays[canonical_name(name)] = array
    return Tensors(arrays, packed)


# ── The graph ──────────────────────────────────────────────────────────────────

Precision = Literal["int8", "fp32"]
"""How weights are stored and multiplied: as bytes with scales, or in single precision."""

MICROSOFT = "com.microsoft"
"""The domain of onnxruntime's fused operators."""

# Without VNNI, x86 adds two products of a byte (0…255) and a weight in 16 bits and clips the sum.
# At ±64 no sum can reach the limit: 2 · 255 · 64 < 32,768, so every processor counts alike.
_LARGEST_WEIGHT = 64

_OPSET = 18
_IR_VERSION = 9
_SMALL = 1024  # bytes; larger constants are in a file of their own
_PAGE = 4096  # bytes; constants in that file begin where pages of memory do


class GraphWriter:
    """Collects the nodes and constants of a graph; values are known by name."""

    def __init__(self, precision: Precision) -> None:
        self._precision = precision
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, NDArray[Any]] = {}

    def constant(self, name: str, value: NDArray[Any]) -> str:
        """Add a constant; writing the same name twice keeps the first."""
        self._constants.setdefault(name, value)
        return name

    def node(self, operator: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Add an operator with one output, and return that."""
        return self.nodes(operator, inputs, 1, **attributes)[0]

    def nodes(
        self, operator: str, inputs: Sequence[str], outputs: int, **attributes: Any
    ) -> list[str]:
        """Add an operator with several outputs, and return them."""
        names = [f"{operator}_{len(self._nodes)}_{number}" for number in range(outputs)]
        self._nodes.append(helper.make_node(operator, inputs, names, **attributes))
        return names

    def linear(self, name: str, value: str, weight: Array, bias: Array) -> str:
        """Add `value · weightᵀ + bias`, with the weights in the precision of this graph."""
        if self._precision == "fp32":
            product = self.node("MatMul", [value, self.constant(f"{name}.weight", weight.T)])
            return self.node("Add", [product, self.constant(f"{name}.bias", bias)])
        rounded, scales = quantize_rows(weight)
        inputs = [
            value,
            self.constant(f"{name}.weight", rounded.T),
            self.constant(f"{name}.scale", scales),
            "",
            self.constant(f"{name}.bias", bias),
        ]
        return self.node("DynamicQuantizeMatMul", inputs, domain=MICROSOFT)

    def lookup(self, name: str, tensors: Tensors, tensor: str, ids: str) -> str:
        """Add the rows of a table that the ids name.

        Half precision is plenty next to int8 products. Rows that are stored as bytes stay so: they
        become halves when they are read, and the file is half as large.
        """
        if self._precision == "fp32":
            return self.node("Gather", [self.constant(name, tensors[tensor]), ids])
        if tensor in tensors.packed:
            table, scale = tensors.packed[tensor]
            rows = self.node("Gather", [self.constant(name, table), ids])
            scales = self.node("Gather", [self.constant(f"{name}.scale", scale), ids])
            exact = self.node("Mul", [self.node("Cast", [rows], to=TensorProto.FLOAT), scales])
            rows = self.node("Cast", [exact], to=TensorProto.FLOAT16)
        else:
            table = tensors[tensor].astype(np.float16)
            rows = self.node("Gather", [self.constant(name, table), ids])
        return self.node("Cast", [rows], to=TensorProto.FLOAT)

    def write(
        self,
        path: Path,
        inputs: Sequence[str],
        outputs: Mapping[str, tuple[str, Sequence[str | int]]],
    ) -> None:
        """Write the graph, and its large constants next to it.

        Inputs are token numbers, outputs floats. Each output has a name for callers, the value it
        shows and that value's shape.
        """
        shown = [helper.make_node("Identity", [one], [name]) for name, (one, _) in outputs.items()]
        data = path.with_name(f"{path.name}_data")
        with data.open("wb") as file:
            constants = [_constant(name, value, file) for name, value in self._constants.items()]
        graph = helper.make_graph(
            [*self._nodes, *shown],
            "dowse",
            [helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "s"]) for name in inputs],
            [
                helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))
                for name, (_, shape) in outputs.items()
            ],
            constants,
        )
        domains = [helper.make_opsetid("", _OPSET), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=domains, ir_version=_IR_VERSION)
        path.write_bytes(model.SerializeToString(deterministic=True))


def _constant(name: str, value: NDArray[Any], data: BinaryIO) -> onnx.TensorProto:
    tensor = numpy_helper.from_array(np.asarray(value, order="C"), name)
    if value.nbytes > _SMALL:
        data.write(bytes(-data.tell() % _PAGE))
        set_external_data(tensor, Path(data.name).name, data.tell(), value.nbytes)
        data.write(tensor.raw_data)
        tensor.ClearField("raw_data")
    return tensor


def quantize_rows(weight: Array) -> tuple[NDArray[np.int8], Array]:
    """A matrix as small integers, and for each row (output) the factor that undoes it."""
    largest = np.abs(weight).max(axis=1)
    scales = np.where(largest > 0, largest, 1).astype(np.float32) / np.float32(_LARGEST_WEIGHT)
    return np.rint(weight / scales[:, None]).astype(np.int8), scales


# ── The encoder ────────────────────────────────────────────────────────────────


def write_encoder(
    folder: Path, path: Path, pooling: Pooling, precision: Precision = "int8"
) -> None:
    """Write a graph from `input_ids` to the vectors of tokens and of the whole text.

    They are not of unit length.
    """
    architecture, tensors = read_architecture(folder), read_tensors(folder / "model.safetensors")
    writer = GraphWriter(precision)
    hidden = _Blocks(writer, architecture, tensors).run(_embed(writer, architecture, tensors))
    pooled = _mean(writer, hidden) if pooling == "mean" else _first(writer, hidden)
    width = architecture.hidden
    outputs: dict[str, tuple[str, list[str | int]]] = {
        "last_hidden_state": (hidden, ["b", "s", width]),
        "sentence_embedding": (pooled, ["b", width]),
    }
    writer.write(path, ["input_ids"], outputs)


def write_cross_encoder(folder: Path, path: Path, precision: Precision = "fp32") -> None:
    """Write a graph from `input_ids` and `token_type_ids` of a pair of texts to `logits`."""
    architecture, tensors = read_architecture(folder), read_tensors(folder / "model.safetensors")
    writer = GraphWriter(precision)
    embedded = _embed(writer, architecture, tensors, types="token_type_ids")
    hidden = _Blocks(writer, architecture, tensors).run(embedded)
    logits = _classify(writer, tensors, _first(writer, hidden))
    inputs = ["input_ids", "token_type_ids"]
    writer.write(path, inputs, {"logits": (logits, ["b", architecture.labels])})


def _embed(
    writer: GraphWriter, architecture: Architecture, tensors: Tensors, types: str = ""
) -> str:
    words = writer.lookup("words", tensors, "embeddings.word_embeddings.weight", "input_ids")
    positions = tensors["embeddings.position_embeddings.weight"][architecture.first_position :]
    kinds = "embeddings.token_type_embeddings.weight"
    if kinds in tensors and not types:  # every token is of the first kind: add it once, here
        positions = positions + tensors[kinds][0]
    length = writer.node("Shape", ["input_ids"], start=1, end=2)
    zero = writer.constant("zero", np.array([0], dtype=np.int64))
    rows = writer.node("Slice", [writer.constant("positions", positions), zero, length])
    total = writer.node("Add", [words, rows])
    if kinds in tensors and types:
        table = writer.constant("types.table", tensors[kinds])
        total = writer.node("Add", [total, writer.node("Gather", [table, types])])
    return _normalize(writer, architecture, tensors, total, "embeddings.LayerNorm")


class _Blocks:
    """The transformer blocks, one after the other."""

    def __init__(self, writer: GraphWriter, architecture: Architecture, tensors: Tensors) -> None:
        self._writer = writer
        self._architecture = architecture
        self._tensors = tensors

    def run(self, value: str) -> str:
        """The last block's token vectors."""
        for number in range(self._architecture.layers):
            value = self._block(f"encoder.layer.{number}", value)
        return value

    def _block(self, name: str, value: str) -> str:
        attended = self._linear(f"{name}.attention.output.dense", self._attention(name, value))
        value = self._add_and_norm(f"{name}.attention.output.LayerNorm", attended, value)
        inner = self._linear(f"{name}.intermediate.dense", value)
        outer = self._linear(f"{name}.output.dense", self._activate(inner))
        return self._add_and_norm(f"{name}.output.LayerNorm", outer, value)

    def _attention(self, name: str, value: str) -> str:
        # One product for all three saves two passes over the input.
        parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
        weight = np.concatenate([self._tensors[f"{part}.weight"] for part in parts])
        bias = np.concatenate([self._tensors[f"{part}.bias"] for part in parts])
        joined = self._writer.linear(f"{name}.attention.self", value, weight, bias)
        split = self._writer.nodes("Split", [joined], 3, axis=-1, num_outputs=3)
        heads = self._architecture.heads
        return self._writer.node("MultiHeadAttention", split, domain=MICROSOFT, num_heads=heads)

    def _linear(self, name: str, value: str) -> str:
        weight, bias = self._tensors[f"{name}.weight"], self._tensors[f"{name}.bias"]
        return self._writer.linear(name, value, weight, bias)

    def _activate(self, value: str) -> str:
        activation = self._architecture.activation
        domain = "" if activation == "Relu" else MICROSOFT
        return self._writer.node(activation, [value], domain=domain)

    def _add_and_norm(self, name: str, value: str, skipped: str) -> str:
        # onnxruntime has one operator for both, which takes several times as long.
        total = self._writer.node("Add", [value, skipped])
        return _normalize(self._writer, self._architecture, self._tensors, total, name)


def _normalize(
    writer: GraphWriter, architecture: Architecture, tensors: Tensors, value: str, name: str
) -> str:
    norm = [writer.constant(part, tensors[part]) for part in (f"{name}.weight", f"{name}.bias")]
    epsilon = architecture.norm_epsilon
    return writer.node("LayerNormalization", [value, *norm], axis=-1, epsilon=epsilon)


def _mean(writer: GraphWriter, hidden: str) -> str:
    axis = writer.constant("token axis", np.array([1], dtype=np.int64))
    return writer.node("ReduceMean", [hidden, axis], keepdims=0)


def _first(writer: GraphWriter, hidden: str) -> str:
    place = writer.constant("first token", np.array(0, dtype=np.int64))
    return writer.node("Gather", [hidden, place], axis=1)


def _classify(writer: GraphWriter, tensors: Tensors, first: str) -> str:
    # BERT has a pooler before its classifier; RoBERTa keeps both steps inside the classifier.
    inner, outer = "pooler.dense", "classifier"
    if "classifier.dense.weight" in tensors:
        inner, outer = "classifier.dense", "classifier.out_proj"
    dense = writer.linear(inner, first, tensors[f"{inner}.weight"], tensors[f"{inner}.bias"])
    bent = writer.node("Tanh", [dense])
    return writer.linear(outer, bent, tensors[f"{outer}.weight"], tensors[f"{outer}.bias"])


def main() -> None:
    """Convert the model in a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--precision", choices=get_args(Precision), default="int8")
    parser.add_argument("--pooling", choices=get_args(Pooling), default="mean")
    parser.add_argument("--scores", action="store_true", help="a cross-encoder")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    if chosen.scores:
        write_cross_encoder(chosen.folder, chosen.out / "model.onnx", chosen.precision)
    else:
        write_encoder(chosen.folder, chosen.out / "model.onnx", chosen.pooling, chosen.precision)
    for name in ("config.json", "tokenizer.json"):
        shutil.copyfile(chosen.folder / name, chosen.out / name)


if __name__ == "__main__":
    main()
