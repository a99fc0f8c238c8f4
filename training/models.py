"""The two models in PyTorch, on top of the BERT of `transformers`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from torch.nn import functional
from transformers import BertConfig, BertForSequenceClassification, BertModel

from training.packing import count_layers, pack, unpack

Weights = dict[str, NDArray[np.float32]]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PRECISION = torch.bfloat16


def read_weights(path: Path) -> Weights:
    """The weights in a file, packed or not."""
    return unpack(load_file(path))


def write_weights(path: Path, weights: Mapping[str, NDArray[np.float32]]) -> None:
    """Writes weights packed."""
    save_file(pack(weights), path)


def open_encoder(weights: Weights, dropout: float = 0.05) -> torch.nn.Module:
    """An encoder; weights of a pooling layer are left out."""
    model = BertModel(_config(weights, dropout), add_pooling_layer=False)
    return _filled(model, {n: w for n, w in weights.items() if not n.startswith("pooler")})


def open_reranker(weights: Weights, dropout: float = 0.1) -> torch.nn.Module:
    """A cross-encoder; weights of an encoder get a new head."""
    if "classifier.weight" not in weights:
        weights = {f"bert.{name}": one for name, one in weights.items()}
    return _filled(BertForSequenceClassification(_config(weights, dropout)), weights)


def weights_of(model: torch.nn.Module) -> Weights:
    """The weights of a model under their usual names."""
    state = model.state_dict()
    return {n: t.float().cpu().numpy() for n, t in state.items() if t.is_floating_point()}


def vectors(model: torch.nn.Module, ids: torch.Tensor) -> torch.Tensor:
    """The normalized mean of the tokens' states."""
    mask = ids != 0
    with torch.autocast(DEVICE, dtype=PRECISION, enabled=DEVICE == "cuda"):
        states = model(input_ids=ids, attention_mask=mask).last_hidden_state
    weight = mask[..., None].float()
    return functional.normalize((states.float() * weight).sum(1) / weight.sum(1), dim=-1)


def logits(model: torch.nn.Module, ids: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
    """The reranker's score of each pair."""
    with torch.autocast(DEVICE, dtype=PRECISION, enabled=DEVICE == "cuda"):
        found = model(input_ids=ids, attention_mask=ids != 0, token_type_ids=types).logits
    return found.squeeze(-1).float()


@torch.no_grad()
def embed(model: torch.nn.Module, rows: torch.Tensor, batch: int = 1024) -> torch.Tensor:
    """The vectors of many rows of tokens, the longest first so that little is padded."""
    model.eval()
    lengths = (rows != 0).sum(1)
    order = lengths.argsort(descending=True)
    out = torch.zeros(len(rows), 384, device=rows.device)
    for some in order.split(batch):
        width = int(lengths[some].max())
        out[some] = vectors(model, rows[some, :width].long())
    return out


def _config(weights: Weights, dropout: float) -> BertConfig:
    return BertConfig(
        hidden_size=384,
        intermediate_size=1536,
        num_hidden_layers=count_layers(weights),
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=0.0,
        num_labels=1,
    )


def _filled(model: torch.nn.Module, weights: Weights) -> torch.nn.Module:
    tensors = {name: torch.from_numpy(np.array(one)) for name, one in weights.items()}
    wanted = model.state_dict()
    missing = model.load_state_dict({n: t for n, t in tensors.items() if n in wanted}, strict=False)
    lost = [n for n in missing.missing_keys if "pooler" not in n and "classifier" not in n]
    if lost:
        raise ValueError(f"The weights lack {lost[:3]}.")
    return model.to(DEVICE)
