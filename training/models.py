"""The encoder in PyTorch, on top of the RoBERTa of `transformers`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from torch.nn import functional
from transformers import RobertaConfig, RobertaModel

from training.packing import count_layers, pack, unpack
from training.passages import PADDING

Weights = dict[str, NDArray[np.float32]]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PRECISION = torch.bfloat16


def read_weights(path: Path) -> Weights:
    """The weights in a file, packed or not."""
    return unpack(load_file(path))


def write_weights(path: Path, weights: Mapping[str, NDArray[np.float32]]) -> None:
    """Writes weights packed."""
    save_file(pack(weights), path)


def open_encoder(weights: Weights, dropout: float = 0.0) -> RobertaModel:
    """An encoder with these weights."""
    config = RobertaConfig(
        vocab_size=len(weights["embeddings.word_embeddings.weight"]),
        max_position_embeddings=len(weights["embeddings.position_embeddings.weight"]),
        type_vocab_size=len(weights["embeddings.token_type_embeddings.weight"]),
        hidden_size=384,
        intermediate_size=1536,
        num_hidden_layers=count_layers(weights),
        num_attention_heads=12,
        layer_norm_eps=1e-12,
        pad_token_id=PADDING,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=0.0,
    )
    model = RobertaModel(config, add_pooling_layer=False)
    tensors = {name: torch.from_numpy(np.array(one)) for name, one in weights.items()}
    if lost := model.load_state_dict(tensors, strict=False).missing_keys:
        raise ValueError(f"The weights lack {lost[:3]}.")
    return model.to(DEVICE)


def weights_of(model: torch.nn.Module) -> Weights:
    """The weights of a model under their usual names."""
    state = model.state_dict()
    return {n: t.float().cpu().numpy() for n, t in state.items() if t.is_floating_point()}


def vectors(
    model: RobertaModel, ids: torch.Tensor, words: torch.Tensor | None = None
) -> torch.Tensor:
    """The normalized state of the first token of each text; `words` stand in for the word table."""
    texts = {"input_ids": ids} if words is None else {"inputs_embeds": words}
    with torch.autocast(DEVICE, dtype=PRECISION):
        states = model(**texts, attention_mask=(ids != PADDING).long()).last_hidden_state
    return functional.normalize(states[:, 0].float(), dim=-1)


@torch.no_grad()
def embed(model: RobertaModel, rows: torch.Tensor, batch: int = 1024) -> torch.Tensor:
    """The vectors of many rows of tokens, the longest first so that little is padded."""
    model.eval()
    lengths = (rows != PADDING).sum(1)
    order = lengths.argsort(descending=True)
    out = torch.zeros(len(rows), 384, device=rows.device)
    for some in order.split(batch):
        width = int(lengths[some].max())
        out[some] = vectors(model, rows[some, :width].long())
    return out
