"""The real weights against vectors that another implementation made (see the file's first lines).

These tests need the weights: they fetch them when they are not in the cache, and fail, rather
than be left out, when that is impossible.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dowse._embed.open import open_embedder
from dowse._embed.options import EmbedOptions
from dowse._model import Matrix
from real_model import with_minilm

_MODEL = "all-MiniLM-L6-v2"

_CASES = json.loads((Path(__file__).parent / "reference_vectors.json").read_text("utf-8"))["cases"]
_TEXTS = [case["text"] for case in _CASES]
_EXPECTED = np.array([case["vector"] for case in _CASES], dtype=np.float32)


@pytest.fixture(scope="module")
def weights() -> Path:
    return with_minilm()


def cosines(cache: Path, precision: str) -> Matrix:
    options = EmbedOptions(model=_MODEL, precision=precision)  # type: ignore[arg-type]
    embedder = open_embedder(options, cache, fetch=False)
    vectors = np.zeros_like(_EXPECTED)
    for batch in embedder.passages(_TEXTS):
        vectors[list(batch.positions)] = batch.vectors
    queries = np.stack([embedder.query(text) for text in _TEXTS])
    assert np.array_equal(vectors, queries)
    found: Matrix = (vectors * _EXPECTED).sum(axis=1)
    return found


def test_single_precision_equals_the_reference(weights: Path) -> None:
    assert cosines(weights, "fp32").min() >= 0.9999


def test_int8_stays_within_its_bound(weights: Path) -> None:
    found = cosines(weights, "int8")
    assert found.min() >= 0.97
    assert found.mean() >= 0.985


def test_single_precision_is_the_default_of_a_model_that_was_not_measured(weights: Path) -> None:
    auto = open_embedder(EmbedOptions(model=_MODEL), weights, fetch=False)
    full = open_embedder(EmbedOptions(model=_MODEL, precision="fp32"), weights, fetch=False)
    assert auto.model == full.model


def test_meaning_is_found_where_words_differ(weights: Path) -> None:
    embedder = open_embedder(EmbedOptions(), weights, fetch=False)
    texts = ["Restart policies of containers", "A recipe for plum cake", "Colours in stylesheets"]
    vectors = np.zeros((3, embedder.model.dimensions), dtype=np.float32)
    for batch in embedder.passages(texts):
        vectors[list(batch.positions)] = batch.vectors
    assert np.argmax(vectors @ embedder.query("what happens when my pod crashes")) == 0
