"""A model on this machine: which one it is, how it is used, and its parts ready to run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from dowse._embed.models import weights_missing
from dowse._embed.models.folder import TOKENIZER, read_recipe
from dowse._embed.models.known import KNOWN_MODELS, WHEELS, ModelRecipe, full_name
from dowse._embed.models.model_cache import ModelCache, check_name
from dowse._embed.onnx.graph import Graph
from dowse._embed.onnx.graph_cache import load_graph
from dowse._model import Announce
from dowse.errors import EmbedError


class Identity(Struct, frozen=True):
    """Which weights a model has, and how they are used."""

    recipe: ModelRecipe
    weights: str  # sha256 of model.safetensors


class LocalModel(Protocol):
    """A model's parts; each call raises an `EmbedError` when they cannot be had."""

    name: str

    def identity(self) -> Identity:
        """Which weights these are, without loading them."""
        ...

    def tokenizer(self) -> bytes:
        """The content of tokenizer.json."""
        ...

    def graph(self, kind: str, version: str, build: Callable[[Path], Graph]) -> Path | bytes:
        """A graph built from the model's folder, or the one that was built before."""
        ...


class CachedModel:
    """A model in the cache, fetched there when it is first needed and fetching is allowed."""

    def __init__(self, model: str, models: ModelCache, announce: Announce, *, fetch: bool) -> None:
        self.name = full_name(model)
        check_name(self.name)
        self._cache = models
        self._announce = announce
        self._fetch = fetch
        self._checked = False  # the small files, which are read again for each part

    def identity(self) -> Identity:
        """Which weights these are; fetches them only when nothing else can tell."""
        wheel = WHEELS.get(self.name)
        if wheel is not None:
            return Identity(KNOWN_MODELS[self.name], wheel.sha256)
        folder = self._intact(weights=False)
        manifest = self._cache.manifest(self.name)
        if manifest is None:
            raise self._missing("it has just been removed")
        return Identity(read_recipe(folder, self.name), manifest.weights)

    def tokenizer(self) -> bytes:
        """The content of tokenizer.json."""
        try:
            return (self._intact(weights=False) / TOKENIZER).read_bytes()
        except OSError as error:
            raise self._missing(f"{TOKENIZER} cannot be read ({error})") from error

    def graph(self, kind: str, version: str, build: Callable[[Path], Graph]) -> Path | bytes:
        """A graph built from the model's folder, or the one that was built before."""
        graphs = self._intact(weights=False) / "graphs"
        return load_graph(graphs, kind, version, lambda: build(self._intact(weights=True)))

    def _intact(self, *, weights: bool) -> Path:
        if self._checked and not weights:
            return self._cache.folder(self.name)
        damage = self._cache.damage(self.name, weights=weights)
        if damage and self._fetch:
            from dowse._embed.models.fetch import fetch_model  # noqa: PLC0415  it happens once

            fetch_model(self.name, self._cache, self._announce)
        elif damage and self._cache.manifest(self.name):
            raise self._missing(f"of the model {self.name}, {', '.join(damage)} is damaged")
        elif damage:
            raise self._missing(f"the model {self.name} has not been fetched")
        self._checked = True
        return self._cache.folder(self.name)

    def _missing(self, reason: str) -> EmbedError:
        return weights_missing(f"{reason}.", f"Fetch them with: dowse models pull {self.name}")
