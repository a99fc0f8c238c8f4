"""model.safetensors → arrays under the names that BERT gives them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dowse.embed.onnx.architecture import canonical_name
from dowse.errors import EmbedError

Array = NDArray[np.float32]
"""A weight, always computed with in single precision."""


class Tensors:
    """The weights of a model, by name."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self._arrays = arrays

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

    arrays: dict[str, Array] = {}
    try:
        with safe_open(path, "numpy") as file:
            for name in file.keys():  # noqa: SIM118  (it is no mapping)
                tensor = file.get_tensor(name)
                if np.issubdtype(tensor.dtype, np.integer):
                    continue  # position numbers, which old exports store
                arrays[canonical_name(name)] = np.asarray(tensor, dtype=np.float32)
    except (OSError, SafetensorError, ValueError, TypeError) as error:
        raise EmbedError(f"{path} cannot be read: {error}.") from error
    return Tensors(arrays)
