"""Weights → the ONNX graph of an encoder or of a cross-encoder.

The graphs take texts without padding, so they need no attention mask: a text's vector cannot
depend on how long its neighbours are. Transformer blocks are those of BERT (arXiv:1810.04805).
"""

from __future__ import annotations

from typing import Literal

from dowse._embed.onnx.architecture import Architecture
from dowse._embed.onnx.graph import MICROSOFT, Graph, GraphWriter, Precision
from dowse._embed.onnx.tensors import Tensors
from dowse._util.arrays import np

BUILDER_VERSION = 2
"""Changes when the same weights would give other vectors: it is part of the model's key."""

Pooling = Literal["mean", "cls"]
"""How token vectors become the vector of a text: their mean, or the first token's."""


def build_encoder(
    architecture: Architecture, tensors: Tensors, pooling: Pooling, precision: Precision
) -> Graph:
    """A graph from `ids` to `vector` (per text, not of unit length) and `tokens` (per token)."""
    writer = GraphWriter(precision)
    hidden = _Blocks(writer, architecture, tensors).run(_embed(writer, architecture, tensors))
    pooled = _mean(writer, hidden) if pooling == "mean" else _first(writer, hidden)
    width = architecture.hidden
    return writer.finish(
        ["ids"], {"vector": (pooled, ["b", width]), "tokens": (hidden, ["b", "s", width])}
    )


def build_cross_encoder(
    architecture: Architecture, tensors: Tensors, precision: Precision
) -> Graph:
    """A graph from `ids` and `types` of a pair of texts to `logits`, one per label."""
    writer = GraphWriter(precision)
    embedded = _embed(writer, architecture, tensors, types="types")
    hidden = _Blocks(writer, architecture, tensors).run(embedded)
    logits = _classify(writer, tensors, _first(writer, hidden))
    return writer.finish(["ids", "types"], {"logits": (logits, ["b", architecture.labels])})


def _embed(
    writer: GraphWriter, architecture: Architecture, tensors: Tensors, types: str = ""
) -> str:
    words = writer.lookup("words", tensors["embeddings.word_embeddings.weight"], "ids")
    positions = tensors["embeddings.position_embeddings.weight"][architecture.first_position :]
    kinds = "embeddings.token_type_embeddings.weight"
    if kinds in tensors and not types:  # every token is of the first kind: add it once, here
        positions = positions + tensors[kinds][0]
    length = writer.node("Shape", ["ids"], start=1, end=2)
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
