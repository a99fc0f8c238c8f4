"""A model on this machine: which one it is, how it is used, and its files, checked.

It is part of dowse, or was fetched into the cache, or is in a folder of the user's, which is read
in place and never written to.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

from dowse._embed.cache import ModelCache, check_name, crc_of, joined_digest, weights_missing
from dowse._embed.options import DEFAULT_MODEL
from dowse._embed.recipes import (
    KNOWN_MODELS,
    TOKENIZER,
    ModelRecipe,
    Precision,
    data_of,
    files_in,
    full_name,
    graphs_among,
    hub_name,
    missing_files,
    read_recipe,
)
from dowse._model import Announce
from dowse._util.files import make_private_folder, replace_file
from dowse.errors import EmbedError

Wanted = Literal["auto", "int8", "fp32"]
"""The precision that is asked for; auto means int8 where that was measured to cost nothing."""

_WEIGHTS = Path(__file__).with_name("weights")
_REINSTALL = "Install dowse again, or choose another model with: dowse config set embed.model NAME"
_SHA256_DIGITS = 64


class Shipped(Struct, frozen=True):
    """What is known of a model that is part of dowse."""

    weights: str  # sha256 of the model.safetensors that its graph was made of
    crcs: Mapping[str, int]  # of its files


SHIPPED: Mapping[str, Shipped] = {
    DEFAULT_MODEL: Shipped(
        "8ebc7784bf3e7c522884c3e3e1c7e94f50707d7b19874919490a8cdae213e645",
        {"model.onnx": 0xABED2B3B, "model.onnx_data": 0x7AD17128},
    ),
}
"""The models that are part of dowse, all in int8, by name; training/onnx_model.py made them."""


class Identity(Struct, frozen=True):
    """Which weights a model has, and how they are used."""

    recipe: ModelRecipe
    precision: Precision
    weights: str  # a sha256
    graph: str  # the file of this precision, in the model's folder


class LocalModel(Protocol):
    """A model's parts; each call raises an `EmbedError` when they cannot be had."""

    name: str
    is_fused: bool  # the graph has fused operators already: there is nothing to optimise

    def identity(self, wanted: Wanted) -> Identity:
        """Which weights these are, without loading them."""
        ...

    def graph(self, identity: Identity) -> Path:
        """The graph, intact."""
        ...

    def tokenizer(self) -> bytes:
        """The content of tokenizer.json."""
        ...


class ShippedModel:
    """A model that is part of dowse: there is nothing to fetch."""

    is_fused = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.folder = _WEIGHTS / name

    def identity(self, wanted: Wanted) -> Identity:
        """Which weights these are, without reading them."""
        if wanted == "fp32":
            raise EmbedError(
                f"{self.name} is part of dowse in int8 only.",
                "Use it with: dowse config set embed.precision auto",
            )
        weights = SHIPPED[self.name].weights
        return Identity(KNOWN_MODELS[self.name], "int8", weights, "model.onnx")

    def graph(self, identity: Identity) -> Path:
        """The graph, intact."""
        if damaged := self.damage():
            path = self.folder / damaged[0]
            raise weights_missing(f"{path} is missing or damaged.", _REINSTALL)
        return self.folder / identity.graph

    def tokenizer(self) -> bytes:
        """The content of tokenizer.json."""
        try:
            return (self.folder / TOKENIZER).read_bytes()
        except OSError as error:
            raise weights_missing(f"{error}.", _REINSTALL) from error

    def damage(self) -> tuple[str, ...]:
        """The files that are not what they were."""
        crcs = SHIPPED[self.name].crcs
        return tuple(name for name, crc in crcs.items() if not _has_crc(self.folder / name, crc))


class CachedModel:
    """A model in the cache, fetched there when it is first needed and fetching is allowed."""

    is_fused = False

    def __init__(self, model: str, models: ModelCache, announce: Announce, *, fetch: bool) -> None:
        self.name = full_name(model)
        check_name(self.name)
        self._cache = models
        self._announce = announce
        self._fetch = fetch
        self._checked = False  # every file is read for this, so it is done once

    def identity(self, wanted: Wanted) -> Identity:
        """Which weights these are; fetches them when they are not here."""
        if self._cache.manifest(self.name) is None:
            self._check()
        manifest = self._cache.manifest(self.name)
        if manifest is None:
            raise self._missing("it has just been removed")
        recipe = read_recipe(self._cache.folder(self.name), self.name)
        precision, graph = _chosen(self.name, recipe, manifest.graphs, wanted)
        return Identity(recipe, precision, manifest.weights(graph), graph)

    def graph(self, identity: Identity) -> Path:
        """The graph, intact."""
        self._check()
        return self._cache.folder(self.name) / identity.graph

    def tokenizer(self) -> bytes:
        """The content of tokenizer.json."""
        self._check()
        try:
            return (self._cache.folder(self.name) / TOKENIZER).read_bytes()
        except OSError as error:
            raise self._missing(f"{TOKENIZER} cannot be read ({error})") from error

    def _check(self) -> None:
        damage = [] if self._checked else self._cache.damage(self.name)
        if damage and self._fetch:
            from dowse._embed.hub import fetch_model  # noqa: PLC0415  it happens once

            fetch_model(self.name, self._cache, self._announce)
        elif damage and self._cache.manifest(self.name):
            raise self._missing(f"of the model {self.name}, {', '.join(damage)} is damaged")
        elif damage:
            raise self._missing(f"the model {self.name} has not been fetched")
        self._checked = True

    def _missing(self, reason: str) -> EmbedError:
        return weights_missing(f"{reason}.", f"Fetch them with: dowse models pull {self.name}")


class FolderModel:
    """A model in a folder of the user's; the digest of its weights is noted in the cache."""

    is_fused = False

    def __init__(self, folder: Path, models: ModelCache) -> None:
        self.folder = folder.expanduser().absolute()
        self.name = self.folder.name
        # Notes are kept apart from the user's own files, by place.
        place = hashlib.sha256(str(self.folder).encode("utf-8", "surrogateescape")).hexdigest()
        self._notes = models.root / ".folders" / place[:16]

    def identity(self, wanted: Wanted) -> Identity:
        """Which weights these are: they are read once whenever a file has changed."""
        paths = self._files()
        recipe = read_recipe(self.folder, full_name(self.name))
        precision, graph = _chosen(self.name, recipe, graphs_among(paths), wanted)
        digests = [self._digest(path) for path in (graph, data_of(graph)) if path in paths]
        weights = digests[0] if len(digests) == 1 else joined_digest(digests)
        return Identity(recipe, precision, weights, graph)

    def graph(self, identity: Identity) -> Path:
        """The graph as it is."""
        self._files()
        return self.folder / identity.graph

    def tokenizer(self) -> bytes:
        """The content of tokenizer.json."""
        self._files()
        try:
            return (self.folder / TOKENIZER).read_bytes()
        except OSError as error:
            raise EmbedError(f"{self.folder / TOKENIZER} cannot be read: {error}.") from error

    def _files(self) -> set[str]:
        paths = files_in(self.folder)
        if missing := missing_files(paths):
            raise weights_missing(
                f"{self.folder} has no {' and no '.join(missing)}.",
                f"A model's folder holds config.json, {TOKENIZER} and onnx/model.onnx.",
            )
        return paths

    def _digest(self, name: str) -> str:
        path, note = self.folder / name, self._notes / f"{Path(name).name}.txt"
        try:
            state = path.stat()
            seen = f"{state.st_size} {state.st_mtime_ns}"
            with contextlib.suppress(OSError, ValueError):
                known, _, digest = note.read_text("ascii").rpartition(" ")
                if known == seen and len(digest) == _SHA256_DIGITS:
                    return digest
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise EmbedError(f"{path} cannot be read: {error}.") from error
        with contextlib.suppress(OSError):  # then it is read again next time
            make_private_folder(self._notes)
            replace_file(note, f"{seen} {digest}".encode("ascii"))
        return digest


def _chosen(
    name: str, recipe: ModelRecipe, graphs: Mapping[Precision, str], wanted: Wanted
) -> tuple[Precision, str]:
    """The precision to use of those that a model has, and its graph."""
    precision: Precision = "int8" if wanted == "int8" else "fp32"
    if wanted == "auto" and (recipe.int8_is_as_good or "fp32" not in graphs):
        precision = "int8" if "int8" in graphs else "fp32"
    if precision not in graphs:
        other = "fp32" if precision == "int8" else "int8"
        raise EmbedError(
            f"{hub_name(name)} has no graph in {precision}.",
            f"Use the other with: dowse config set embed.precision {other}",
        )
    return precision, graphs[precision]


def _has_crc(path: Path, crc: int) -> bool:
    try:
        return crc_of(path) == crc
    except OSError:
        return False
