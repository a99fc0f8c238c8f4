"""What the confidence of results rests on."""

from __future__ import annotations

import math
from operator import mul

from msgspec import Struct


class ModelFit(Struct, frozen=True):
    """How the cosines of a model become those that the confidence was fitted with."""

    model: str  # its name, without revision and dimensions
    scale: float = 1.0
    shift: float = 0.0

    def mapped(self, cosine: float) -> float:
        """What the default model would have said, on average."""
        return self.scale * cosine + self.shift


class Nearness(Struct, frozen=True):
    """What says how near a query is to what was found, and how much each of it weighs."""

    evidence: tuple[float, ...]
    weights: tuple[float, ...]

    @property
    def odds(self) -> float:
        """How much speaks for a good match; below 0 the query is far from everything."""
        return math.fsum(map(mul, self.evidence, self.weights))
