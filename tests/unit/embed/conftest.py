from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from dowse._embed.models import KNOWN_MODELS, ModelRecipe
from tiny_model import HIDDEN, make_model


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a model that dowse knows by the name `tiny`."""
    monkeypatch.setitem(KNOWN_MODELS, "tiny", ModelRecipe("tiny", "mean", 64, HIDDEN))
    return make_model(tmp_path / "published" / "tiny")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]
