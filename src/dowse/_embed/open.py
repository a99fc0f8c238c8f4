"""Embedders and rerankers, as the options ask for them, and the list of models.

onnxruntime computes one text alone on one core per call, callable from many threads at once. On a
CPU that is as fast as padded batches, and a text's vector is then the same to the bit whatever else
is embedded with it, in whatever order, on however many threads.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Struct

from dowse._embed.models import (
    CachedModel,
    Identity,
    LocalModel,
    ModelCache,
    Pooling,
    Precision,
    ShippedModel,
    copy_model,
    fetch_model,
    full_name,
)
from dowse._embed.options import DEFAULT_MODEL, EmbedOptions, is_folder
from dowse._model import Announce, EmbeddedBatch, Matrix, Model, Vector, silent
from dowse._model.ports import Embedder, Reranker
from dowse._util.arrays import np
from dowse._util.files import folder_size
from dowse._util.messages import encodable
from dowse._util.process import cores, run_parallel
from dowse.errors import BadSettings, EmbedError, NotFound, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray


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

        return EndpointEmbedder(options, cache_dir / "models" / ".endpoints.json", offline=offline)
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


def rerankers(
    options: EmbedOptions,
    embedder: Embedder | None,
    cache_dir: Path,
    announce: Announce,
    given: Reranker | None = None,
    *,
    fetched: str = "",
) -> Callable[[str], Callable[[], Reranker] | None]:
    """Open rerankers by their model, each once; nothing is loaded before it is used.

    Without a model, an embedder on this machine reranks by its token vectors, and None stands for
    any other. A given one is used for every model. Weights of the model `fetched` are fetched on
    first use; those of a model that only a call names are not: a search must not download.
    """
    if given is not None:
        return lambda _: lambda: given
    opening = threading.Lock()

    @cache
    def opened(model: str) -> Reranker:
        if isinstance(embedder, OnnxEmbedder) and not model:
            return LateInteraction(embedder)
        return CrossEncoder(
            open_model(model, cache_dir, announce, fetch=model == fetched),
            threads=options.threads or cores(),
        )

    def open_once(model: str) -> Reranker:
        with opening:
            return opened(model)

    is_local = isinstance(embedder, OnnxEmbedder)
    return lambda model: partial(open_once, model) if model or is_local else None


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
    if name != DEFAULT_MODEL and source is not None:
        copy_model(name, source, models, announce)
    elif name != DEFAULT_MODEL:
        fetch_model(name, models, announce)
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


# ── The embedder of a local model ───────────────────────────────────────────────


# About a quarter of a second of work on one core for the default model.
_TOKENS_PER_BATCH = 2048
_TEXTS_IN_HAND = 4096  # sorted by length together, and held as token numbers
_VERSION = 2  # changes when the same weights would give other vectors: it is part of a model's key
# Real text has 1 to 10 characters per token. What is beyond this many could only be reached
# through runs of blanks or words that the model does not know, and reading it all takes seconds.
_CHARACTERS_PER_TOKEN = 64
_CHARACTERS_OF_QUERY = 500
_LONGEST_PIECE = 128  # characters; as long as those of the shipped tokenizer
_Batch = list[tuple[int, list[int]]]  # the place and the token numbers of some texts
_QUIET = 4  # fatal errors only: others are raised, and nobody asked for warnings about devices


class OnnxEmbedder:
    """Embeds with a local model; weights are loaded on first use, once for all threads.

    A text's vector is equal to the bit whatever is embedded with it.
    """

    def __init__(self, model: LocalModel, options: EmbedOptions) -> None:
        self._network = Network(model, options.precision)
        self._threads = options.threads or cores()
        self._batch_size = options.batch_size

    @property
    def model(self) -> Model:
        """Return the model behind the vectors; this loads no weights."""
        identity, name = self._network.identity, self._network.name
        recipe = identity.recipe
        named = (
            _VERSION,
            identity.weights,
            recipe.pooling,
            recipe.max_tokens,
            (recipe.query_prefix, recipe.passage_prefix),
        )
        key = f"{name}/{identity.precision}/{hashlib.sha256(repr(named).encode()).hexdigest()[:8]}"
        return Model(key, recipe.dimensions, recipe.max_tokens, recipe.scripts)

    def passages(self, texts: Sequence[str]) -> Iterator[EmbeddedBatch]:
        """Embed texts to be found, longest first, yielding batches as they are done."""
        if not texts:
            return
        tokenizer, _ = self._network.loaded()  # fails here rather than in a thread
        yield from run_parallel(self._embed, self._batches(texts, tokenizer), self._threads)

    def query(self, text: str) -> Vector:
        """Embed a text to search with."""
        tokenizer, _ = self._network.loaded()
        return self._vector(tokenizer.ids([self._network.identity.recipe.query_prefix + text])[0])

    def token_vectors(self, text: str, *, query: bool = False) -> Matrix:
        """Return the unit vector of each token of a text, those at its ends included."""
        tokenizer, session = self._network.loaded()
        recipe = self._network.identity.recipe
        prefix = recipe.query_prefix if query else recipe.passage_prefix
        return _unit(session.tokens(tokenizer.ids([prefix + text])[0]))

    def _batches(self, texts: Sequence[str], tokenizer: TextTokenizer) -> Iterator[_Batch]:
        """Yield texts that one thread embeds one after the other, with their places."""
        prefix = self._network.identity.recipe.passage_prefix
        for start in range(0, len(texts), _TEXTS_IN_HAND):
            some = [prefix + text for text in texts[start : start + _TEXTS_IN_HAND]]
            batch: _Batch = []
            tokens = 0
            numbered = enumerate(tokenizer.ids(some), start)
            # Longest first, so that the threads end together.
            for place, ids in sorted(numbered, key=lambda one: -len(one[1])):
                is_full = len(batch) == self._batch_size or tokens + len(ids) > _TOKENS_PER_BATCH
                if batch and is_full:
                    yield batch
                    batch, tokens = [], 0
                batch.append((place, ids))
                tokens += len(ids)
            yield batch

    def _embed(self, batch: _Batch) -> EmbeddedBatch:
        return EmbeddedBatch(
            tuple(place for place, _ in batch), np.stack([self._vector(ids) for _, ids in batch])
        )

    def _vector(self, ids: list[int]) -> Vector:
        _, session = self._network.loaded()
        vector = _unit(session.vector(ids))
        if len(vector) != (wanted := self._network.identity.recipe.dimensions):
            raise EmbedError(
                f"The model's vectors have {len(vector)} numbers, and its config.json says "
                f"{wanted}.",
                "Fetch the model's files again, or choose another model.",
            )
        return vector


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    if not np.all(np.isfinite(lengths)) or not np.all(lengths > 0):
        raise EmbedError(
            "The model gives vectors without a length.",
            "Its weights are unusable: choose another embed.model.",
        )
    unit: NDArray[np.float32] = (vectors / lengths).astype(np.float32)
    return unit


# ── Reranking: a query and each text are looked at together ──────────────────
# A cross-encoder is a model of its own that reads both. Without one, the embedding model's own
# token vectors do: every token of the query looks for the token of the passage that it fits best
# (MaxSim of ColBERT, Khattab and Zaharia, 2020), and the passage's score is the mean of these
# cosines.

_REMEMBERED = 1000  # passages; each takes about 100 kB


class CrossEncoder:
    """Scores pairs of texts; the model is loaded on first use."""

    def __init__(self, model: LocalModel, threads: int = 1) -> None:
        self._network = Network(model, "auto")
        self._threads = threads

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """Say how well each passage answers the query, from 0 to 1, in their order."""
        if not passages:
            return []
        tokenizer, session = self._network.loaded()  # fails here rather than in a thread

        def score(place: int) -> tuple[int, float]:
            pair = tokenizer.pair(query, passages[place])
            logits = session.logits(pair.ids, pair.type_ids).astype(np.float64)
            # One label: its logistic. Several: the chance of the last, which means "relevant".
            logits = logits if len(logits) > 1 else np.array([0.0, logits[0]])
            weights = np.exp(logits - logits.max())
            return place, float(weights[-1] / weights.sum())

        found = dict(run_parallel(score, range(len(passages)), self._threads))
        return [found[place] for place in range(len(passages))]


class LateInteraction:
    """Scores passages by how well their tokens fit those of the query."""

    def __init__(self, embedder: OnnxEmbedder) -> None:
        self._embedder = embedder
        self._tokens = lru_cache(_REMEMBERED)(embedder.token_vectors)

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """Say how well each passage answers the query, from 0 to 1."""
        wanted = self._embedder.token_vectors(query, query=True)
        best = [(wanted @ self._tokens(passage).T).max(axis=1) for passage in passages]
        return [float(np.clip(one.mean(), 0.0, 1.0)) for one in best]


# ── A model, running ─────────────────────────────────────────────────────────


class Network:
    """A model with its tokenizer, loaded at the first use, once for all threads."""

    def __init__(self, model: LocalModel, precision: Precision | Literal["auto"]) -> None:
        self.name = model.name
        self._model = model
        self._precision = precision
        self._loading = threading.Lock()
        self._loaded: tuple[TextTokenizer, Session] | None = None

    @cached_property
    def identity(self) -> Identity:
        """Say which weights these are, and how they are used."""
        return self._model.identity(self._precision)

    def loaded(self) -> tuple[TextTokenizer, Session]:
        """Return its parts, ready to compute."""
        with self._loading:
            if self._loaded is None:
                recipe, graph = self.identity.recipe, self._model.graph(self.identity)
                session = Session(graph, recipe.pooling, is_fused=self._model.is_fused)
                tokenizer = TextTokenizer(self._model.tokenizer(), recipe.max_tokens)
                self._loaded = tokenizer, session
            return self._loaded


class Session:
    """A loaded graph; the weights next to a file are mapped into memory, not copied.

    Its inputs and outputs have the names that models are published with.
    """

    def __init__(self, graph: Path, pooling: Pooling, *, is_fused: bool) -> None:
        import onnxruntime  # noqa: PLC0415  (slow to import, and not every command embeds)

        # A program may have loaded it before dowse, too late for the environment.
        if os.environ.get("ORT_DISABLE_TELEMETRY") == "1":
            onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = _QUIET
        if is_fused:  # then there is nothing to look for
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        try:
            self._session = onnxruntime.InferenceSession(
                graph, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # its errors share no other base
            raise EmbedError(
                f"onnxruntime {onnxruntime.__version__} cannot load {graph}: {error}.",
                "Fetch the model's files again, or choose another model.",
            ) from error
        self._inputs = {one.name for one in self._session.get_inputs()}
        self._outputs = [one.name for one in self._session.get_outputs()]
        self._pooling = pooling

    def vector(self, ids: Sequence[int]) -> Any:
        """Return the vector of one text: the graph's own, or pooled from those of its tokens."""
        if "sentence_embedding" in self._outputs:
            return self._run("sentence_embedding", ids)
        tokens = self.tokens(ids)
        return tokens[0] if self._pooling == "cls" else tokens.mean(axis=0)

    def tokens(self, ids: Sequence[int]) -> Any:
        """Return the vector of each token of one text."""
        named = [one for one in ("last_hidden_state", "token_embeddings") if one in self._outputs]
        tokens = self._run((named or self._outputs)[0], ids)
        if tokens.ndim != 2:
            raise EmbedError(
                f"The model's graph gives no vectors of tokens, but {', '.join(self._outputs)}.",
                "Choose a model that embeds texts.",
            )
        return tokens

    def logits(self, ids: Sequence[int], types: Sequence[int]) -> Any:
        """Return what a cross-encoder says of a pair of texts."""
        if "logits" not in self._outputs:
            raise EmbedError(
                f"The model's graph has no logits, but {', '.join(self._outputs)}.",
                "Choose a cross-encoder as rerank.model.",
            )
        return self._run("logits", ids, types)

    def _run(self, output: str, ids: Sequence[int], types: Sequence[int] | None = None) -> Any:
        given = {
            "input_ids": ids,
            "attention_mask": [1] * len(ids),  # no text is padded
            "token_type_ids": types or [0] * len(ids),
        }
        feed = {name: np.array([given[name]], np.int64) for name in self._inputs & {*given}}
        try:
            return self._session.run([output], feed)[0][0]
        except Exception as error:  # as above: a token that the table of words does not have
            raise EmbedError(
                f"The model cannot read a text: {error}.",
                "Its tokenizer.json, config.json and weights do not belong together: fetch them "
                "again, or choose another model.",
            ) from error


class TextTokenizer:
    """Numbers the tokens of texts; may be used by several threads at once."""

    def __init__(self, content: bytes, max_tokens: int) -> None:
        # Loaded before threads use it: two that import parts of it at once see a half-made module.
        import tokenizers  # noqa: PLC0415  (not every command embeds)

        self._from_buffer = tokenizers.Tokenizer.from_buffer
        self._content = content
        self._max_tokens = max_tokens
        self._max_characters = max_tokens * _CHARACTERS_PER_TOKEN
        self._is_first = True
        self._whole: Any = None

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token numbers of each text, those that mark its ends included."""
        cut = [encodable(text[: self._max_characters]) for text in texts]
        return [encoding.ids for encoding in self._opened(cut).encode_batch_fast(cut)]

    def pair(self, first: str, second: str) -> Any:
        """Join two texts: `ids`, and in `type_ids` which text each token belongs to."""
        cut = [encodable(text[: self._max_characters]) for text in (first, second)]
        return self._opened(cut).encode(*cut)

    def _opened(self, texts: Sequence[str]) -> Any:
        """Load the tokenizer at its first use.

        A command that embeds a query needs few pieces: they are there in a third of the time.
        """
        if self._whole is not None:
            return self._whole
        is_query = self._is_first and sum(map(len, texts)) <= _CHARACTERS_OF_QUERY
        self._is_first = False
        try:
            made = self._from_buffer(only_for(self._content, texts) if is_query else self._content)
        except Exception as error:  # the library raises nothing more special
            raise EmbedError(f"The model's tokenizer.json cannot be used: {error}.") from error
        made.no_padding()
        made.enable_truncation(self._max_tokens)
        if not is_query:
            self._whole = made
        return made


def only_for(content: bytes, texts: Sequence[str]) -> bytes:
    """Reduce a byte-level BPE tokenizer to the pieces that texts can be cut into; others stay."""
    try:
        whole = msgspec.json.decode(content)
        model, cutter = whole["model"], whole["pre_tokenizer"]
        if (model["type"], cutter["type"], whole["normalizer"]) != ("BPE", "ByteLevel", None):
            return content
        from tokenizers.pre_tokenizers import ByteLevel  # noqa: PLC0415  not every command embeds

        cut = ByteLevel(add_prefix_space=cutter["add_prefix_space"]).pre_tokenize_str
        words = {word for text in texts for word, _ in cut(text)}
        parts = {
            word[start:end]
            for word in words
            for start in range(len(word))
            for end in range(start + 1, min(len(word), start + _LONGEST_PIECE) + 1)
        }
        parts.update(token["content"] for token in whole["added_tokens"])
        vocabulary = model["vocab"]
        model["vocab"] = {piece: vocabulary[piece] for piece in parts if piece in vocabulary}
        model["merges"] = [one for one in model["merges"] if "".join(one).replace(" ", "") in parts]
        return msgspec.json.encode(whole)
    except (AttributeError, KeyError, TypeError, msgspec.DecodeError):
        return content
