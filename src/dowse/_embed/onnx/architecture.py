"""config.json → the shape of an encoder of the BERT family, whatever its maker calls the parts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from dowse._util.files import UNREADABLE, read_small, why_unreadable
from dowse.errors import EmbedError

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
_LONGEST = 10_000_000  # bytes of a JSON file: some list every token
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


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a model folder."""
    try:
        content = json.loads(read_small(path, _LONGEST))
    except UNREADABLE as error:
        raise EmbedError(f"{path} cannot be read: {why_unreadable(error)}.") from error
    if not isinstance(content, dict):
        raise EmbedError(f"{path} is no JSON object.")
    return content


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
