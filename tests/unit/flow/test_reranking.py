"""Reranking with a cross-encoder: a small real one, made here."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse._embed.open import CrossEncoder, open_model, rerankers
from dowse._embed.options import EmbedOptions
from dowse._model import Hit, header_line, silent
from dowse._search.request import SearchRequest
from dowse.errors import EmbedError
from tiny_model import make_model
from vaults import index_notes

_NOTES = {f"n{n}.md": f"# Pump {n}\n\nthe pump number {n} of hall {n % 3}\n" for n in range(12)}


def _as_read(hit: Hit) -> str:
    """Title, heading and text as the notes have them: the text begins with its heading."""
    number = hit.document[1:-3]
    text = f"Pump {number} the pump number {number} of hall {int(number) % 3}"
    return header_line((*hit.header_path, text))


@pytest.mark.parametrize(("mix", "share"), [({}, 0.2), ({"rerank.mix": 1.0}, 1.0)])
def test_the_first_results_are_ordered_by_a_share_of_the_cross_encoder(
    tmp_path: Path, mix: dict[str, float], share: float
) -> None:
    model = make_model(tmp_path / "cross", labels=1)
    engine = index_notes(tmp_path, _NOTES)
    plain = {"search.top_n": 12, "near_dedup.enabled": False}
    before = engine.search(SearchRequest("pump hall", changes=plain)).hits
    asked = {"rerank.enabled": True, "rerank.model": str(model), "rerank.top_n": 6, **mix}
    after = engine.search(SearchRequest("pump hall", changes=plain | asked)).hits
    encoder = CrossEncoder(open_model(str(model), tmp_path / "cache"))
    read = encoder.scores("pump hall", [_as_read(hit) for hit in before[:6]])
    scores = {
        hit.id: pytest.approx((1 - share) * hit.score + share * score)
        for hit, score in zip(before[:6], read, strict=True)
    }
    assert {hit.id for hit in after[:6]} == set(scores)
    assert sorted((hit.score for hit in after), reverse=True) == [hit.score for hit in after]
    assert all(hit.score == scores[hit.id] for hit in after[:6])
    assert [hit.id for hit in after[6:]] == [hit.id for hit in before[6:]]
    assert all(hit.score <= after[5].score for hit in after[6:])


def test_a_model_that_is_not_here_leaves_the_order_and_says_so(tmp_path: Path) -> None:
    engine = index_notes(tmp_path, _NOTES)
    before = engine.search(SearchRequest("pump hall"))
    changes = {"rerank.enabled": True, "rerank.model": "nobody/no-such-model"}
    after = engine.search(SearchRequest("pump hall", changes=changes))
    assert [hit.id for hit in after.hits] == [hit.id for hit in before.hits]
    assert any(
        "Not reranked" in notice and "dowse models pull" in notice for notice in after.notices
    )


def test_without_a_local_model_there_is_nothing_to_read_with(tmp_path: Path) -> None:
    engine = index_notes(tmp_path, _NOTES)
    after = engine.search(SearchRequest("pump hall", changes={"rerank.enabled": True}))
    assert after.hits
    assert any("Not reranked" in notice for notice in after.notices)


def test_weights_are_fetched_for_the_model_of_the_settings_and_for_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[str] = []
    monkeypatch.setattr("dowse._embed.models.fetch_model", lambda name, *_: fetched.append(name))
    by_model = rerankers(EmbedOptions(), None, tmp_path, silent, fetched="hub/of-the-user")
    for model in ("hub/of-the-user", "hub/of-a-call"):
        opened = by_model(model)
        assert opened is not None
        with pytest.raises(EmbedError):  # nothing came
            opened().scores("pump", ["The pump hall."])
    assert fetched == ["hub/of-the-user"]
