"""Reranking with a cross-encoder: a small real one, made here."""

from __future__ import annotations

from pathlib import Path

from dowse.embed import open_model
from dowse.embed.onnx.cross_encoder import CrossEncoder
from dowse.types import embedding_text
from tiny_model import make_model
from vaults import index_notes

_NOTES = {f"n{n}.md": f"# Pump {n}\n\nthe pump number {n} of hall {n % 3}\n" for n in range(12)}


def test_the_first_results_get_the_order_and_the_scores_of_the_cross_encoder(
    tmp_path: Path,
) -> None:
    model = make_model(tmp_path / "cross", labels=1)
    engine = index_notes(tmp_path, _NOTES)
    plain = {"search.top_n": 12, "near_dedup.enabled": False}
    before = engine.search("pump hall", changes=plain).hits
    changes = plain | {"rerank.enabled": True, "rerank.model": str(model), "rerank.top_n": 6}
    after = engine.search("pump hall", changes=changes).hits
    encoder = CrossEncoder(open_model(str(model), tmp_path / "cache"))
    texts = {hit.id: embedding_text(hit.title, hit.header_path, hit.text) for hit in before[:6]}
    scores = dict(zip(texts, encoder.scores("pump hall", list(texts.values())), strict=True))
    assert {hit.id for hit in after[:6]} == set(scores)
    assert [hit.score for hit in after[:6]] == sorted(scores.values(), reverse=True)
    assert all(hit.score == scores[hit.id] for hit in after[:6])
    assert [hit.id for hit in after[6:]] == [hit.id for hit in before[6:]]
    assert all(hit.score <= after[5].score for hit in after[6:])


def test_a_model_that_is_not_here_leaves_the_order_and_says_so(tmp_path: Path) -> None:
    engine = index_notes(tmp_path, _NOTES)
    before = engine.search("pump hall")
    changes = {"rerank.enabled": True, "rerank.model": "nobody/no-such-model"}
    after = engine.search("pump hall", changes=changes)
    assert [hit.id for hit in after.hits] == [hit.id for hit in before.hits]
    assert any(
        "Not reranked" in notice and "dowse models pull" in notice for notice in after.notices
    )


def test_without_a_local_model_there_is_nothing_to_read_with(tmp_path: Path) -> None:
    engine = index_notes(tmp_path, _NOTES)
    after = engine.search("pump hall", changes={"rerank.enabled": True})
    assert after.hits
    assert any("Not reranked" in notice for notice in after.notices)
