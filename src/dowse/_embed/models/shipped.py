"""The model that is part of dowse: read in place, with nothing to fetch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from dowse._embed.models import weights_missing
from dowse._embed.models.folder import TOKENIZER, WEIGHTS
from dowse._embed.models.known import KNOWN_MODELS
from dowse._embed.models.local_model import Identity
from dowse._embed.models.model_cache import ModelCache, file_record
from dowse._embed.onnx.graph import Graph
from dowse._embed.onnx.graph_cache import load_graph
from dowse._embed.options import DEFAULT_MODEL

_FOLDER = Path(__file__).with_name("weights")
_REINSTALL = "Install dowse again, or choose another model with: dowse config set embed.model NAME"

SHIPPED: Mapping[str, str] = {
    DEFAULT_MODEL: "8ebc7784bf3e7c522884c3e3e1c7e94f50707d7b19874919490a8cdae213e645",
}
"""The sha256 of their weights, by name."""


class ShippedModel:
    """A model that is part of dowse; only the graph built from it is in the cache."""

    def __init__(self, name: str, models: ModelCache) -> None:
        self.name = name
        self.folder = _FOLDER / name
        self._graphs = models.root / ".shipped" / name

    def identity(self) -> Identity:
        """Which weights these are, without reading them."""
        return Identity(KNOWN_MODELS[self.name], SHIPPED[self.name])

    def tokenizer(self) -> bytes:
        """The content of tokenizer.json."""
        try:
            return (self.folder / TOKENIZER).read_bytes()
        except OSError as error:
            raise weights_missing(f"{error}.", _REINSTALL) from error

    def graph(self, kind: str, version: str, build: Callable[[Path], Graph]) -> Path | bytes:
        """A graph built from the model, or the one that was built before."""
        return load_graph(self._graphs, kind, version, lambda: self._build(build))

    def damage(self) -> tuple[str, ...]:
        """The files that are not what they were."""
        path = self.folder / WEIGHTS
        intact = path.is_file() and file_record(path).sha256 == SHIPPED[self.name]
        return () if intact else (WEIGHTS,)

    def _build(self, build: Callable[[Path], Graph]) -> Graph:
        if self.damage():
            raise weights_missing(f"{self.folder / WEIGHTS} is missing or damaged.", _REINSTALL)
        return build(self.folder)
