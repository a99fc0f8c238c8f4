"""A model folder → how the model is used, from the files next to its weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dowse._embed.models.known import KNOWN_MODELS, ModelRecipe
from dowse._embed.onnx.architecture import read_architecture, read_json
from dowse._embed.onnx.encoder import Pooling
from dowse._util.files import UNREADABLE, read_small, why_unreadable
from dowse.errors import EmbedError

WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"
CONFIG = "config.json"
REQUIRED = (CONFIG, WEIGHTS, TOKENIZER)
"""What every model folder must hold."""

_OPTIONAL = (
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "tokenizer_config.json",
)
_NOT_COUNTED = 1_000_000  # tokenizers write numbers beyond this for "no limit"


def is_wanted(path: str) -> bool:
    """Whether a file of a model's repository is of use here."""
    folder, _, name = path.partition("/")  # one folder deep: nothing is laid anywhere else
    pooling = folder.endswith("_Pooling") and name == CONFIG
    return path in REQUIRED or path in _OPTIONAL or pooling


def missing_files(folder: Path) -> list[str]:
    """What a folder lacks to be a model."""
    return [name for name in REQUIRED if not (folder / name).is_file()]


def read_recipe(folder: Path, name: str) -> ModelRecipe:
    """How to use the model in a folder: from the table of known ones, else from its own files."""
    architecture = read_architecture(folder)
    known = KNOWN_MODELS.get(name)
    if known is not None and known.dimensions == architecture.hidden:
        return known
    query_prefix, passage_prefix = _prefixes(
        _optional(folder / "config_sentence_transformers.json")
    )
    return ModelRecipe(
        name=name,
        pooling=_pooling(folder),
        max_tokens=min(_max_tokens(folder), architecture.positions),
        dimensions=architecture.hidden,
        query_prefix=query_prefix,
        passage_prefix=passage_prefix,
    )


def _pooling(folder: Path) -> Pooling:
    config = _optional(folder / _pooling_path(folder) / "config.json")
    modes = _pooling_modes(config)
    if config.get("include_prompt", True) is True:
        if not modes or modes == {"mean"}:
            return "mean"
        if modes == {"cls"}:
            return "cls"
    raise EmbedError(
        f"dowse cannot pool as {folder.name} wants it: {config}.",
        "Choose a model with mean or CLS pooling, or use an endpoint.",
    )


def _pooling_modes(config: dict[str, Any]) -> set[str]:
    named = config.get("pooling_mode", ())  # newer files name the mode, older ones have switches
    modes = {named} if isinstance(named, str) else set(named or ())
    for switch, chosen in config.items():
        if switch.startswith("pooling_mode_") and chosen is True:
            modes.add(switch.removeprefix("pooling_mode_").removesuffix("_tokens"))
    return {"cls" if mode == "cls_token" else str(mode) for mode in modes}


def _pooling_path(folder: Path) -> str:
    path = "1_Pooling"
    for module in _modules(folder):
        kind = str(module.get("type", "")).rpartition(".")[2]
        if kind == "Pooling":
            path = Path(str(module.get("path", path))).name  # next to the model, never elsewhere
        elif kind not in {"Transformer", "Normalize"}:
            raise EmbedError(
                f"dowse does not know the module {kind!r} of {folder.name}.",
                "Choose a model without it, or use an endpoint.",
            )
    return path


def _modules(folder: Path) -> list[dict[str, Any]]:
    path = folder / "modules.json"
    if not path.is_file():
        return []
    try:
        modules = json.loads(read_small(path))
    except UNREADABLE as error:
        raise EmbedError(f"{path} cannot be read: {why_unreadable(error)}.") from error
    if not isinstance(modules, list):
        raise EmbedError(f"{path} is no list of modules.")
    return [module for module in modules if isinstance(module, dict)]


def _max_tokens(folder: Path) -> int:
    stated = (
        _optional(folder / "sentence_bert_config.json").get("max_seq_length"),
        _optional(folder / "tokenizer_config.json").get("model_max_length"),
    )
    fitting = [int(n) for n in stated if isinstance(n, int | float) and 2 < n < _NOT_COUNTED]
    return fitting[0] if fitting else 512


def _prefixes(config: dict[str, Any]) -> tuple[str, str]:
    prompts = config.get("prompts")
    if not isinstance(prompts, dict):
        return "", ""
    usual = prompts.get(config.get("default_prompt_name") or "", "")
    query = prompts.get("query", usual)
    passage = prompts.get("passage", prompts.get("document", usual))
    return str(query or ""), str(passage or "")


def _optional(path: Path) -> dict[str, Any]:
    return read_json(path) if path.is_file() else {}
