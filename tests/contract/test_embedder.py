"""What every embedder promises; a new one joins by one line in EMBEDDERS."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dowse._embed.open import open_embedder
from dowse._embed.options import EmbedOptions
from dowse._model import Matrix
from dowse._model.ports import Embedder
from dowse.testing import HashEmbedder
from embedding_server import embedding_server
from tiny_model import make_model

Opened = AbstractContextManager[Embedder]


def _local(precision: str) -> Callable[[Path], Opened]:
    def make(folder: Path) -> Opened:
        model = make_model(folder / "tiny")
        options = EmbedOptions(model=str(model), precision=precision, threads=3)  # type: ignore[arg-type]
        return nullcontext(open_embedder(options, folder / "cache"))

    return make


@contextmanager
def _endpoint(folder: Path) -> Iterator[Embedder]:
    with embedding_server() as server:
        options = EmbedOptions(
            provider="endpoint",
            endpoint_url=server.url,
            endpoint_model="m",
            endpoint_batch_size=5,
        )
        yield open_embedder(options, folder / "cache")


EMBEDDERS: dict[str, Callable[[Path], Opened]] = {
    "onnx fp32": _local("fp32"),
    "onnx int8": _local("int8"),
    "endpoint": _endpoint,
    "fake": lambda _: nullcontext(HashEmbedder()),
}

UGLY = [
    "",
    " \n\t ",
    "a",
    "the query is a\x00b",
    "half a pair: \ud83d",
    "検索エンジン と 🚀",
    "word " * 5000,
    "x" * 100_000,
    "the query",
]


@pytest.fixture(scope="module", params=EMBEDDERS)
def embedder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Embedder]:
    with EMBEDDERS[request.param](tmp_path_factory.mktemp("embedder")) as opened:
        yield opened


def embed(embedder: Embedder, texts: list[str]) -> Matrix:
    vectors = np.zeros((len(texts), embedder.model.dimensions), dtype=np.float32)
    for batch in embedder.passages(texts):
        vectors[list(batch.positions)] = batch.vectors
    return vectors


def test_vectors_have_the_dimensions_of_the_model_and_unit_length(embedder: Embedder) -> None:
    for batch in embedder.passages(UGLY):
        assert batch.vectors.dtype == np.float32
        assert batch.vectors.shape == (len(batch.positions), embedder.model.dimensions)
        assert np.allclose(np.linalg.norm(batch.vectors, axis=1), 1, atol=1e-5)
    for text in UGLY:
        vector = embedder.query(text)
        assert vector.dtype == np.float32
        assert vector.shape == (embedder.model.dimensions,)
        assert np.isclose(np.linalg.norm(vector), 1, atol=1e-5)


def test_every_position_is_yielded_once(embedder: Embedder) -> None:
    texts = [f"text {number} " + "word " * (number % 17) for number in range(100)]
    positions = [place for batch in embedder.passages(texts) for place in batch.positions]
    assert sorted(positions) == list(range(100))


def test_no_texts_give_no_batches(embedder: Embedder) -> None:
    assert list(embedder.passages([])) == []


@given(texts=st.lists(st.text(max_size=60), min_size=1, max_size=12), seed=st.randoms())
@settings(
    deadline=None,
    max_examples=50,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_a_text_has_the_same_vector_whatever_is_embedded_with_it(
    embedder: Embedder, texts: list[str], seed: object
) -> None:
    together = embed(embedder, texts)
    order = list(range(len(texts)))
    seed.shuffle(order)  # type: ignore[attr-defined]
    shuffled = embed(embedder, [texts[place] for place in order])
    assert np.array_equal(shuffled, together[order])
    assert np.array_equal(embed(embedder, texts[:1])[0], together[0])


def test_different_texts_have_different_vectors(embedder: Embedder) -> None:
    vectors = embed(embedder, ["the cat", "a very long dog walks home", "42"])
    for first, second in itertools.combinations(vectors, 2):
        assert first @ second < 0.9999


def test_threads_may_ask_at_the_same_time(embedder: Embedder) -> None:
    texts = [f"query {number}" for number in range(40)]
    alone = np.stack([embedder.query(text) for text in texts])
    with ThreadPoolExecutor(8) as pool:
        assert np.array_equal(np.stack(list(pool.map(embedder.query, texts))), alone)


def test_what_was_yielded_before_the_caller_stopped_is_good(embedder: Embedder) -> None:
    texts = [f"text {number}" for number in range(60)]
    whole = embed(embedder, texts)
    batches = embedder.passages(texts)
    first = next(batches)
    batches.close()  # type: ignore[attr-defined]
    assert np.array_equal(whole[list(first.positions)], first.vectors)


def test_the_model_has_a_readable_key(embedder: Embedder) -> None:
    key = embedder.model.key
    assert key == embedder.model.key
    assert key.isprintable()
    assert 3 < len(key) < 80
    assert embedder.model.max_tokens > 0
