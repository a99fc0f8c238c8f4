"""How vectors are kept: as half floats, and only if they fit."""

from __future__ import annotations

from dowse._model import Stamp, Vector
from dowse._util.arrays import np
from dowse.errors import EmbedError, StampMismatch


def model_of(stamp: Stamp | None) -> tuple[str, int]:
    """The key and the dimensions of the model whose vectors an index takes."""
    stamp = stamp or {}
    return str(stamp.get("model", "")), int(stamp.get("dimensions", 0))


def encode_vector(vector: Vector, dimensions: int) -> bytes:
    """A vector as it is kept: half floats, little endian."""
    if vector.shape != (dimensions,):
        raise StampMismatch(
            f"The index takes vectors of {dimensions} dimensions, not of shape {vector.shape}.",
            "Rebuild it with: dowse index --rebuild",
        )
    if not np.isfinite(vector).all():
        raise EmbedError(
            "The embedding model gave a vector that is not made of numbers.",
            "Look at the model with: dowse doctor",
        )
    return vector.astype("<f2").tobytes()


def decode_vector(kept: bytes) -> Vector:
    """A kept vector, to calculate with."""
    return np.frombuffer(kept, dtype="<f2").astype(np.float32)
