"""What the confidence of results rests on."""

from __future__ import annotations

from msgspec import Struct


class ModelFit(Struct, frozen=True):
    """How the cosines of a model become those that the confidence was fitted with."""

    model: str  # its name, without revision and dimensions
    scale: float = 1.0
    shift: float = 0.0

    def mapped(self, cosine: float) -> float:
        """What the default model would have said, on average."""
        return self.scale * cosine + self.shift
