"""What the exchangeable parts promise, and what they do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from dowse.types import EmbeddedBatch, Model, Vector


class Embedder(Protocol):
    """Turns texts into vectors of unit length.

    Promises: equal texts give vectors that are equal to within rounding, whatever stands beside
    them in the call; every position is yielded exactly once; vectors have `model.dimensions`.
    Does not promise: an order of the batches, or that a failed call can be resumed. What was
    yielded before a failure is good and may be kept.
    """

    @property
    def model(self) -> Model:
        """The model behind the vectors; reading it loads no weights."""
        ...

    def passages(self, texts: Sequence[str]) -> Iterator[EmbeddedBatch]:
        """Embeds texts to be found, yielding batches as they are done.

        Raises `WeightsMissing` or `EndpointFailed` when no vectors can be made.
        """
        ...

    def query(self, text: str) -> Vector:
        """Embeds a text to search with."""
        ...
