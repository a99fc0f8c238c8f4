"""Rankings → one ranking, and a score that people can read."""

from dowse.fuse.calibrate import calibrate
from dowse.fuse.community import community_multipliers
from dowse.fuse.confidence import FITS, Fit, confidence, fit_of
from dowse.fuse.convex import fuse_by_score
from dowse.fuse.gather import gathered
from dowse.fuse.options import Normalisation
from dowse.fuse.recency import recency_multiplier
from dowse.fuse.rrf import fuse_by_rank
from dowse.fuse.weights import dynamic_weights

__all__ = [
    "FITS",
    "Fit",
    "Normalisation",
    "calibrate",
    "community_multipliers",
    "confidence",
    "dynamic_weights",
    "fit_of",
    "fuse_by_rank",
    "fuse_by_score",
    "gathered",
    "recency_multiplier",
]
