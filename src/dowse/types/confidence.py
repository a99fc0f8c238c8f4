"""What the figures of an embedding model mean."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelFit:
    """How the evidence of one embedding model becomes a confidence."""

    model: str  # name of the model, without its revision and dimensions
    cosine: float  # weight of the best cosine where it is asked whether there is a good match
    near: float  # the constant that belongs to it
    slope: float = 1.0  # of the logarithmic odds that were fitted for the default model
    offset: float = 0.0  # and what is added to them
