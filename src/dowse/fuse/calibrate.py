"""From a fused score, whose size says little, to one between 0 and 1."""

from __future__ import annotations

import math


def calibrate(score: float, threshold: float, steepness: float) -> float:
    """The sigmoid that is one half at the threshold."""
    return 0.5 + 0.5 * math.tanh(steepness * (score - threshold) / 2)  # never overflows
