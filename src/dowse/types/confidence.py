"""What the cosines of an embedding model mean."""

from __future__ import annotations

from dowse.frozen import dataclass


@dataclass(frozen=True, slots=True)
class ModelFit:
    """How the cosines of a model become those that the confidence was fitted with."""

    model: str  # its name, without revision and dimensions
    scale: float = 1.0
    shift: float = 0.0

    def mapped(self, cosine: float) -> float:
        """What the default model would have said, on average."""
        return self.scale * cosine + self.shift
