"""Options become an embedder or a reranker; models come, go and are listed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Struct

from dowse._embed.models import (
    CachedModel,
    LocalModel,
    ModelCache,
    ShippedModel,
    copy_model,
    fetch_model,
    full_name,
)
from dowse._embed.onnx import CrossEncoder, LateInteraction, OnnxEmbedder
from dowse._embed.options import DEFAULT_MODEL, EmbedOptions, is_folder
from dowse._model import Announce, silent
from dowse._model.ports import Embedder, Reranker
from dowse._util.files import folder_size
from dowse._util.process import cores
from dowse.errors import BadSettings, NotFound, UsageError


class ModelRecord(Struct, frozen=True):
    """A model."""

    name: Annotated[str, "As `embed.model` takes it."]
    path: Annotated[str, "Where it is, or would be."]
    here: Annotated[bool, "Whether its weights are here."]
    bytes: Annotated[int, "What it takes on disk."]
    origin: Annotated[str, "Where it came from."]
    damaged: Annotated[tuple[str, ...], "Files that are not what they were."]


def open_embedder(
    options: EmbedOptions,
    cache_dir: Path,
    announce: Announce = silent,
    *,
    fetch: bool = True,
    offline: bool = False,
) -> Embedder:
    """Return the embedder that the options ask for.

    It loads, and with `fetch` fetches, on first use. With `offline`, an endpoint is not asked how
    long its vectors are.
    """
    if options.provider == "endpoint":
        from dowse._embed.endpoint import EndpointEmbedder  # noqa: PLC0415  a rare choice

        notes = cache_dir / "models" / ".endpoints.json"
        return EndpointEmbedder(options, notes, offline=offline)
    if options.provider == "none":
        raise UsageError(
            "embed.provider is none, so there is nothing to embed with.",
            "Choose one with: dowse config set embed.provider local",
        )
    return OnnxEmbedder(open_model(options.model, cache_dir, announce, fetch=fetch), options)


def open_model(
    model: str, cache_dir: Path, announce: Announce = silent, *, fetch: bool = True
) -> LocalModel:
    """Return a model by its name or its folder."""
    models = ModelCache(cache_dir)
    if is_folder(model):
        folder = Path(model).expanduser().absolute()
        return LocalModel(folder.name, folder, models)
    if model == DEFAULT_MODEL:
        return ShippedModel(models)
    return CachedModel(model, models, announce, fetch=fetch)


def can_rerank(model: str, embedder: Embedder | None) -> bool:
    """Say if anything can rerank: a cross-encoder, or an embedder on this machine."""
    return bool(model) or isinstance(embedder, OnnxEmbedder)


def open_reranker(
    model: str,
    options: EmbedOptions,
    embedder: Embedder | None,
    cache_dir: Path,
    announce: Announce = silent,
    *,
    fetch: bool = False,
) -> Reranker:
    """Return a cross-encoder by its name or folder; without one, the embedder's token vectors."""
    if model:
        opened = open_model(model, cache_dir, announce, fetch=fetch)
        return CrossEncoder(opened, threads=options.threads or cores())
    if isinstance(embedder, OnnxEmbedder):
        return LateInteraction(embedder)
    raise UsageError(
        "Only a model on this machine can rerank.",
        "Name a cross-encoder with: dowse config set rerank.model NAME",
    )


def models_status(cache_dir: Path) -> list[ModelRecord]:
    """Return the model that is part of dowse and every other that is here, each fully checked."""
    fetched = sorted(manifest.name for manifest in ModelCache(cache_dir).manifests())
    return [_status(name, cache_dir) for name in (DEFAULT_MODEL, *fetched)]


def pull(
    model: str, cache_dir: Path, announce: Announce = silent, source: Path | None = None
) -> ModelRecord:
    """Put a model into the cache, from where it is published or from a folder.

    A model that is there and intact is left alone.
    """
    if is_folder(model):
        raise BadSettings(
            f"{model} is a folder, and is used in place.", "There is nothing to pull."
        )
    models, name = ModelCache(cache_dir), full_name(model)
    if name != DEFAULT_MODEL and source is None:
        fetch_model(name, models, announce)
    elif name != DEFAULT_MODEL and source is not None:
        copy_model(name, source, models, announce)
    return _status(name, cache_dir)


def remove(model: str, cache_dir: Path) -> None:
    """Take a model out of the cache."""
    name, models = full_name(model), ModelCache(cache_dir)
    if name == DEFAULT_MODEL:
        raise UsageError(f"{name} is part of dowse and cannot be removed.")
    if not models.remove(name):
        known = ", ".join(manifest.name for manifest in models.manifests()) or "none"
        raise NotFound(f"There is no model {name} here.", f"Here are: {known}.")


def _status(name: str, cache_dir: Path) -> ModelRecord:
    models = ModelCache(cache_dir)
    if name == DEFAULT_MODEL:
        shipped = ShippedModel(models)
        size, damaged = folder_size(shipped.folder), tuple(shipped.damage())
        return ModelRecord(name, str(shipped.folder), True, size, "part of dowse", damaged)
    folder, manifest = models.folder(name), models.manifest(name)
    return ModelRecord(
        name=name,
        path=str(folder),
        here=manifest is not None,
        bytes=folder_size(folder),
        origin=manifest.origin if manifest else "",
        damaged=tuple(models.damage(name)) if manifest else (),
    )
