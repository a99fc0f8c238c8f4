"""Weights as small files: each row of a matrix in int8 with one scale, everything else in fp16."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.generic]
SCALE = ".scale"
_LAYER = re.compile(r"(.*encoder\.layer\.)(\d+)(\..*)")


def pack(tensors: Mapping[str, Array]) -> dict[str, Array]:
    """Matrices as int8 rows with their scales under `<name>.scale`, vectors as fp16."""
    packed: dict[str, Array] = {}
    for name, tensor in tensors.items():
        value = np.asarray(tensor, np.float32)
        if value.ndim != 2:
            packed[name] = value.astype(np.float16)
            continue
        scale = np.maximum(np.abs(value).max(1, keepdims=True), 1e-8) / 127
        packed[name] = np.rint(value / scale).astype(np.int8)
        packed[name + SCALE] = scale.astype(np.float32)
    return packed


def unpack(packed: Mapping[str, Array]) -> dict[str, NDArray[np.float32]]:
    """The weights in single precision, whether they are packed or not."""
    tensors = {}
    for name, value in packed.items():
        if not name.endswith(SCALE):
            scale = packed.get(name + SCALE)
            full = np.asarray(value, np.float32)
            tensors[name] = full if scale is None else full * np.asarray(scale, np.float32)
    return tensors


def count_layers(tensors: Mapping[str, Array]) -> int:
    """How many layers the weights have."""
    return len({found[2] for name in tensors if (found := _LAYER.fullmatch(name))})


def mean(
    old: Mapping[str, NDArray[np.float32]], new: Mapping[str, NDArray[np.float32]], share: float
) -> dict[str, NDArray[np.float32]]:
    """The weights between two models; `share` is that of the new one."""
    return {name: (1 - share) * old[name] + share * value for name, value in new.items()}
