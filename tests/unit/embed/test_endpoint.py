"""Vectors from an endpoint, and every way in which it can fail to give them."""

from __future__ import annotations

import email.utils
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dowse._embed.endpoint import EndpointEmbedder
from dowse._embed.options import EmbedOptions
from dowse.errors import EndpointFailed
from embedding_server import DIMENSIONS, Answer, EmbeddingServer, embedding_server


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as running:
        yield running


@pytest.fixture
def waited() -> list[float]:
    """The pauses that were made, which take no time here."""
    return []


def connect(
    server: EmbeddingServer, cache: Path, waited: list[float], **options: Any
) -> EndpointEmbedder:
    chosen: dict[str, Any] = {"endpoint_url": server.url, "endpoint_model": "maker/model-3"}
    settings = EmbedOptions(provider="endpoint", **(chosen | options))
    return EndpointEmbedder(settings, cache / "endpoints.json", waited.append)


def body(*vectors: list[float]) -> str:
    data = [{"index": place, "embedding": vector} for place, vector in enumerate(vectors)]
    return json.dumps({"data": data})


# ── What is asked ────────────────────────────────────────────────────────────


def test_texts_travel_in_batches(server: EmbeddingServer, cache: Path, waited: list[float]) -> None:
    embedder = connect(server, cache, waited, endpoint_batch_size=4, endpoint_parallel=2)
    texts = [f"text {number}" for number in range(10)]
    batches = list(embedder.passages(texts))
    assert sorted(len(request["input"]) for request in server.requests) == [2, 4, 4]
    assert {request["model"] for request in server.requests} == {"maker/model-3"}
    for batch in batches:
        for place, vector in zip(batch.positions, batch.vectors, strict=True):
            expected = np.array(server.vector(texts[place]))
            assert np.allclose(vector, expected / np.linalg.norm(expected), atol=1e-6)


def test_vectors_are_put_in_order_by_their_index(
    server: EmbeddingServer, cache: Path, waited: list[float]
) -> None:
    server.reverse = True
    (batch,) = connect(server, cache, waited).passages(["a", "b", "c"])
    assert batch.positions == (0, 1, 2)
    expected = np.array(server.vector("a"))
    assert np.allclose(batch.vectors[0], expected / np.linalg.norm(expected), atol=1e-6)


def test_an_index_of_zero_may_be_left_out(
    server: EmbeddingServer, cache: Path, waited: list[float]
) -> None:
    server.answers = [
        Answer(body='{"data": [{"index": 1, "embedding": [0, 1]}, {"embedding": [1, 0]}]}')
    ]
    (batch,) = connect(server, cache, waited).passages(["a", "b"])
    assert batch.vectors.tolist() == [[1, 0], [0, 1]]


def test_prefixes_and_empty_texts(
    server: EmbeddingServer, cache: Path, waited: list[float]
) -> None:
    embedder = connect(
        server, cache, waited, endpoint_query_prefix="q: ", endpoint_passage_prefix="p: "
    )
    embedder.query("a")
    list(embedder.passages(["b"]))
    list(connect(server, cache, waited).passages(["", "\n", "half \ud83d"]))
    sent = [request["input"] for request in server.requests]
    assert sent == [["q: a"], ["p: b"], [" ", " ", "half ?"]]


def test_shortening_is_asked_for_only_when_wanted(
    server: EmbeddingServer, cache: Path, waited: list[float]
) -> None:
    connect(server, cache, waited, endpoint_dimensions=DIMENSIONS).query("a")
    connect(server, cache, waited, endpoint_dimensions=DIMENSIONS, endpoint_shorten=True).query("a")
    assert [request.get("dimensions") for request in server.requests] == [None, DIMENSIONS]


def test_the_key_comes_from_the_environment(
    server: EmbeddingServer, cache: Path, waited: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", " sk-123\n")
    connect(server, cache, waited, api_key_env="MY_KEY").query("a")
    connect(server, cache, waited).query("a")
    assert server.keys == ["Bearer sk-123", None]


@pytest.mark.parametrize("key", ["", "  ", "schlüssel", "a\x00b"])
def test_a_key_that_cannot_be_one(
    server: EmbeddingServer,
    cache: Path,
    waited: list[float],
    monkeypatch: pytest.MonkeyPatch,
    key: str,
) -> None:
    if "\x00" in key:
        key = "a\x07b"  # the environment holds no NUL
    monkeypatch.setenv("MY_KEY", key)
    with pytest.raises(EndpointFailed, match="MY_KEY"):
        connect(server, cache, waited, api_key_env="MY_KEY").query("a")
    assert server.requests == []


# ── The model ────────────────────────────────────────────────────────────────


def test_dimensions_are_asked_once_and_remembered(
    server: EmbeddingServer, cache: Path, waited: list[float]
) -> None:
    model = connect(server, cache, waited).model
    assert model.dimensions == DIMENSIONS
    assert model.key.startswith("endpoint/model-3/")
    assert connect(server, cache, waited).model == model
    assert len(server.requests) == 1


def test_the_first_vector_teaches_the_dimensions_too(
    server: EmbeddingServer, cache: Path, waited: list[float]
) -> None:
    embedder = connect(server, cache, waited)
    embedder.query("a")
    assert embedder.model.dimensions == DIMENSIONS
    assert len(server.requests) == 1


def test_given_dimensions_need_no_request(
    server: EmbeddingServer, cache: Path, waited: list[float]
) -> None:
    assert connect(server, cache, waited, endpoint_dimensions=7).model.dimensions == 7
    assert server.requests == []


@pytest.mark.parametrize("notes", ["", "[]", '{"a": "b"}'])
def test_garbled_notes_are_forgotten(
    server: EmbeddingServer, cache: Path, waited: list[float], notes: str
) -> None:
    cache.mkdir()
    (cache / "endpoints.json").write_text(notes)
    assert connect(server, cache, waited).model.dimensions == DIMENSIONS


def test_the_key_names_whatever_changes_vectors(
    server: EmbeddingServer, cache: Path, waited: list[float]
) -> None:
    variants: list[dict[str, Any]] = [
        {},
        {"endpoint_model": "other"},
        {"endpoint_url": "http://127.0.0.1:9/v1"},
        {"endpoint_query_prefix": "q: "},
        {"endpoint_shorten": True},
    ]
    keys = {
        connect(server, cache, waited, **({"endpoint_dimensions": 8} | variant)).model.key
        for variant in variants
    }
    assert len(keys) == len(variants)


# ── Failures that pass ───────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_passing_failures_are_tried_again_with_growing_pauses(
    server: EmbeddingServer, cache: Path, waited: list[float], status: int
) -> None:
    server.answers = [Answer(status, "busy")] * 3
    (batch,) = connect(server, cache, waited).passages(["a"])
    assert batch.vectors.shape == (1, DIMENSIONS)
    assert waited == [0.5, 1.0, 2.0]


def test_a_query_is_tried_less_often_since_a_person_waits(
    server: EmbeddingServer, cache: Path, waited: list[float]
) -> None:
    server.answers = [Answer(503, "busy")] * 6
    with pytest.raises(EndpointFailed, match="answered 503"):
        connect(server, cache, waited).query("a")
    assert len(server.requests) == 3
    assert waited == [0.5, 1.0]


def test_a_dropped_connection_is_tried_again(
    server: EmbeddingServer, cache: Path, waited: list[float]
) -> None:
    server.answers = [Answer(hang_up=True)] * 2
    assert connect(server, cache, waited).query("a").shape == (DIMENSIONS,)
    assert waited == [0.5, 1.0]


@pytest.mark.parametrize(
    ("asked", "pause"),
    [
        ("7", 7),
        ("0.25", 0.25),
        ("100000", 60),
        ("soon", 0.5),
        ("-1", 0.5),
        ("nan", 0.5),
        ("1e400", 0.5),
        ("9" * 5000, 0.5),
    ],
)
def test_the_endpoint_may_say_how_long_to_wait(
    server: EmbeddingServer,
    cache: Path,
    waited: list[float],
    asked: str,
    pause: float,
) -> None:
    server.answers = [Answer(429, headers={"Retry-After": asked})]
    list(connect(server, cache, waited).passages(["a"]))
    assert waited == [pause]


def test_a_query_does_not_wait_longer_than_its_timeout(
    server: EmbeddingServer, cache: Path, waited: list[float]
) -> None:
    server.answers = [Answer(429, "slow down", headers={"Retry-After": "30"})] * 2
    with pytest.raises(EndpointFailed, match="30 seconds of rest"):
        connect(server, cache, waited, endpoint_timeout=20.0).query("a")
    assert waited == []
    assert len(server.requests) == 1


def test_the_endpoint_may_name_the_time_to_come_back(
    server: EmbeddingServer, cache: Path, waited: list[float]
) -> None:
    later = email.utils.formatdate(time.time() + 30, usegmt=True)
    past = email.utils.formatdate(0, usegmt=True)
    server.answers = [Answer(503, headers={"Retry-After": when}) for when in (later, past)]
    connect(server, cache, waited).query("a")
    assert 20 < waited[0] <= 30
    assert waited[1] == 1.0


def test_patience_ends(server: EmbeddingServer, cache: Path, waited: list[float]) -> None:
    server.answers = [Answer(503, "down for the night")] * 10
    with pytest.raises(EndpointFailed, match="answered 503: down for the night"):
        connect(server, cache, waited, endpoint_retries=2).query("a")
    assert len(server.requests) == 3
    assert waited == [0.5, 1.0]


def test_nobody_listens(cache: Path, waited: list[float]) -> None:
    options = EmbedOptions(
        provider="endpoint", endpoint_url="http://me:secret@127.0.0.1:9/v1", endpoint_model="m"
    )
    embedder = EndpointEmbedder(options, cache / "notes", waited.append)
    with pytest.raises(EndpointFailed, match="cannot be reached") as failure:
        embedder.query("a")
    assert "secret" not in str(failure.value)
    assert waited == []  # it fails at once, so that the search falls back at once


def test_an_endpoint_that_does_not_answer_in_time(
    cache: Path, waited: list[float], silent_port: int
) -> None:
    options = EmbedOptions(
        provider="endpoint",
        endpoint_url=f"http://127.0.0.1:{silent_port}/v1",
        endpoint_model="m",
        endpoint_timeout=0.1,
        endpoint_retries=1,
    )
    embedder = EndpointEmbedder(options, cache / "notes", waited.append)
    with pytest.raises(EndpointFailed, match=r"did not answer within 0\.1 seconds"):
        embedder.query("a")
    assert waited == []  # the person who waits has waited long enough
    with pytest.raises(EndpointFailed, match=r"embed\.endpoint_timeout"):
        list(embedder.passages(["a"]))
    assert waited == [0.5]


# ── Failures that stay ───────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_is_not_tried_again(
    server: EmbeddingServer,
    cache: Path,
    waited: list[float],
    monkeypatch: pytest.MonkeyPatch,
    status: int,
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-wrong")
    server.answers = [Answer(status, "sk-wrong is wrong")] * 2
    with pytest.raises(EndpointFailed, match="environment variable MY_KEY") as failure:
        connect(server, cache, waited, api_key_env="MY_KEY").query("a")
    assert "sk-wrong" not in str(failure.value)
    with pytest.raises(EndpointFailed, match="api_key_env"):
        connect(server, cache, waited).query("a")
    assert waited == []


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(404, "nothing here"), "endpoint_model"),
        (Answer(400, "too  long\na text"), "answered 400: too long a text"),
        (Answer(302, headers={"Location": "http://127.0.0.1:9/"}), "answered 302"),
        (Answer(body=""), "no embeddings: nothing"),
        (Answer(body="{"), "no embeddings"),
        (Answer(body="[]"), "no embeddings"),
        (Answer(body='{"data": null}'), "no embeddings"),
        (Answer(body='{"data": [{"index": "0", "embedding": [1]}]}'), "no embeddings"),
        (Answer(body='{"data": [{"index": 0, "embedding": [1%s]}]}' % ("0" * 400)), "no embed"),
        (Answer(body='{"data": [{"index": 0, "embedding": [1%s]}]}' % ("0" * 9000)), "no embed"),
        (Answer(body='{"data": %s}' % ("[" * 100_000)), "no embeddings"),
        (Answer(body='{"data": [{"embedding": [1]}, {"embedding": [2]}]}'), "2 vectors for 1"),
        (Answer(body='{"data": [{"index": 0, "embedding": "AAAA"}]}'), "no embeddings"),
        (Answer(body='{"data": [{"index": 0, "embedding": [[1]]}]}'), "different lengths"),
        (Answer(body='{"data": [{"index": 0, "embedding": []}]}'), "without a length|dimensions"),
        (Answer(body='{"data": [{"index": 1, "embedding": [1]}]}'), "1 vectors for 1 texts"),
        (Answer(body=body()), "0 vectors for 1 texts"),
        (Answer(body=body([1.0], [1.0])), "2 vectors for 1 texts"),
        (Answer(body=body([0.0, 0.0])), "without a length"),
        (Answer(body='{"data": [{"index": 0, "embedding": [NaN, 1]}]}'), "without a length"),
    ],
)
def test_answers_that_are_no_vectors(
    server: EmbeddingServer, cache: Path, waited: list[float], answer: Answer, said: str
) -> None:
    server.answers = [answer]
    with pytest.raises(EndpointFailed, match=said):
        connect(server, cache, waited).query("a")
    assert waited == []


def test_vectors_of_different_lengths_in_one_answer(
    server: EmbeddingServer, cache: Path, waited: list[float]
) -> None:
    server.answers = [Answer(body=body([1.0], [1.0, 2.0]))]
    with pytest.raises(EndpointFailed, match="different lengths"):
        list(connect(server, cache, waited).passages(["a", "b"]))


def test_a_wrong_dimension_is_refused(
    server: EmbeddingServer, cache: Path, waited: list[float]
) -> None:
    with pytest.raises(EndpointFailed, match="24 dimensions, expected 8"):
        connect(server, cache, waited, endpoint_dimensions=8).query("a")
    connect(server, cache, waited).query("a")
    server.dimensions = 12
    with pytest.raises(EndpointFailed, match="12 dimensions, expected 24"):
        connect(server, cache, waited).query("a")


def test_a_bad_answer_teaches_nothing(
    server: EmbeddingServer, cache: Path, waited: list[float]
) -> None:
    server.answers = [Answer(body=body([0.0, 0.0]))]
    embedder = connect(server, cache, waited)
    with pytest.raises(EndpointFailed):
        assert embedder.model
    assert embedder.model.dimensions == DIMENSIONS


def test_what_came_before_a_failure_is_good(
    server: EmbeddingServer, cache: Path, waited: list[float]
) -> None:
    embedder = connect(server, cache, waited, endpoint_batch_size=1, endpoint_parallel=1)
    embedder.query("teaches the dimensions")
    batches = embedder.passages([str(number) for number in range(50)])
    kept = [next(batches)]
    with server.turn:
        server.answers = [Answer(400, "enough")] * 50
    with pytest.raises(EndpointFailed, match="enough"):
        kept.extend(batches)
    for batch in kept:
        expected = np.array(server.vector(str(batch.positions[0])))
        assert np.allclose(batch.vectors[0], expected / np.linalg.norm(expected), atol=1e-6)
