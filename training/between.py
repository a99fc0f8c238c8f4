"""Writes the weights between an old model and a new one.

python -m training.between OLD NEW OUT SHARE
"""

from __future__ import annotations

import sys
from pathlib import Path

from training.models import read_weights, write_weights
from training.packing import mean


def main(old: Path, new: Path, out: Path, share: float) -> None:
    """Writes the mean; `share` is that of the new model."""
    write_weights(out, mean(read_weights(old), read_weights(new), share))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), float(sys.argv[4]))
