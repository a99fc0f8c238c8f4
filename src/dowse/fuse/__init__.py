"""Rankings → one ranking, and a score that people can read."""

from dowse.fuse.calibrate import calibrate
from dowse.fuse.rrf import fuse_by_rank

__all__ = ["calibrate", "fuse_by_rank"]
