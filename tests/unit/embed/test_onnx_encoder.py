"""The local embedder: lazy, keyed by what its vectors depend on, and easy to stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from msgspec.structs import replace

from command_line import with_ctrl_c
from dowse._embed.models import KNOWN_MODELS, LocalModel
from dowse._embed.open import CrossEncoder, OnnxEmbedder, open_embedder, open_model, pull, remove
from dowse._embed.options import EmbedOptions
from dowse.errors import BadSettings, EmbedError, UsageError, WeightsMissing
from tiny_model import HIDDEN, make_model


def opened(model: Path | str, cache: Path, **options: Any) -> OnnxEmbedder:
    embedder = open_embedder(EmbedOptions(model=str(model), **options), cache, fetch=False)
    assert isinstance(embedder, OnnxEmbedder)
    return embedder


# ── Loading ──────────────────────────────────────────────────────────────────


def test_without_weights_the_error_says_what_works_and_what_to_do(cache: Path) -> None:
    embedder = opened("all-MiniLM-L6-v2", cache)
    for use in (lambda: embedder.query("a"), lambda: list(embedder.passages(["a"]))):
        with pytest.raises(WeightsMissing) as failure:
            use()
        assert "Keyword, code and graph search work without them." in str(failure.value)
        assert failure.value.hint.endswith("dowse models pull all-MiniLM-L6-v2")


def test_threads_that_start_together_load_once(tmp_path: Path, cache: Path) -> None:
    embedder = opened(make_model(tmp_path / "tiny"), cache)
    barrier = threading.Barrier(8)

    def ask(_: int) -> Any:
        barrier.wait(60)
        return embedder.query("the query")

    with ThreadPoolExecutor(8) as pool:
        vectors = list(pool.map(ask, range(8)))
    assert all(np.array_equal(vectors[0], vector) for vector in vectors)


def test_a_damaged_tokenizer_is_noticed(published: Path, cache: Path) -> None:
    path = Path(pull("tiny", cache, source=published).path, "tokenizer.json")
    path.write_text(path.read_text().replace("[UNK]", "[XXX]"))
    with pytest.raises(WeightsMissing, match=r"tokenizer\.json is damaged"):
        opened("tiny", cache).query("a")


# ── Folders ──────────────────────────────────────────────────────────────────


def test_the_users_folder_is_only_read(tmp_path: Path, cache: Path) -> None:
    model = make_model(tmp_path / "tiny")
    before = {path: path.stat().st_mtime_ns for path in model.rglob("*")}
    opened(model, cache).query("a")
    assert {path: path.stat().st_mtime_ns for path in model.rglob("*")} == before


def test_a_changed_folder_is_another_model(tmp_path: Path, cache: Path) -> None:
    model = make_model(tmp_path / "tiny")
    first = opened(model, cache)
    key, vector = first.model.key, first.query("a")
    make_model(tmp_path / "tiny", seed=1)
    second = opened(model, cache)
    assert second.model.key != key
    assert not np.allclose(second.query("a"), vector)


def test_the_weights_of_a_folder_are_read_once_for_the_key(tmp_path: Path, cache: Path) -> None:
    model = make_model(tmp_path / "tiny")
    key = opened(model, cache).model.key
    weights = model / "onnx" / "model.onnx_data"
    state = weights.stat()
    weights.write_bytes(b"!" * state.st_size)
    os.utime(weights, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert opened(model, cache).model.key == key


@pytest.mark.parametrize("missing", ["config.json", "onnx/model.onnx", "tokenizer.json"])
def test_a_folder_that_is_no_model(tmp_path: Path, cache: Path, missing: str) -> None:
    model = make_model(tmp_path / "tiny")
    (model / missing).unlink()
    (model / "onnx" / "model_int8.onnx").unlink()
    with pytest.raises(WeightsMissing, match=missing):
        opened(model, cache).query("a")


def test_folders_are_distinguished_from_names(tmp_path: Path, cache: Path) -> None:
    assert type(open_model("./x", cache)) is LocalModel
    assert type(open_model("~/x", cache)) is LocalModel
    assert type(open_model(str(tmp_path), cache)) is LocalModel
    assert open_model("bge-small-en-v1.5", cache).name == "BAAI/bge-small-en-v1.5"
    with pytest.raises(BadSettings):
        open_model("a/b/c", cache)
    with pytest.raises(BadSettings, match="folder"):
        pull("./x", cache)


def test_no_provider_means_no_embedder(cache: Path) -> None:
    with pytest.raises(UsageError, match="provider"):
        open_embedder(EmbedOptions(provider="none"), cache)


# ── Vectors ──────────────────────────────────────────────────────────────────


def test_the_key_names_whatever_changes_vectors(
    published: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pull("tiny", cache, source=published)
    known = KNOWN_MODELS["tiny"]
    recipes = [
        known,
        replace(known, pooling="cls"),
        replace(known, max_tokens=63),
        replace(known, query_prefix="q: "),
        replace(known, passage_prefix="q: "),
    ]
    keys = []
    for recipe in recipes:
        monkeypatch.setitem(KNOWN_MODELS, "tiny", recipe)
        keys.append(opened("tiny", cache).model.key)
    keys.append(opened("tiny", cache, precision="int8").model.key)
    remove("tiny", cache)
    pull("tiny", cache, source=make_model(tmp_path / "other", seed=1))
    keys.append(opened("tiny", cache).model.key)
    assert len(set(keys)) == len(keys)
    assert all(key.startswith("tiny/") for key in keys)


def test_prefixes_are_put_before_texts(
    published: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pull("tiny", cache, source=published)
    plain = opened("tiny", cache)
    assert plain.model.dimensions == HIDDEN  # it knows its recipe from here on
    recipe = replace(KNOWN_MODELS["tiny"], query_prefix="query: ", passage_prefix="the: ")
    monkeypatch.setitem(KNOWN_MODELS, "tiny", recipe)
    prefixed = opened("tiny", cache)
    (batch,) = prefixed.passages(["a"])
    assert np.array_equal(prefixed.query("a"), plain.query("query: a"))
    assert np.array_equal(batch.vectors[0], plain.query("the: a"))


def test_auto_means_int8_only_where_it_was_measured(
    published: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pull("tiny", cache, source=published)
    assert "/fp32/" in opened("tiny", cache).model.key
    monkeypatch.setitem(KNOWN_MODELS, "tiny", replace(KNOWN_MODELS["tiny"], int8_is_as_good=True))
    assert "/int8/" in opened("tiny", cache).model.key


def test_long_texts_are_cut_to_what_the_model_reads(tmp_path: Path, cache: Path) -> None:
    embedder = opened(make_model(tmp_path / "tiny"), cache)
    assert embedder.model.max_tokens == 64
    assert np.array_equal(embedder.query("a " * 62), embedder.query("a " * 100_000))
    assert not np.array_equal(embedder.query("a " * 61), embedder.query("a " * 62))


def test_the_number_of_threads_changes_nothing(tmp_path: Path, cache: Path) -> None:
    model = make_model(tmp_path / "tiny")
    texts = [f"text {number} " * (number % 9) for number in range(50)]

    def embed(threads: int, batch_size: int) -> Any:
        vectors = np.zeros((50, HIDDEN), dtype=np.float32)
        for batch in opened(model, cache, threads=threads, batch_size=batch_size).passages(texts):
            assert len(batch.positions) <= batch_size
            vectors[list(batch.positions)] = batch.vectors
        return vectors

    assert np.array_equal(embed(1, 1), embed(5, 7))


def test_longer_texts_come_first(tmp_path: Path, cache: Path) -> None:
    embedder = opened(make_model(tmp_path / "tiny"), cache, threads=1, batch_size=1)
    texts = ["a", "a b c d", "a b", "a b c d e f"]
    assert [batch.positions for batch in embedder.passages(texts)] == [(3,), (1,), (2,), (0,)]


def test_token_vectors(tmp_path: Path, cache: Path) -> None:
    embedder = opened(make_model(tmp_path / "tiny"), cache)
    tokens = embedder.token_vectors("the query", query=True)
    assert tokens.shape == (4, HIDDEN)  # with a token at either end
    assert np.allclose(np.linalg.norm(tokens, axis=1), 1, atol=1e-5)


def test_weights_that_give_no_vectors_are_refused(tmp_path: Path, cache: Path) -> None:
    model = make_model(tmp_path / "tiny")
    weights = model / "onnx" / "model.onnx_data"
    content = bytearray(weights.read_bytes())
    content[-4000:] = b"\xff" * 4000  # not a number
    weights.write_bytes(content)
    with pytest.raises(EmbedError, match="without a length"):
        opened(model, cache).query("a")


def reconfigured(model: Path, **changes: Any) -> Path:
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(config | changes))
    return model


def test_weights_of_another_width_than_the_config_says_are_refused(
    tmp_path: Path, cache: Path
) -> None:
    model = make_model(tmp_path / "tiny")
    opened(model, cache).query("a")  # keeps a graph, which depends on the weights alone
    with pytest.raises(EmbedError, match=r"have 32 numbers, and its config\.json says 64"):
        opened(reconfigured(model, hidden_size=64), cache).query("a")


@pytest.mark.parametrize("content", [b"", b"{", b"\xff" * 100])
def test_a_graph_that_is_none_is_refused(tmp_path: Path, cache: Path, content: bytes) -> None:
    model = make_model(tmp_path / "tiny")
    (model / "onnx" / "model.onnx").write_bytes(content)
    with pytest.raises(EmbedError, match=r"cannot load .*model\.onnx"):
        opened(model, cache).query("a")


def test_a_graph_without_its_weights_is_refused(tmp_path: Path, cache: Path) -> None:
    model = make_model(tmp_path / "tiny")
    (model / "onnx" / "model.onnx_data").unlink()
    with pytest.raises(EmbedError, match=r"cannot load .*model\.onnx"):
        opened(model, cache).query("a")


@pytest.mark.parametrize("place", ["../secret", "/etc/hostname"])
def test_a_graph_reads_no_file_outside_its_folder(tmp_path: Path, cache: Path, place: str) -> None:
    model = make_model(tmp_path / "tiny")
    graph = model / "onnx" / "model.onnx"
    (model / "secret").write_bytes(b"\x01" * 1_000_000)
    read = onnx.load(graph, load_external_data=False)
    for one in read.graph.initializer:
        for entry in one.external_data:
            entry.value = place if entry.key == "location" else entry.value
    graph.write_bytes(read.SerializeToString())
    with pytest.raises(EmbedError, match=r"cannot load .*model\.onnx"):
        opened(model, cache).query("a")


def test_a_model_in_one_precision_says_so(tmp_path: Path, cache: Path) -> None:
    model = make_model(tmp_path / "tiny")
    (model / "onnx" / "model_int8.onnx").unlink()
    with pytest.raises(EmbedError, match="has no graph in int8"):
        opened(model, cache, precision="int8").query("a")


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_tokens_outside_the_vocabulary_are_refused(
    tmp_path: Path, cache: Path, precision: str
) -> None:
    model = make_model(tmp_path / "tiny", vocab_size=10)
    embedder = opened(model, cache, precision=precision)
    for embed in (
        embedder.query,
        embedder.token_vectors,
        lambda text: [*embedder.passages([text])],
    ):
        with pytest.raises(EmbedError, match="do not belong together"):
            embed("zebra")


# ── Stopping ─────────────────────────────────────────────────────────────────


def test_an_interrupt_in_the_caller_ends_the_threads(tmp_path: Path, cache: Path) -> None:
    embedder = opened(make_model(tmp_path / "tiny"), cache, batch_size=1)
    batches = embedder.passages([f"text {number}" for number in range(5000)])
    next(batches)
    with pytest.raises(KeyboardInterrupt):
        batches.throw(KeyboardInterrupt())  # type: ignore[attr-defined]
    for thread in threading.enumerate():
        if "dowse-embed" in thread.name:
            thread.join(timeout=30)  # ends with the text in hand, though nobody waits for it
            assert not thread.is_alive()


_ENDLESS = """
import sys
from pathlib import Path
from dowse._embed.open import open_embedder
from dowse._embed.options import EmbedOptions

embedder = open_embedder(EmbedOptions(model=sys.argv[1], batch_size=4), Path(sys.argv[2]))
kept = 0
try:
    for batch in embedder.passages(["a text " * 20] * 10_000_000):
        kept += len(batch.positions)
        print("some\\n", end="", flush=True)  # in one piece, whenever the interrupt comes
except KeyboardInterrupt:
    print("kept", kept, flush=True)
"""


def test_control_c_keeps_what_is_done(tmp_path: Path, cache: Path) -> None:
    model = make_model(tmp_path / "tiny")
    command = with_ctrl_c(sys.executable, "-c", _ENDLESS, model, cache)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "some\n"
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert said.splitlines()[-1].startswith("kept ")


# ── Cross-encoders ───────────────────────────────────────────────────────────


@pytest.mark.parametrize("labels", [1, 2])
def test_cross_encoder_scores(tmp_path: Path, cache: Path, labels: int) -> None:
    model = open_model(str(make_model(tmp_path / "tiny", labels=labels)), cache)
    encoder = CrossEncoder(model, threads=3)
    texts = ["the cat", "", "a dog " * 200, "the cat"]
    scores = encoder.scores("the query", texts)
    assert len(scores) == 4
    assert all(0 < score < 1 for score in scores)
    assert scores[0] == scores[3]
    assert scores[0] != scores[1]
    assert encoder.scores("the query", texts[2:3]) == scores[2:3]
    assert encoder.scores("the query", []) == []


def test_a_cross_encoder_without_a_head_is_refused(tmp_path: Path, cache: Path) -> None:
    model = open_model(str(make_model(tmp_path / "tiny")), cache)
    with pytest.raises(EmbedError, match="has no logits"):
        CrossEncoder(model).scores("a", ["b"])
