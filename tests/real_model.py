"""The real model for tests that are about real ranking."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs
import pytest

from dowse._embed.open import open_embedder, pull
from dowse._embed.options import EmbedOptions
from dowse._model.ports import Embedder
from dowse.errors import WeightsMissing


def cache_folder() -> Path:
    """Where the user's models are, so that graphs are built once."""
    return Path(os.environ.get("DOWSE_CACHE_DIR") or platformdirs.user_cache_dir("dowse"))


def fetched(model: str) -> Path:
    """The cache with a published model; fetches it, and fails when that is impossible."""
    try:
        pull(model, cache_folder())
    except WeightsMissing as error:
        pytest.fail(f"This test needs the real weights. {error}", pytrace=False)
    return cache_folder()


def real_embedder() -> Embedder:
    """The default model, which is part of dowse."""
    return open_embedder(EmbedOptions(), cache_folder(), fetch=False)
