"""A model on this machine: which one it is, how it is used, where it is from, its files, checked.

A model is a folder as it is published: its graph as ONNX, config.json and tokenizer.json, and small
files that say how token vectors are pooled and what is put before a text. It is part of dowse, or
was fetched into the cache, or is in a folder of the user's, which is read in place and never
written to.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from dowse._embed.options import DEFAULT_MODEL
from dowse._model import Announce, Event
from dowse._text.scripts import scripts_of
from dowse._util.files import (
    UNREADABLE,
    locked,
    make_private_folder,
    move_folder,
    read_small,
    replace_file,
    sync_tree,
    why_unreadable,
)
from dowse._util.messages import size
from dowse.errors import BadSettings, EmbedError, Locked, NotFound, WeightsMissing

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
    # What it reads besides Latin, as in `SCRIPTS`: other texts are noise to it. None: every.
    scripts: tuple[str, ...] | None = None


# ── Known models ─────────────────────────────────────────────────────────────

MINILM = "all-MiniLM-L6-v2"
"""The model that the shipped one was trained from."""

_FOR_SEARCHING = "Represent this sentence for searching relevant passages: "
_E5 = ("query: ", "passage: ")

_SHIPPED_SCRIPTS = ("cyrillic", "han", "kana", "hangul")

_RECIPES = (
    ModelRecipe(DEFAULT_MODEL, "cls", 256, 384, int8_is_as_good=True, scripts=_SHIPPED_SCRIPTS),
    ModelRecipe(MINILM, "mean", 256, 384, scripts=()),
    ModelRecipe("sentence-transformers/all-MiniLM-L12-v2", "mean", 128, 384, scripts=()),
    ModelRecipe("sentence-transformers/multi-qa-MiniLM-L6-cos-v1", "mean", 512, 384, scripts=()),
    ModelRecipe("sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2", "mean", 128, 384),
    ModelRecipe("BAAI/bge-small-en-v1.5", "cls", 512, 384, _FOR_SEARCHING, scripts=()),
    ModelRecipe("BAAI/bge-base-en-v1.5", "cls", 512, 768, _FOR_SEARCHING, scripts=()),
    ModelRecipe(
        "BAAI/bge-small-zh-v1.5",
        "cls",
        512,
        512,
        "为这个句子生成表示以用于检索相关文章：",
        scripts=("han",),
    ),
    ModelRecipe("intfloat/e5-small-v2", "mean", 512, 384, *_E5, scripts=()),
    ModelRecipe("intfloat/e5-base-v2", "mean", 512, 768, *_E5, scripts=()),
    ModelRecipe("intfloat/multilingual-e5-small", "mean", 512, 384, *_E5),
    ModelRecipe("intfloat/multilingual-e5-base", "mean", 512, 768, *_E5),
    ModelRecipe("thenlper/gte-small", "mean", 512, 384, scripts=()),
    ModelRecipe("Snowflake/snowflake-arctic-embed-s", "cls", 512, 384, _FOR_SEARCHING, scripts=()),
)

KNOWN_MODELS = {recipe.name: recipe for recipe in _RECIPES}
"""Recipes by model name."""

_SHORT_NAMES = {name.rpartition("/")[2].lower(): name for name in KNOWN_MODELS}
_OWNER_OF_MINILM = "sentence-transformers"


def full_name(model: str) -> str:
    """Return the name under which a model is known: `bge-small-en-v1.5` is one of BAAI's."""
    owner, _, short = model.rpartition("/")
    known = _SHORT_NAMES.get(short.lower(), model)
    return known if owner.lower() in {"", hub_name(known).rpartition("/")[0].lower()} else model


def hub_name(name: str) -> str:
    """Return the name of a known model on the model hub."""
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
_LONGEST_TOKENIZER = 100_000_000
_FROM_PADDING = frozenset({"roberta", "xlm-roberta", "camembert"})
_POSSIBLE = {"hidden": (1, 65_536), "positions": (3, 1_000_000)}  # a token at both ends of a text


def data_of(graph: str) -> str:
    """Return the file next to a graph that holds its large constants, where it has one."""
    return f"{graph}_data"


def graphs_among(paths: Collection[str]) -> dict[Precision, str]:
    """Return the best graph of each precision among the files of a model."""
    best = {kind: [path for path in names if path in paths] for kind, names in GRAPHS.items()}
    return {kind: found[0] for kind, found in best.items() if found}


def wanted_files(paths: set[str]) -> set[str]:
    """Return the files of a model's repository that are of use here."""
    graphs = graphs_among(paths).values()
    # One folder deep: nothing is laid anywhere else.
    pooling = {path for path in paths if re.fullmatch(r"[^/]*_Pooling/config\.json", path)}
    return paths & {*REQUIRED, *_OPTIONAL, *graphs, *map(data_of, graphs), *pooling}


def missing_files(paths: Collection[str]) -> str:
    """Name what is missing of a model; empty when nothing is."""
    missing = [name for name in REQUIRED if name not in paths]
    return " and no ".join(missing if graphs_among(paths) else [*missing, GRAPHS["fp32"][0]])


def files_in(folder: Path) -> set[str]:
    """Return the files of a model's folder that can be of use, two levels deep."""
    return {
        path.relative_to(folder).as_posix()
        for path in (*folder.glob("*"), *folder.glob("*/*"))
        if path.is_file()
    }


# ── What the files say ───────────────────────────────────────────────────────


def read_recipe(folder: Path, name: str) -> ModelRecipe:
    """Say how to use the model in a folder, by the table of known ones, else by its own files."""
    hidden, positions = _sizes(folder / CONFIG)
    known = KNOWN_MODELS.get(name)
    if known is not None and known.dimensions == hidden:
        return known
    stated = (
        _optional(folder / "sentence_bert_config.json").get("max_seq_length"),
        _optional(folder / "tokenizer_config.json").get("model_max_length"),
    )
    fitting = [int(n) for n in stated if isinstance(n, int | float) and 2 < n < _NOT_COUNTED]
    config = _optional(folder / "config_sentence_transformers.json")
    prompts = config.get("prompts")
    prompts = prompts if isinstance(prompts, dict) else {}
    usual = prompts.get(config.get("default_prompt_name") or "", "")
    return ModelRecipe(
        name=name,
        pooling=_pooling(folder),
        max_tokens=min(fitting[0] if fitting else 512, positions),
        dimensions=hidden,
        query_prefix=str(prompts.get("query", usual) or ""),
        passage_prefix=str(prompts.get("passage", prompts.get("document", usual)) or ""),
        scripts=scripts_of(_vocabulary(folder / TOKENIZER))
        if (folder / TOKENIZER).is_file()
        else None,
    )


def read_json(path: Path, kind: type = dict, most: int = _LONGEST) -> Any:
    """Read a JSON object, or a list, from a model's folder."""
    try:
        content = json.loads(read_small(path, most))
    except UNREADABLE as error:
        raise EmbedError(f"{path} cannot be read: {why_unreadable(error)}.") from error
    if not isinstance(content, kind):
        raise EmbedError(f"{path} is not a JSON {'object' if kind is dict else 'list'}.")
    return content


def _vocabulary(path: Path) -> list[str]:
    """Return the pieces of words that a tokenizer knows, as they are in a text."""
    content = read_json(path, most=_LONGEST_TOKENIZER)
    model = content.get("model")
    pieces = [
        piece if isinstance(piece, str) else str(*piece[:1])
        for piece in (model.get("vocab") or () if isinstance(model, dict) else ())
    ]
    if "ByteLevel" not in str([content.get("pre_tokenizer"), content.get("decoder")]):
        return pieces
    # Such a tokenizer writes a byte that can be printed as this character, and the others as those
    # from 256 onwards.
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    byte_of = dict(enumerate(sorted({*range(256)} - {*printable}), 256)) | {b: b for b in printable}
    written = "\n".join(pieces).translate(byte_of).encode("latin-1", "ignore")
    return written.decode("utf-8", "ignore").split("\n")


def _optional(path: Path, kind: type = dict) -> Any:
    return read_json(path, kind) if path.is_file() else kind()


def _sizes(path: Path) -> tuple[int, int]:
    """Return the width of a token's vector, and how many tokens the model has positions for."""
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
    path = "1_Pooling"
    for module in _optional(folder / "modules.json", list):
        kind = str(module.get("type", "")).rpartition(".")[2] if isinstance(module, dict) else ""
        if kind == "Pooling":
            path = Path(str(module.get("path", path))).name  # next to the model, never elsewhere
        elif kind not in {"", "Transformer", "Normalize"}:
            raise EmbedError(
                f"dowse does not know the module {kind!r} of {folder.name}.",
                "Choose a model without it, or use an endpoint.",
            )
    config = _optional(folder / path / CONFIG)
    named = config.get("pooling_mode") or ()  # newer files name the mode, older ones have switches
    modes = {named} if isinstance(named, str) else set(named)
    modes |= {
        switch.removeprefix("pooling_mode_").removesuffix("_tokens")
        for switch, chosen in config.items()
        if switch.startswith("pooling_mode_") and chosen is True
    }
    if config.get("include_prompt", True) is True:
        if modes <= {"mean"}:
            return "mean"
        if modes in ({"cls"}, {"cls_token"}):
            return "cls"
    raise EmbedError(
        f"dowse cannot pool as {folder.name} wants it: {config}.",
        "Choose a model with mean or CLS pooling, or use an endpoint.",
    )


# ── A model ──────────────────────────────────────────────────────────────────

_REINSTALL = "Install dowse again, or choose another model with: dowse config set embed.model NAME"
_SHA256_DIGITS = 64
_WEIGHTS = Path(__file__).with_name("weights")

SHIPPED_WEIGHTS = "d3f2a5bcc6c34fc86973c78b67125c842e69b39272d8ddc30b14e565a3e241e3"
"""The sha256 of the model.safetensors that training/onnx_model.py made the shipped model of."""

_SHIPPED_CRCS = {"model.onnx": 0xDE7CF673, "model.onnx_data": 0xBE168BB1, TOKENIZER: 0x2D432799}


class Identity(Struct, frozen=True):
    """Which weights a model has, and how they are used."""

    recipe: ModelRecipe
    precision: Precision
    weights: str  # a sha256
    graph: str  # the file of this precision, in the model's folder


def weights_missing(reason: str, todo: str) -> WeightsMissing:
    """Make an error that says what happened, what still works and what to do."""
    return WeightsMissing(
        f"There are no weights to embed with: {reason}",
        f"Keyword, code and graph search work without them. {todo}",
    )


class LocalModel:
    """A model in a folder of the user's; the digest of its weights is noted in the cache."""

    is_fused = False  # the graph has fused operators already: there is nothing to optimise

    def __init__(self, name: str, folder: Path, models: ModelCache) -> None:
        self.name = name
        self.folder = folder
        self._models = models
        self._checked = False  # every file is read for this, so it is done once

    def identity(self, wanted: Precision | Literal["auto"]) -> Identity:
        """Say which weights these are, without loading them.

        `auto` takes int8 where that was measured to cost nothing.
        """
        paths = self._files()
        graphs = graphs_among(paths)
        recipe = read_recipe(self.folder, full_name(self.name))
        precision: Precision = "int8" if wanted == "int8" else "fp32"
        if wanted == "auto" and (recipe.int8_is_as_good or "fp32" not in graphs):
            precision = "int8" if "int8" in graphs else "fp32"
        if precision not in graphs:
            raise EmbedError(
                f"{hub_name(self.name)} has no graph in {precision}.",
                "Use the other with: dowse config set embed.precision "
                f"{'fp32' if precision == 'int8' else 'int8'}",
            )
        graph = graphs[precision]
        digests = [self._digest(path) for path in (graph, data_of(graph)) if path in paths]
        together = hashlib.sha256(" ".join(digests).encode()).hexdigest()
        return Identity(recipe, precision, digests[0] if len(digests) == 1 else together, graph)

    def graph(self, identity: Identity) -> Path:
        """Return the graph, intact."""
        self._check()
        return self.folder / identity.graph

    def tokenizer(self) -> bytes:
        """Return the content of tokenizer.json."""
        self._check()
        try:
            return (self.folder / TOKENIZER).read_bytes()
        except OSError as error:
            raise EmbedError(f"{self.folder / TOKENIZER} cannot be read: {error}.") from error

    def _check(self) -> None:
        """Raise `WeightsMissing` unless all files are there as they should be."""
        self._files()

    def _files(self) -> Collection[str]:
        paths = files_in(self.folder)
        if missing := missing_files(paths):
            raise weights_missing(
                f"{self.folder} has no {missing}.",
                f"A model's folder holds config.json, {TOKENIZER} and onnx/model.onnx.",
            )
        return paths

    def _digest(self, name: str) -> str:
        """Return the sha256 of a file, which is read again whenever it has changed."""
        # Notes are kept apart from the user's own files, by place.
        place = hashlib.sha256(str(self.folder).encode("utf-8", "surrogateescape")).hexdigest()
        notes, path = self._models.root / ".folders" / place[:16], self.folder / name
        note = notes / f"{path.name}.txt"
        try:
            state = path.stat()
            seen = f"{state.st_size} {state.st_mtime_ns}"
            with contextlib.suppress(OSError, ValueError):
                known, _, digest = note.read_text("ascii").rpartition(" ")
                if known == seen and len(digest) == _SHA256_DIGITS:
                    return digest
            digest = _sha256(path)
        except OSError as error:
            raise EmbedError(f"{path} cannot be read: {error}.") from error
        with contextlib.suppress(OSError):  # then it is read again next time
            make_private_folder(notes)
            replace_file(note, f"{seen} {digest}".encode("ascii"))
        return digest


class ShippedModel(LocalModel):
    """The model that is part of dowse: there is nothing to fetch."""

    is_fused = True

    def __init__(self, models: ModelCache) -> None:
        super().__init__(DEFAULT_MODEL, _WEIGHTS / DEFAULT_MODEL, models)

    def identity(self, wanted: Precision | Literal["auto"]) -> Identity:
        """Say which weights these are, without reading them."""
        if wanted == "fp32":
            raise EmbedError(
                f"{self.name} is part of dowse in int8 only.",
                "Use it with: dowse config set embed.precision auto",
            )
        return Identity(KNOWN_MODELS[self.name], "int8", SHIPPED_WEIGHTS, "model.onnx")

    def damage(self) -> list[str]:
        """Name the files that are not what they were."""
        return [name for name, crc in _SHIPPED_CRCS.items() if crc_of(self.folder / name) != crc]

    def _check(self) -> None:
        if damaged := [] if self._checked else self.damage():
            raise weights_missing(f"{self.folder / damaged[0]} is missing or damaged.", _REINSTALL)
        self._checked = True


class CachedModel(LocalModel):
    """A model in the cache, fetched there when it is first needed and fetching is allowed."""

    def __init__(self, model: str, models: ModelCache, announce: Announce, *, fetch: bool) -> None:
        name = full_name(model)
        super().__init__(name, models.folder(name), models)
        self._announce = announce
        self._fetch = fetch

    def _files(self) -> Collection[str]:
        if self._models.manifest(self.name) is None:
            self._check()
        return self._manifest().files

    def _digest(self, name: str) -> str:
        return self._manifest().files[name].sha256

    def _manifest(self) -> ModelManifest:
        manifest = self._models.manifest(self.name)
        if manifest is None:
            raise self._missing("it has just been removed")
        return manifest

    def _check(self) -> None:
        damage = [] if self._checked else self._models.damage(self.name)
        if damage and self._fetch:
            fetch_model(self.name, self._models, self._announce)
        elif damage and self._models.manifest(self.name):
            raise self._missing(f"of the model {self.name}, {', '.join(damage)} is damaged")
        elif damage:
            raise self._missing(f"the model {self.name} has not been fetched")
        self._checked = True

    def _missing(self, reason: str) -> WeightsMissing:
        return weights_missing(f"{reason}.", f"Fetch them with: dowse models pull {self.name}")


# ── The cache ────────────────────────────────────────────────────────────────
#     <cache>/models/<name>/            the model's files
#     <cache>/models/<name>/dowse.json  what they are, their sha256 and their CRC
# A folder appears by renaming, so neither an interrupted fetch nor a second process can leave or
# see half a model.

_MANIFEST = "dowse.json"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", re.ASCII)


class FileRecord(Struct, frozen=True):
    """What a file was when it was fetched."""

    bytes: int
    sha256: str
    crc: int  # compared at every use: it takes a tenth of the time of a sha256


class ModelManifest(Struct, frozen=True):
    """What a model folder holds."""

    name: str
    origin: str  # where it came from, for people
    files: dict[str, FileRecord]


class ModelCache:
    """The models in a cache folder."""

    def __init__(self, cache_dir: Path) -> None:
        self.root = cache_dir / "models"

    def folder(self, name: str) -> Path:
        """Return where a model is, or would be; raise `BadSettings` for what cannot be a name."""
        if not _NAME.fullmatch(name):
            raise BadSettings(
                f"{name!r} is not the name of a model.",
                "Write owner/name as on the model hub, or a folder starting with /, ./ or ~.",
            )
        return self.root / name.replace("/", "--")

    def manifest(self, name: str) -> ModelManifest | None:
        """Return what is known about a model; None when it is not here."""
        return _read_manifest(self.folder(name))

    def manifests(self) -> list[ModelManifest]:
        """Return what is known about every model here, by name."""
        return list(filter(None, map(_read_manifest, sorted(self.root.glob("[!.]*")))))

    def damage(self, name: str) -> list[str]:
        """Name the files that are not what they were."""
        folder, manifest = self.folder(name), self.manifest(name)
        if manifest is None:
            return [_MANIFEST]
        return [path for path, kept in manifest.files.items() if crc_of(folder / path) != kept.crc]

    def install(
        self, name: str, origin: str, fill: Callable[[Path], None], announce: Announce
    ) -> None:
        """Put a model in the cache unless another process has just done so.

        `fill` lays the model's files into an empty folder. Whatever it raises leaves no trace.
        """
        folder = self.folder(name)
        try:
            make_private_folder(self.root)
            with self._scratch(folder, name, announce) as scratch:
                if not self.damage(name):
                    return
                fill(scratch)
                paths = files_in(scratch)
                if missing := missing_files(paths):
                    raise weights_missing(
                        f"what was given as {name} has no {missing}.",
                        "dowse needs config.json, tokenizer.json and the model as ONNX, in "
                        "onnx/model.onnx.",
                    )
                files = {path: _record(scratch / path) for path in sorted(paths)}
                manifest = msgspec.json.encode(ModelManifest(name, origin, files))
                (scratch / _MANIFEST).write_bytes(msgspec.json.format(manifest))
                sync_tree(scratch)  # a model is whole, also after a power cut
                if folder.exists():
                    move_folder(folder, scratch.parent / "replaced")
                move_folder(scratch, folder)
        except OSError as error:
            raise weights_missing(
                f"the model {name} cannot be kept in {folder}: {error}.",
                "Make room or choose another folder with DOWSE_CACHE_DIR.",
            ) from error

    def remove(self, name: str) -> bool:
        """Take a model out of the cache; say whether there was one."""
        folder = self.folder(name)
        if not folder.is_dir():
            return False
        with self._scratch(folder, name, lambda _: None) as scratch:
            move_folder(folder, scratch.parent / "removed")
        return True

    @contextlib.contextmanager
    def _scratch(self, folder: Path, name: str, announce: Announce) -> Iterator[Path]:
        """Give an empty folder on the disk of the cache to the one process that changes a model."""
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(locked(folder, patience=0))
            except Locked:
                waiting = f"Waiting: another process is fetching {name}."
                announce(Event("download", 0, None, "bytes", waiting))
                held.enter_context(locked(folder, patience=-1))
            prefix = f".{folder.name}.partial-"
            for left_by_a_killed_process in self.root.glob(f"{prefix}*"):
                shutil.rmtree(left_by_a_killed_process, ignore_errors=True)
            with tempfile.TemporaryDirectory(
                dir=self.root, prefix=prefix, ignore_cleanup_errors=True
            ) as path:
                scratch = Path(path, "model")
                scratch.mkdir()
                yield scratch


def _read_manifest(folder: Path) -> ModelManifest | None:
    """Return what a model folder says about itself; None when it says nothing sensible."""
    try:
        manifest = msgspec.json.decode(read_small(folder / _MANIFEST), type=ModelManifest)
    except UNREADABLE:
        return None
    return manifest if graphs_among(manifest.files) else None


def _record(file: Path) -> FileRecord:
    return FileRecord(file.stat().st_size, _sha256(file), crc_of(file) or 0)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def crc_of(path: Path) -> int | None:
    """Return the CRC of a file's content; None when it cannot be read."""
    crc = 0
    try:
        with path.open("rb") as file:
            while part := file.read(1 << 20):
                crc = zlib.crc32(part, crc)
    except OSError:
        return None
    return crc


# ── Where models come from: the model hub, or a folder that the user has ─────
# HF_ENDPOINT may name a mirror of the hub. It may send so much a file, so much in all, and never
# fills the whole disk.

MOST_OF_A_FILE = 10_000_000_000
"""Bytes. The weights of models that embed on a CPU take a few hundred million."""

MOST_OF_A_MODEL = 20_000_000_000
"""Bytes of all of its files."""

KEPT_FREE = 500_000_000
"""Bytes of the disk that a download leaves to others."""

_YES = frozenset({"1", "on", "yes", "true"})
_ELSEWHERE = "Fetch it elsewhere and run: dowse models pull NAME --from FOLDER"
_INTERVAL = 0.2  # seconds between two notes of how much has arrived


def fetch_model(name: str, models: ModelCache, announce: Announce) -> None:
    """Put a model in the cache from where it is published; do nothing when it is there."""
    published = hub_name(name)

    def fill(folder: Path) -> None:
        if os.environ.get("HF_HUB_OFFLINE", "").lower() in _YES:
            raise weights_missing(
                f"Cannot download {published}: HF_HUB_OFFLINE is set.", _ELSEWHERE
            )
        # The hub's library looks at these when it is imported. Without the first it tells the hub,
        # and asks it, about the program that runs dowse; without the second it keeps logs and a
        # cache in the user's folder. A value that the user has chosen stays.
        for switch in ("HF_HUB_DISABLE_TELEMETRY", "HF_HUB_DISABLE_XET"):
            os.environ[switch] = os.environ.get(switch) or "1"
        _download(published, folder, announce)

    models.install(name, "the model hub", fill, announce)


def copy_model(name: str, source: Path, models: ModelCache, announce: Announce) -> None:
    """Put a model in the cache from a folder that the user already has."""
    if not source.is_dir():
        raise NotFound(f"There is no folder {source}.", "Name the folder of a model.")

    def fill(folder: Path) -> None:
        for path in wanted_files(files_in(source)):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / path, target)

    models.install(name, str(source), fill, announce)


def _download(name: str, folder: Path, announce: Announce) -> None:
    """Fetch the files of a model that dowse uses, and no others, into a folder."""
    import httpx2  # noqa: PLC0415  (only a fetch needs the network)
    from huggingface_hub import HfApi, errors, hf_hub_download  # noqa: PLC0415  (slow to import)
    from huggingface_hub.utils.tqdm import disable_progress_bars, tqdm  # noqa: PLC0415  (as above)

    disable_progress_bars()  # dowse announces progress itself
    # Read at call time: the library itself looks at its environment only when it is imported.
    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or None
    again = f"Try again with: dowse models pull {name}"
    try:
        info = HfApi(endpoint=endpoint).model_info(name, files_metadata=True)
        sizes = {file.rfilename: int(file.size or 0) for file in info.siblings or ()}
        if missing := missing_files(sizes):
            raise weights_missing(
                f"{name} on the model hub has no {missing}.",
                "Choose a model that is published as ONNX and with a tokenizer.json.",
            )
        wanted = {path: sizes[path] for path in sorted(wanted_files({*sizes}))}
        arrival = _Arrival(name, folder, wanted, announce)

        class Counting(tqdm):
            """A progress bar that draws nothing, and counts what arrives."""

            def update(self, n: float | None = 1) -> None:
                arrival.take(int(n or 0))

        for path in wanted:
            arrival.of_this_file = 0
            hf_hub_download(
                name,
                path,
                revision=info.sha,
                local_dir=folder,
                endpoint=endpoint,
                tqdm_class=Counting,
            )
    except errors.GatedRepoError as error:
        raise weights_missing(
            f"{name} is open only to those who agreed to its terms.",
            "Accept its terms on the hub and put your token into HF_TOKEN.",
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise weights_missing(
            f"The model hub knows no {name}.",
            "Check the name; for a private model put your token into HF_TOKEN.",
        ) from error
    except errors.HfHubHTTPError as error:
        raise weights_missing(
            f"The model hub answered {error.response.status_code} for {name}.", again
        ) from error
    except (httpx2.HTTPError, errors.OfflineModeIsEnabled, errors.LocalEntryNotFoundError) as error:
        raise weights_missing(f"The model hub cannot be reached: {error}.", again) from error
    except ValueError as error:  # a file arrived shorter than announced, or with another hash
        raise weights_missing(f"{name} did not arrive whole: {error}.", again) from error
    arrival.announce_all()
    shutil.rmtree(folder / ".cache", ignore_errors=True)  # notes of the library


class _Arrival:
    """What arrives of a model: announced, and stopped before it exceeds what may arrive."""

    def __init__(
        self, name: str, folder: Path, sizes: Mapping[str, int], announce: Announce
    ) -> None:
        self.of_this_file = 0
        self._name = name
        self._folder = folder
        self._arrived = 0
        self._total = sum(sizes.values()) or None
        self._announce = announce
        self._next_note = 0.0
        for path, count in sizes.items():  # what a hub announces, before anything is fetched
            self._check(path, count, self._total or 0, self._total or 0)
        announce(Event("download", 0, self._total, "bytes", f"Fetching {name} from the model hub."))

    def take(self, count: int) -> None:
        """Count bytes before they are written: a hub may send more than it announced."""
        self.of_this_file += count
        self._arrived += count
        self._check("a file", self.of_this_file, self._arrived, count)
        if time.monotonic() > self._next_note:
            self._next_note = time.monotonic() + _INTERVAL
            arrived = min(self._arrived, self._total or self._arrived)
            self._announce(Event("download", arrived, self._total, "bytes"))

    def announce_all(self) -> None:
        """Announce that all has arrived."""
        self._announce(Event("download", self._total or self._arrived, self._total, "bytes"))

    def _check(self, path: str, of_file: int, of_model: int, more: int) -> None:
        for what, count, most in (
            (f"{path} of {self._name} has", of_file, MOST_OF_A_FILE),
            (f"the files of {self._name} have", of_model, MOST_OF_A_MODEL),
        ):
            if count > most:
                raise weights_missing(
                    f"{what} {size(count)} or more, and {size(most)} are the most.", _ELSEWHERE
                )
        free = shutil.disk_usage(self._folder).free
        if more + KEPT_FREE > free:
            raise weights_missing(
                f"{self._name} needs {size(more)} more, and {size(free)} are free where"
                f" {self._folder} is; {size(KEPT_FREE)} must stay free.",
                "Make room or choose another folder with DOWSE_CACHE_DIR.",
            )
