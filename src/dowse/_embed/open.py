"""Options become an embedder or a reranker; models come, go and are listed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Struct

from dowse._embed.models import (
    KNOWN_MODELS,
    SHIPPED,
    CachedModel,
    FolderModel,
    LocalModel,
    ModelCache,
    ShippedModel,
    full_name,
)
from dowse._embed.onnx import OnnxEmbedder
from dowse._embed.options import EmbedOptions
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
    """The embedder that the options ask for; it loads, and with `fetch` fetches, on first use.

    With `offline`, an endpoint is not asked how long its vectors are.
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
    """A model by its name or its folder."""
    models = ModelCache(cache_dir)
    if is_folder(model):
        return FolderModel(Path(model), models)
    if model in SHIPPED:
        return ShippedModel(model)
    return CachedModel(model, models, announce, fetch=fetch)


def can_rerank(model: str, embedder: Embedder | None) -> bool:
    """Whether there is anything to rerank with: a cross-encoder, or an embedder on this machine."""
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
    """A cross-encoder by its name or folder; without one, the embedder's own token vectors."""
    if model:
        from dowse._embed.onnx import CrossEncoder  # noqa: PLC0415  as above

        opened = open_model(model, cache_dir, announce, fetch=fetch)
        return CrossEncoder(opened, threads=options.threads or cores())
    if isinstance(embedder, OnnxEmbedder):
        from dowse._embed.onnx import LateInteraction  # noqa: PLC0415  as above

        return LateInteraction(embedder)
    raise UsageError(
        "Only a model on this machine can rerank.",
        "Name a cross-encoder with: dowse config set rerank.model NAME",
    )


def models_status(cache_dir: Path) -> list[ModelRecord]:
    """The model that is part of dowse and every other that is here, each fully checked."""
    models = ModelCache(cache_dir)
    fetched = sorted(manifest.name for manifest in models.manifests())
    return [_status(models, name) for name in (*SHIPPED, *fetched)]


def pull(
    model: str, cache_dir: Path, announce: Announce = silent, source: Path | None = None
) -> ModelRecord:
    """Puts a model into the cache, from where it is published or from a folder.

    A model that is there and intact is left alone.
    """
    if is_folder(model):
        raise BadSettings(
            f"{model} is a folder, and is used in place.", "There is nothing to pull."
        )
    from dowse._embed.hub import copy_model, fetch_model  # noqa: PLC0415  as above

    models, name = ModelCache(cache_dir), full_name(model)
    if name in SHIPPED:
        return _status(models, name)
    if source is None:
        fetch_model(name, models, announce)
    else:
        copy_model(name, source, models, announce)
    return _status(models, name)


def remove(model: str, cache_dir: Path) -> None:
    """Takes a model out of the cache."""
    name = full_name(model)
    if name in SHIPPED:
        raise UsageError(f"{name} is part of dowse and cannot be removed.")
    if not ModelCache(cache_dir).remove(name):
        known = ", ".join(manifest.name for manifest in ModelCache(cache_dir).manifests()) or "none"
        raise NotFound(f"There is no model {name} here.", f"Here are: {known}.")


def known_models() -> list[str]:
    """The names of the models that dowse knows by heart, for help and completion."""
    return list(KNOWN_MODELS)


def is_folder(model: str) -> bool:
    """Whether a model is named by its place rather than by its name."""
    return model.startswith((".", "~")) or Path(model).is_absolute()


def _status(models: ModelCache, name: str) -> ModelRecord:
    if name in SHIPPED:
        shipped = ShippedModel(name)
        size = folder_size(shipped.folder)
        return ModelRecord(name, str(shipped.folder), True, size, "part of dowse", shipped.damage())
    folder, manifest = models.folder(name), models.manifest(name)
    return ModelRecord(
        name=name,
        path=str(folder),
        here=manifest is not None,
        bytes=folder_size(folder),
        origin=manifest.origin if manifest else "",
        damaged=tuple(models.damage(name)) if manifest else (),
    )
