"""The real model for tests that are about real ranking."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs
import pytest

from dowse.embed import DEFAULT_MODEL, EmbedOptions, open_embedder, pull
from dowse.errors import WeightsMissing
from dowse.ports import Embedder


def weights_folder() -> Path:
    """Where the weights are; fetches them, and fails when that is impossible."""
    cache = Path(os.environ.get("DOWSE_CACHE_DIR") or platformdirs.user_cache_dir("dowse"))
    try:
        pull(DEFAULT_MODEL, cache)
    except WeightsMissing as error:
        pytest.fail(f"This test needs the real weights. {error}", pytrace=False)
    return cache


def real_embedder() -> Embedder:
    """The default model."""
    return open_embedder(EmbedOptions(), weights_folder(), fetch=False)
