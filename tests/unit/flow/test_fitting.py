"""The confidence of a model that nobody has judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from dowse._model import EmbeddedBatch, Model, Vector
from dowse._project.engine import Engine
from dowse._project.indexing import fit_confidence
from dowse._search.confidence import read_fit
from dowse._search.fit import LEAST, fit_model
from dowse._search.request import SearchRequest
from dowse.testing import HashEmbedder
from vaults import open_engine

_THINGS = ("anchor", "bridge", "candle", "drum", "engine", "fence")
_DEEDS = ("clean", "paint", "repair", "store", "weigh")
_NOISE = 0.75  # cosine of unrelated texts


class Squashed(HashEmbedder):
    """A model like many published ones: even unrelated texts have a high cosine."""

    @property
    def model(self) -> Model:
        """The model behind the vectors."""
        return Model("squashed/65", 65, 100_000)

    def passages(self, texts: Sequence[str]) -> Iterator[EmbeddedBatch]:
        """Embeds texts to be found."""
        for batch in super().passages(texts):
            yield EmbeddedBatch(batch.positions, np.stack([*map(_whole, batch.vectors)]))

    def query(self, text: str) -> Vector:
        """Embeds a text to search with."""
        return _whole(super().query(text))


def _whole(vector: Vector) -> Vector:
    if len(vector) > 64:
        return vector
    return np.append(vector * np.sqrt(1 - _NOISE), np.sqrt(_NOISE)).astype(np.float32)


def _engine(folder: Path, embedder: HashEmbedder, things: Sequence[str] = _THINGS) -> Engine:
    for thing in things:
        for deed in _DEEDS:
            file = folder / "vault" / f"{deed}-{thing}.md"
            file.parent.mkdir(exist_ok=True, parents=True)
            text = f"To {deed} it, take the {thing} with both hands and {deed} the {thing} slowly."
            file.write_text(f"# About\n\n## {deed} one {thing}\n\n{text}\n", "utf-8")
    engine = open_engine(folder / "vault", folder / "index", embedder)
    engine.index()
    return engine


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with _engine(tmp_path_factory.mktemp("squashed"), Squashed()) as engine:
        yield engine


def test_the_first_run_fits_a_model_that_has_no_fit(engine: Engine) -> None:
    fit = read_fit(engine.project.folder)
    assert fit is not None
    assert fit.model == "squashed/65"
    assert (
        "fitted on the documents of this project"
        in engine.search(SearchRequest("repair bridge")).calibration
    )
    assert fit_confidence(engine) == fit  # the same index gives the same fit


def test_cosines_mean_the_same_whatever_their_range(engine: Engine, tmp_path: Path) -> None:
    squashed = read_fit(engine.project.folder)
    with _engine(tmp_path, HashEmbedder()) as plain, plain.read() as reading:
        fit = fit_model(reading, HashEmbedder(), "hash")
    assert fit is not None
    assert squashed is not None
    for cosine in (0.1, 0.3, 0.6):
        near = (1 - _NOISE) * cosine + _NOISE
        assert squashed.mapped(near) == pytest.approx(fit.mapped(cosine), abs=1e-3)


def test_a_model_is_compared_with_the_default_one_on_the_same_passages(engine: Engine) -> None:
    with engine.read() as reading:
        fit = fit_model(reading, Squashed(), "squashed", default=HashEmbedder())
    assert fit is not None
    assert fit.scale == pytest.approx(1 / (1 - _NOISE), abs=1e-2)
    assert fit.mapped(_NOISE) == pytest.approx(0, abs=1e-2)


def test_a_model_to_which_all_texts_are_alike_has_no_fit(tmp_path: Path) -> None:
    class Alike(HashEmbedder):
        def query(self, text: str) -> Vector:
            return super().query(text[:0])

    with _engine(tmp_path, Alike(), _THINGS[:3]) as engine, engine.read() as reading:
        assert fit_model(reading, Alike(), "alike", default=HashEmbedder()) is None


def test_with_the_fit_nonsense_is_no_good_match(engine: Engine) -> None:
    assert engine.search(SearchRequest("qwertz asdfgh yxcvbn")).no_good_match
    found = engine.search(SearchRequest("how do I repair the bridge"))
    assert not found.no_good_match
    assert found.hits[0].match == "strong"


def test_too_few_documents_give_no_fit(tmp_path: Path) -> None:
    with _engine(tmp_path, Squashed(), _THINGS[: LEAST // len(_DEEDS) - 1]) as engine:
        assert read_fit(engine.project.folder) is None
        assert fit_confidence(engine) is None
        found = engine.search(SearchRequest("qwertz asdfgh yxcvbn"))
        assert "none was fitted for the model squashed/65" in found.calibration
        assert not found.no_good_match


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"model": "x", "scale": 1e999}'])
def test_a_damaged_fit_is_as_good_as_none(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "confidence.json").write_bytes(damage)
    assert read_fit(tmp_path) is None
