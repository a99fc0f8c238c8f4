"""What the cosines of a project's embedding model mean, kept with the project."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec

from dowse._model import ModelFit
from dowse._util.decoding import read_small
from dowse._util.files import replace_file

_FILE = "confidence.json"


def read_fit(folder: Path) -> ModelFit | None:
    """The fit in a project's folder; None when there is none that can be read."""
    try:
        fit = msgspec.json.decode(read_small(folder / _FILE), type=ModelFit)
    except (OSError, ValueError, RecursionError):
        return None
    return fit if math.isfinite(fit.scale) and math.isfinite(fit.shift) else None


def write_fit(folder: Path, fit: ModelFit) -> None:
    """Keeps a fit in a project's folder."""
    replace_file(folder / _FILE, msgspec.json.encode(fit))
