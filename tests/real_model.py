"""The real model for tests that are about real ranking."""

from __future__ import annotations

import os
from pathlib import Path
from subprocess import CalledProcessError

import platformdirs
import pytest
from training.minilm import install

from dowse._embed.open import open_embedder
from dowse._embed.options import EmbedOptions
from dowse._model.ports import Embedder
from dowse.errors import WeightsMissing


def cache_folder() -> Path:
    """Where the user's models are, so that nothing is fetched twice."""
    return Path(os.environ.get("DOWSE_CACHE_DIR") or platformdirs.user_cache_dir("dowse"))


def with_minilm() -> Path:
    """The cache with all-MiniLM-L6-v2; fetches it, and fails when that is impossible."""
    try:
        install(cache_folder())
    except (WeightsMissing, CalledProcessError) as error:
        pytest.fail(f"This test needs the real weights. {error}", pytrace=False)
    return cache_folder()


def real_embedder() -> Embedder:
    """The default model, which is part of dowse."""
    return open_embedder(EmbedOptions(), cache_folder(), fetch=False)
