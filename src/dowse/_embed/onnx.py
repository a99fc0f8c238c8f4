"""The embedder that runs on this machine: tokenizer and onnxruntime, nothing else.

onnxruntime computes one text alone on one core per call, callable from many threads at once. On a
CPU that is as fast as padded batches, and a text's vector is then the same to the bit whatever else
is embedded with it, in whatever order, on however many threads.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from dowse._embed.models import Identity, LocalModel, Pooling
from dowse._embed.options import EmbedOptions
from dowse._model import EmbeddedBatch, Matrix, Model, Vector, text_key
from dowse._util.arrays import np
from dowse._util.messages import encodable
from dowse._util.process import cores, run_parallel
from dowse.errors import EmbedError

if TYPE_CHECKING:
    from numpy.typing import NDArray


# About a quarter of a second of work on one core for the default model.
_TOKENS_PER_BATCH = 2048
_TEXTS_IN_HAND = 4096  # sorted by length together, and held as token numbers
_VERSION = 2  # changes when the same weights would give other vectors: it is part of a model's key
# Real text has 1 to 10 characters per token. What is beyond this many could only be reached
# through runs of blanks or words that the model does not know, and reading it all takes seconds.
_CHARACTERS_PER_TOKEN = 64
_QUIET = 4  # fatal errors only: others are raised, and nobody asked for warnings about devices


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
        key = f"{self._source.name}/{self._identity().precision}/{self._digest()}"
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
        vectors = _unit(session.tokens(ids))
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
        vector = _unit(session.vector(ids))
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
        identity = self._identity()
        recipe, graph = identity.recipe, self._source.graph(identity)
        session = Session(graph, recipe.pooling, is_fused=self._source.is_fused)
        return TextTokenizer(self._source.tokenizer(), recipe.max_tokens), session

    def _identity(self) -> Identity:
        if self._known is None:
            self._known = self._source.identity(self._wanted_precision)
        return self._known

    def _digest(self) -> str:
        recipe, weights = self._identity().recipe, self._identity().weights
        prefixes = (recipe.query_prefix, recipe.passage_prefix)
        named = (_VERSION, weights, recipe.pooling, recipe.max_tokens, prefixes)
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


# ── A graph, running ─────────────────────────────────────────────────────────


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
            level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            options.graph_optimization_level = level
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
        """The vector of one text: the graph's own, or pooled from those of its tokens."""
        if "sentence_embedding" in self._outputs:
            return self._run("sentence_embedding", ids)
        tokens = self.tokens(ids)
        return tokens[0] if self._pooling == "cls" else tokens.mean(axis=0)

    def tokens(self, ids: Sequence[int]) -> Any:
        """The vector of each token of one text."""
        named = [one for one in ("last_hidden_state", "token_embeddings") if one in self._outputs]
        tokens = self._run((named or self._outputs)[0], ids)
        if tokens.ndim != 2:
            raise EmbedError(
                f"The model's graph gives no vectors of tokens, but {', '.join(self._outputs)}.",
                "Choose a model that embeds texts.",
            )
        return tokens

    def logits(self, ids: Sequence[int], types: Sequence[int]) -> Any:
        """What a cross-encoder says of a pair of texts."""
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


# ── Text → token numbers ─────────────────────────────────────────────────────


class TextTokenizer:
    """Numbers the tokens of texts; may be used by several threads at once."""

    def __init__(self, content: bytes, max_tokens: int) -> None:
        from tokenizers import Tokenizer  # noqa: PLC0415  (not every command embeds)

        try:
            self._tokenizer = Tokenizer.from_buffer(content)
        except Exception as error:  # the library raises nothing more special
            raise EmbedError(f"The model's tokenizer.json cannot be used: {error}.") from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_tokens)
        self._max_characters = max_tokens * _CHARACTERS_PER_TOKEN

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The token numbers of each text, those that mark its ends included."""
        cleaned = [self._clean(text) for text in texts]
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(cleaned)]

    def pair(self, first: str, second: str) -> Any:
        """Two texts as one sequence: its `ids`, and in `type_ids` which text each belongs to."""
        return self._tokenizer.encode(self._clean(first), self._clean(second))

    def _clean(self, text: str) -> str:
        return encodable(text[: self._max_characters])


_REMEMBERED = 1000  # passages; each takes about 100 kB


class CrossEncoder:
    """Scores pairs of texts; the model is loaded on first use."""

    def __init__(self, model: LocalModel, threads: int = 1) -> None:
        self._source = model
        self._threads = threads
        self._loading = threading.Lock()
        self._loaded: tuple[TextTokenizer, Session] | None = None

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """How well each passage answers the query, from 0 to 1, in their order."""
        scores = [0.0] * len(passages)
        if passages:
            self._parts()  # fails here rather than in a thread
        jobs = ((query, text, place) for place, text in enumerate(passages))
        for place, score in run_parallel(self._score, jobs, self._threads):
            scores[place] = score
        return scores

    def _score(self, job: tuple[str, str, int]) -> tuple[int, float]:
        query, text, place = job
        tokenizer, session = self._parts()
        pair = tokenizer.pair(query, text)
        logits = session.logits(pair.ids, pair.type_ids)
        return place, _probability(logits.astype(np.float64))

    def _parts(self) -> tuple[TextTokenizer, Session]:
        with self._loading:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> tuple[TextTokenizer, Session]:
        identity = self._source.identity("auto")
        recipe, graph = identity.recipe, self._source.graph(identity)
        session = Session(graph, recipe.pooling, is_fused=self._source.is_fused)
        return TextTokenizer(self._source.tokenizer(), recipe.max_tokens), session


def _probability(logits: NDArray[np.float64]) -> float:
    # One label: its logistic. Several: the chance of the last, which means "relevant".
    logits = logits if len(logits) > 1 else np.array([0.0, logits[0]])
    weights = np.exp(logits - logits.max())
    return float(weights[-1] / weights.sum())


class ReadsTokens(Protocol):
    """An embedder that gives the vector of every token."""

    def token_vectors(self, text: str, *, query: bool = False) -> TokenVectors:
        """A text's tokens, each with its own vector."""
        ...


class LateInteraction:
    """Scores passages by how well their tokens fit those of the query."""

    def __init__(self, embedder: ReadsTokens) -> None:
        self._embedder = embedder
        self._seen: OrderedDict[bytes, Matrix] = OrderedDict()
        self._lock = threading.Lock()

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """How well each passage answers the query, from 0 to 1."""
        wanted = self._embedder.token_vectors(query, query=True).vectors
        return [_fit(wanted, self._tokens(passage)) for passage in passages]

    def _tokens(self, passage: str) -> Matrix:
        key = text_key(passage)
        with self._lock:
            known = self._seen.get(key)
        if known is None:
            known = self._embedder.token_vectors(passage).vectors
            with self._lock:
                self._seen[key] = known
                if len(self._seen) > _REMEMBERED:
                    self._seen.popitem(last=False)
        return known


def _fit(wanted: Matrix, offered: Matrix) -> float:
    best = (wanted @ offered.T).max(axis=1)
    return float(np.clip(best.mean(), 0.0, 1.0))
