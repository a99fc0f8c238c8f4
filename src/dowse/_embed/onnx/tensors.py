"""model.safetensors → arrays under the names that BERT gives them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dowse._embed.onnx.architecture import canonical_name
from dowse._util.arrays import np
from dowse.errors import EmbedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[np.float32]"
"""A weight, always computed with in single precision."""

_SCALE = ".scale"  # next to a matrix of small integers: the factor of each row


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

    try:
        with safe_open(path, "numpy") as file:
            stored = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (no mapping)
            return Tensors(_in_single_precision(stored))
    except (OSError, SafetensorError, ValueError, TypeError) as error:
        raise EmbedError(f"{path} cannot be read: {error}.") from error


def _in_single_precision(stored: Mapping[str, NDArray[Any]]) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    for name, tensor in stored.items():
        scale = stored.get(name + _SCALE)
        if np.issubdtype(tensor.dtype, np.integer) and scale is None:
            continue  # position numbers, which old exports store
        if name.removesuffix(_SCALE) in stored and name.endswith(_SCALE):
            continue
        array = np.asarray(tensor, dtype=np.float32)
        arrays[canonical_name(name)] = array if scale is None else array * scale
    return arrays
