"""Rankings → one ranking, and a score that people can read. A file per stage: options and rule."""

from dowse.fuse.calibrate import FITS, Evidence, Fit, calibrate, confidence
from dowse.fuse.community import community_multipliers
from dowse.fuse.convex import Normalisation, fuse_by_score
from dowse.fuse.dynamic_weights import dynamic_weights
from dowse.fuse.gather import gathered
from dowse.fuse.recency import recency_multiplier
from dowse.fuse.rrf import fuse_by_rank

__all__ = [
    "FITS",
    "Evidence",
    "Fit",
    "Normalisation",
    "calibrate",
    "community_multipliers",
    "confidence",
    "dynamic_weights",
    "fuse_by_rank",
    "fuse_by_score",
    "gathered",
    "recency_multiplier",
]
