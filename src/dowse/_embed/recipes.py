"""How models are used: a table of known ones, and what the files of any other say.

A model is a folder as it is published: its graph as ONNX, config.json and tokenizer.json, and small
files that say how token vectors are pooled and what is put before a text.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from dowse._embed.options import DEFAULT_MODEL
from dowse._util.files import UNREADABLE, read_small, why_unreadable
from dowse.errors import EmbedError

Pooling = Literal["mean", "cls"]
"""How token vectors become the vector of a text: their mean, or the first token's."""

Precision = Literal["int8", "fp32"]
"""How weights are stored and multiplied: as bytes with scales, or in single precision."""


class ModelRecipe(Struct, frozen=True):
    """How a model is used; its vectors are always brought to unit length."""

    name: str  # as the user writes it
    pooling: Pooling
    max_tokens: int  # longer texts are cut
    dimensions: int
    query_prefix: str = ""
    passage_prefix: str = ""
    int8_is_as_good: bool = False  # measured: ranks as well in int8 as in single precision
    latin_only: bool = False  # trained on English: texts in other scripts are noise to it


# ── Known models ─────────────────────────────────────────────────────────────

MINILM = "all-MiniLM-L6-v2"
"""The model that the shipped one was trained from."""

_FOR_SEARCHING = "Represent this sentence for searching relevant passages: "
_E5 = ("query: ", "passage: ")

_RECIPES = (
    ModelRecipe(DEFAULT_MODEL, "mean", 256, 384, int8_is_as_good=True, latin_only=True),
    ModelRecipe(MINILM, "mean", 256, 384, latin_only=True),
    ModelRecipe("sentence-transformers/all-MiniLM-L12-v2", "mean", 128, 384, latin_only=True),
    ModelRecipe(
        "sentence-transformers/multi-qa-MiniLM-L6-cos-v1", "mean", 512, 384, latin_only=True
    ),
    ModelRecipe("sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2", "mean", 128, 384),
    ModelRecipe("BAAI/bge-small-en-v1.5", "cls", 512, 384, _FOR_SEARCHING, latin_only=True),
    ModelRecipe("BAAI/bge-base-en-v1.5", "cls", 512, 768, _FOR_SEARCHING, latin_only=True),
    ModelRecipe(
        "BAAI/bge-small-zh-v1.5", "cls", 512, 512, "为这个句子生成表示以用于检索相关文章："
    ),
    ModelRecipe("intfloat/e5-small-v2", "mean", 512, 384, *_E5, latin_only=True),
    ModelRecipe("intfloat/e5-base-v2", "mean", 512, 768, *_E5, latin_only=True),
    ModelRecipe("intfloat/multilingual-e5-small", "mean", 512, 384, *_E5),
    ModelRecipe("intfloat/multilingual-e5-base", "mean", 512, 768, *_E5),
    ModelRecipe("thenlper/gte-small", "mean", 512, 384, latin_only=True),
    ModelRecipe(
        "Snowflake/snowflake-arctic-embed-s", "cls", 512, 384, _FOR_SEARCHING, latin_only=True
    ),
)

KNOWN_MODELS = {recipe.name: recipe for recipe in _RECIPES}
"""Recipes by model name."""

_SHORT_NAMES = {name.rpartition("/")[2].lower(): name for name in KNOWN_MODELS}
_OWNER_OF_MINILM = "sentence-transformers"


def full_name(model: str) -> str:
    """The name under which a model is known: `bge-small-en-v1.5` is one of BAAI's."""
    owner, _, short = model.rpartition("/")
    known = _SHORT_NAMES.get(short.lower())
    if known is None:
        return model
    owners = {"", known.rpartition("/")[0].lower()}
    if known == MINILM:
        owners.add(_OWNER_OF_MINILM)
    return known if owner.lower() in owners else model


def hub_name(name: str) -> str:
    """The name of a known model on the model hub."""
    return f"{_OWNER_OF_MINILM}/{name}" if name == MINILM else name


# ── Files ────────────────────────────────────────────────────────────────────

TOKENIZER = "tokenizer.json"
CONFIG = "config.json"
REQUIRED = (CONFIG, TOKENIZER)
"""What every model folder must hold besides a graph."""

GRAPHS: dict[Precision, tuple[str, ...]] = {
    "fp32": ("onnx/model.onnx", "model.onnx"),
    # The first is computed alike by every x86 processor, the others only where it has VNNI.
    "int8": (
        "onnx/model_quint8_avx2.onnx",
        "onnx/model_int8.onnx",
        "onnx/model_quantized.onnx",
        "onnx/model_qint8_avx512_vnni.onnx",
    ),
}
"""Where repositories keep the graphs of each precision, the best first."""

_OPTIONAL = (
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "tokenizer_config.json",
)
_NOT_COUNTED = 1_000_000  # tokenizers write numbers beyond this for "no limit"
_LONGEST = 10_000_000  # bytes of a JSON file: some list every token
_FROM_PADDING = frozenset({"roberta", "xlm-roberta", "camembert"})
_POSSIBLE = {"hidden": (1, 65_536), "positions": (3, 1_000_000)}  # a token at both ends of a text


def data_of(graph: str) -> str:
    """The file next to a graph that holds its large constants, where it has one."""
    return f"{graph}_data"


def graphs_among(paths: set[str]) -> dict[Precision, str]:
    """The best graph of each precision among the files of a model."""
    best = {kind: [path for path in names if path in paths] for kind, names in GRAPHS.items()}
    return {kind: found[0] for kind, found in best.items() if found}


def wanted_files(paths: set[str]) -> set[str]:
    """The files of a model's repository that are of use here."""
    graphs = graphs_among(paths).values()
    wanted = {*REQUIRED, *_OPTIONAL, *graphs, *map(data_of, graphs)}
    return {path for path in paths if path in wanted or _is_pooling(path)}


def missing_files(paths: set[str]) -> list[str]:
    """What is missing of a model."""
    missing = [name for name in REQUIRED if name not in paths]
    return missing if graphs_among(paths) else [*missing, GRAPHS["fp32"][0]]


def files_in(folder: Path) -> set[str]:
    """The files of a model's folder that can be of use, two levels deep."""
    paths = [*folder.glob("*"), *folder.glob("*/*")]
    return {path.relative_to(folder).as_posix() for path in paths if path.is_file()}


def _is_pooling(path: str) -> bool:
    folder, _, name = path.partition("/")  # one folder deep: nothing is laid anywhere else
    return folder.endswith("_Pooling") and name == CONFIG


# ── What the files say ───────────────────────────────────────────────────────


def read_recipe(folder: Path, name: str) -> ModelRecipe:
    """How to use the model in a folder: from the table of known ones, else from its own files."""
    hidden, positions = _sizes(folder / CONFIG)
    known = KNOWN_MODELS.get(name)
    if known is not None and known.dimensions == hidden:
        return known
    query_prefix, passage_prefix = _prefixes(
        _optional(folder / "config_sentence_transformers.json")
    )
    return ModelRecipe(
        name=name,
        pooling=_pooling(folder),
        max_tokens=min(_max_tokens(folder), positions),
        dimensions=hidden,
        query_prefix=query_prefix,
        passage_prefix=passage_prefix,
    )


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a model folder."""
    try:
        content = json.loads(read_small(path, _LONGEST))
    except UNREADABLE as error:
        raise EmbedError(f"{path} cannot be read: {why_unreadable(error)}.") from error
    if not isinstance(content, dict):
        raise EmbedError(f"{path} is no JSON object.")
    return content


def _sizes(path: Path) -> tuple[int, int]:
    """The width of a token's vector, and how many tokens the model has positions for."""
    config = read_json(path)
    try:
        hidden = int(config["dim"] if "dim" in config else config["hidden_size"])
        positions = int(config["max_position_embeddings"])
        if str(config.get("model_type", "")).lower() in _FROM_PADDING:
            # RoBERTa numbers positions from the padding token's id onwards.
            positions -= int(config.get("pad_token_id", 1)) + 1
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise EmbedError(f"{path} lacks or garbles {error}.") from error
    for name, found in (("hidden", hidden), ("positions", positions)):
        least, most = _POSSIBLE[name]
        if not least <= found <= most:
            raise EmbedError(
                f"{path} describes an impossible model: {name} is {found:,}, and must be from "
                f"{least:,} to {most:,}.",
                "Fetch the model's files again, or choose another model.",
            )
    return hidden, positions


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
