"""What embedders hand out."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:  # these records are also used where loading numpy would take too long
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    Matrix = NDArray[np.float32]
else:
    Vector = Any
    """One vector of unit length."""
    Matrix = Any
    """Row vectors of unit length, one row per text."""


class Model(Struct, frozen=True):
    """Which embedding model made a vector; vectors of two models are never mixed."""

    key: str  # names the weights, the precision and the prefixes: equal keys give equal vectors
    dimensions: int
    max_tokens: int
    latin_only: bool = False  # it was trained on texts in Latin letters alone


class EmbeddedBatch(Struct, frozen=True):
    """Some of the texts handed to an embedder, done."""

    positions: tuple[int, ...]  # where these texts stood in the list that was handed in
    vectors: Matrix


def text_key(text: str) -> bytes:
    """The name under which the vector of a text is kept: 16 bytes of its hash."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def short_id(document_id: str) -> str:
    """Eight hex digits for a document."""
    return hashlib.sha256(document_id.encode()).hexdigest()[:8]
