"""The embedder that runs on this machine: tokenizer and onnxruntime, nothing else."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from dowse._embed.models.folder import WEIGHTS
from dowse._embed.models.local_model import Identity, LocalModel
from dowse._embed.onnx.architecture import read_architecture
from dowse._embed.onnx.encoder import BUILDER_VERSION, build_encoder
from dowse._embed.onnx.graph import Graph, Precision
from dowse._embed.onnx.session import Session
from dowse._embed.onnx.tensors import read_tensors
from dowse._embed.onnx.tokenize import TextTokenizer
from dowse._embed.options import EmbedOptions
from dowse._embed.parallel import run_parallel
from dowse._model import EmbeddedBatch, Matrix, Model, Vector
from dowse._util.arrays import np
from dowse._util.process import cores
from dowse.errors import EmbedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

# About a quarter of a second of work on one core for the default model.
_TOKENS_PER_BATCH = 2048
_TEXTS_IN_HAND = 4096  # sorted by length together, and held as token numbers


class TokenVectors(Struct, frozen=True):
    """A text token by token, for late interaction."""

    ids: NDArray[np.int64]  # token numbers, those that mark the ends included
    vectors: Matrix  # of unit length


class _Job(Struct, frozen=True):
    """Texts that one thread embeds one after the other."""

    positions: tuple[int, ...]
    ids: tuple[list[int], ...]


class OnnxEmbedder:
    """Embeds with a local model; weights are loaded on first use, once for all threads.

    A text's vector is equal to the bit whatever is embedded with it.
    """

    def __init__(self, model: LocalModel, options: EmbedOptions) -> None:
        self._source = model
        self._wanted_precision = options.precision
        self._threads = options.threads or cores()
        self._batch_size = options.batch_size
        self._loading = threading.Lock()
        self._known: Identity | None = None
        self._loaded: tuple[TextTokenizer, Session] | None = None

    @property
    def model(self) -> Model:
        """The model behind the vectors; reading it loads no weights."""
        recipe = self._identity().recipe
        key = f"{self._source.name}/{self._precision()}/{self._digest()}"
        return Model(key, recipe.dimensions, recipe.max_tokens, recipe.latin_only)

    def passages(self, texts: Sequence[str]) -> Iterator[EmbeddedBatch]:
        """Embeds texts to be found, longest first, yielding batches as they are done."""
        if not texts:
            return
        self._parts()  # fails here rather than in a thread
        prefix = self._identity().recipe.passage_prefix
        yield from run_parallel(self._embed, self._jobs(texts, prefix), self._threads)

    def query(self, text: str) -> Vector:
        """Embeds a text to search with."""
        tokenizer, _ = self._parts()
        return self._vector(tokenizer.ids([self._identity().recipe.query_prefix + text])[0])

    def token_vectors(self, text: str, *, query: bool = False) -> TokenVectors:
        """A text's tokens, each with its own vector."""
        tokenizer, session = self._parts()
        recipe = self._identity().recipe
        prefix = recipe.query_prefix if query else recipe.passage_prefix
        ids = tokenizer.ids([prefix + text])[0]
        vectors = _unit(session.run("tokens", {"ids": ids}))
        return TokenVectors(np.array(ids, dtype=np.int64), vectors)

    def _jobs(self, texts: Sequence[str], prefix: str) -> Iterator[_Job]:
        tokenizer, _ = self._parts()
        for start in range(0, len(texts), _TEXTS_IN_HAND):
            some = [prefix + text for text in texts[start : start + _TEXTS_IN_HAND]]
            # Longest first, so that the threads end together.
            numbered = sorted(enumerate(tokenizer.ids(some), start), key=lambda one: -len(one[1]))
            yield from _batches(numbered, self._batch_size)

    def _embed(self, job: _Job) -> EmbeddedBatch:
        return EmbeddedBatch(job.positions, np.stack([self._vector(ids) for ids in job.ids]))

    def _vector(self, ids: list[int]) -> Vector:
        _, session = self._parts()
        vector = _unit(session.run("vector", {"ids": ids}))
        if len(vector) != (wanted := self._identity().recipe.dimensions):
            raise EmbedError(
                f"The model's vectors have {len(vector)} numbers, and its config.json says "
                f"{wanted}.",
                "Fetch the model's files again, or choose another model.",
            )
        return vector

    def _parts(self) -> tuple[TextTokenizer, Session]:
        with self._loading:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> tuple[TextTokenizer, Session]:
        recipe, precision = self._identity().recipe, self._precision()

        def build(folder: Path) -> Graph:
            tensors = read_tensors(folder / WEIGHTS)
            return build_encoder(read_architecture(folder), tensors, recipe.pooling, precision)

        version = f"v{BUILDER_VERSION}-{self._identity().weights[:12]}"
        graph = self._source.graph(f"{recipe.pooling}-{precision}", version, build)
        return TextTokenizer(self._source.tokenizer(), recipe.max_tokens), Session(graph)

    def _identity(self) -> Identity:
        if self._known is None:
            self._known = self._source.identity()
        return self._known

    def _precision(self) -> Precision:
        if self._wanted_precision == "auto":
            return "int8" if self._identity().recipe.int8_is_as_good else "fp32"
        return self._wanted_precision

    def _digest(self) -> str:
        recipe, weights = self._identity().recipe, self._identity().weights
        prefixes = (recipe.query_prefix, recipe.passage_prefix)
        named = (BUILDER_VERSION, weights, recipe.pooling, recipe.max_tokens, prefixes)
        return hashlib.sha256(repr(named).encode()).hexdigest()[:8]


def _batches(numbered: Sequence[tuple[int, list[int]]], most: int) -> Iterator[_Job]:
    batch: list[tuple[int, list[int]]] = []
    tokens = 0
    for position, ids in numbered:
        if batch and (len(batch) == most or tokens + len(ids) > _TOKENS_PER_BATCH):
            yield _job(batch)
            batch, tokens = [], 0
        batch.append((position, ids))
        tokens += len(ids)
    if batch:
        yield _job(batch)


def _job(batch: Sequence[tuple[int, list[int]]]) -> _Job:
    return _Job(tuple(position for position, _ in batch), tuple(ids for _, ids in batch))


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    if not np.all(np.isfinite(lengths)) or not np.all(lengths > 0):
        raise EmbedError(
            "The model gives vectors without a length.",
            "Its weights are unusable: choose another embed.model.",
        )
    unit: NDArray[np.float32] = (vectors / lengths).astype(np.float32)
    return unit
