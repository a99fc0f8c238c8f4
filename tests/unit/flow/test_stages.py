"""Every switch of the search: off it costs nothing and changes nothing, on it does its work."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import Any

import pytest

from dowse._config.presets import PRESETS
from dowse._config.schema import Layer, Settings, combine
from dowse._model import Hit, Response
from dowse._project.engine import Engine
from dowse._search.pipeline import SEARCH_FLOW
from dowse._search.request import SearchRequest
from dowse._search.strategies import linked_documents
from dowse._search.understand import ExpandOptions
from dowse._text.options import VocabularyOptions
from vaults import index_notes

_PARAGRAPH = (
    "The gateway keeps every reading for thirty days before it sends the reading to the archive "
    "over the slow night link, and never twice."
)

_NOTES = {
    "radio.md": "---\ntags: [radio]\n---\n# Radio\n\nThe radio link of a mast. See [[mast]].\n",
    "mast.md": "# Mast\n\nSteel, eleven metres, guyed on three sides.\n",
    "archive.md": f"# Archive\n\n{_PARAGRAPH}\n",
    "copy.md": f"# Archive\n\n{_PARAGRAPH}\n",
    "edited.md": f"# Archive\n\n{_PARAGRAPH.replace('thirty', 'forty')}\n",
    "long.md": "# Long\n\n"
    + "\n\n".join(f"## Part {n}\n\nradio gateway part {n} {'word ' * 60}" for n in range(6)),
    "code.md": "# Client\n\n```python\ndef send_reading(gateway):\n    pass\n```\n\nUse it well.\n",
    "other.md": "# Other\n\nBread and cheese for the walk.\n",
}

_OPTIONAL: dict[str, dict[str, Any]] = {
    "classify": {"classify.enabled": True},
    "expand": {"expand.enabled": True, "expand.similarity": 0.1},
    "graph": {"graph.enabled": True},
    "community": {"community.enabled": True},
    "dynamic_weights": {"dynamic_weights.enabled": True},
    "semantic_dedup": {"semantic_dedup.enabled": True},
    "recency": {"recency.bias": 0.5},
    "diversity": {"diversity.mmr": True},
    "threshold": {"threshold.min_confidence": 0.2},
    "parents": {"parents.enabled": True},
}


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return index_notes(tmp_path, _NOTES)


def documents(response: Response) -> list[str]:
    return [hit.document for hit in response.hits]


def step(hit: Hit, stage: str) -> tuple[float, float]:
    return next((one.before, one.after) for one in hit.trace.steps if one.stage == stage)


@pytest.mark.parametrize("stage", _OPTIONAL)
def test_what_is_off_does_not_run_and_leaves_no_trace(engine: Engine, stage: str) -> None:
    off = engine.search(SearchRequest("radio gateway"))
    assert stage not in off.seconds
    assert list(off.counts) == [one.name for one in SEARCH_FLOW]
    before = list(off.counts)[list(off.counts).index(stage) - 1]
    assert off.counts[stage] == off.counts[before]
    assert all(one.stage != stage for hit in off.hits for one in hit.trace.steps)
    assert stage in engine.search(SearchRequest("radio gateway", changes=_OPTIONAL[stage])).seconds


@pytest.mark.parametrize(
    ("changes", "stage"),
    [
        ({"search.fresh": False}, "fresh"),
        ({"gather.share": 0.0}, "gather"),
        ({"exact_dedup.enabled": False}, "exact_dedup"),
        ({"near_dedup.enabled": False}, "near_dedup"),
        ({"fuse.method": "rrf"}, "complete"),
    ],
)
def test_what_is_on_can_be_turned_off(engine: Engine, changes: dict[str, Any], stage: str) -> None:
    assert stage in engine.search(SearchRequest("radio gateway")).seconds
    assert stage not in engine.search(SearchRequest("radio gateway", changes=changes)).seconds


def test_a_switch_that_is_named_but_off_changes_nothing(engine: Engine) -> None:
    plain = engine.search(SearchRequest("radio gateway"))
    named = {name: False for changes in _OPTIONAL.values() for name in changes if "enabled" in name}
    again = engine.search(SearchRequest("radio gateway", changes=named))
    assert (again.hits, again.counts) == (plain.hits, plain.counts)


def test_classify_shifts_the_weights_by_the_kind_of_query(engine: Engine) -> None:
    def keyword_share(query: str) -> float:
        changes = {"classify.enabled": True, "fuse.method": "rrf"}
        hit = engine.search(SearchRequest(query, changes=changes)).hits[0]
        place = next(one for one in hit.trace.places if one.strategy == "keyword")
        assert place.rank
        return place.contribution * (60 + place.rank)

    assert keyword_share("send_reading gateway") == pytest.approx(1.5)
    assert keyword_share("gateway reading") == pytest.approx(1.0)


def test_expand_adds_words_for_the_semantic_ranking_alone(tmp_path: Path) -> None:
    engine = index_notes(tmp_path, _NOTES, Settings(vocabulary=VocabularyOptions(size=100)))

    def scores(strategy: str, changes: dict[str, Any]) -> dict[str, float]:
        response = engine.search(SearchRequest("radio", changes=changes | {"search.top_n": 20}))
        return {
            hit.id: place.score
            for hit in response.hits
            for place in hit.trace.places
            if place.strategy == strategy
        }

    assert scores("semantic", _OPTIONAL["expand"]) != scores("semantic", {})
    assert scores("keyword", _OPTIONAL["expand"]) == scores("keyword", {})


def test_expand_says_how_to_get_words_when_none_was_embedded(engine: Engine) -> None:
    changes = {"expand.enabled": True}
    (notice,) = engine.search(SearchRequest("radio", changes=changes)).notices
    assert "dowse config set expand.enabled true, then dowse index" in notice
    assert engine.status().counts.terms  # they are known, and have no vector


def test_words_are_embedded_when_queries_are_expanded_and_those_added_are_shown(
    tmp_path: Path,
) -> None:
    options: dict[str, Any] = {"expand": ExpandOptions(enabled=True)}
    engine = index_notes(tmp_path, _NOTES, Settings(**options))
    shown = ('The search by meaning added "thirty" to the query.',)
    assert engine.search(SearchRequest("radio")).notices == shown
    assert engine.explain(SearchRequest("radio"), "mast.md").notices == shown
    assert engine.search(SearchRequest("radio", changes={"search.mode": "keyword"})).notices == ()


def test_graph_ranks_what_is_linked_though_no_word_of_the_query_is_in_it(engine: Engine) -> None:
    changes = {"graph.enabled": True, "search.mode": "hybrid", "search.top_n": 20}
    response = engine.search(SearchRequest("radio link", changes=changes))
    mast = next(hit for hit in response.hits if hit.document == "mast.md")
    assert "graph" in {place.strategy for place in mast.trace.places}
    bread = [hit for hit in response.hits if hit.document == "other.md"]
    assert all(place.strategy != "graph" for hit in bread for place in hit.trace.places)


def test_graph_goes_as_far_as_its_depth(tmp_path: Path) -> None:
    chain = {f"n{n}.md": f"# N{n}\n\nword{n} [[n{n + 1}]]\n" for n in range(6)}
    engine = index_notes(tmp_path, chain | {"n6.md": "# N6\n\nthe end\n"})
    with engine.read() as reading:
        reached = [linked_documents(reading, {"n2.md"}, depth) for depth in (1, 2, 3)]
    assert reached[0] == {"n1.md", "n3.md"}
    assert reached[1] == reached[0] | {"n0.md", "n2.md", "n4.md"}
    assert reached[2] == reached[1] | {"n5.md"}


def test_the_depth_is_that_of_the_search(tmp_path: Path) -> None:
    spread = {f"n{n}.md": f"# N{n}\n\nword{n} [[n{n + 1}]]\n" for n in range(40)}
    engine = index_notes(tmp_path, spread)

    def linked(depth: int) -> set[str]:
        changes = {"graph.enabled": True, "graph.depth": depth}
        found = engine.search(
            SearchRequest("elephant", changes=changes | {"search.top_n": 5, "search.top_k": 10})
        )
        return {
            hit.document
            for hit in found.hits
            if any(place.strategy == "graph" and place.rank for place in hit.trace.places)
        }

    # Five links away lies everything, so the graph ranks what is nearest in meaning.
    assert len(linked(1)) < len(linked(5)) == 5


def test_community_raises_what_belongs_to_the_best(tmp_path: Path) -> None:
    engine = index_notes(
        tmp_path,
        {
            "a.md": "# A\n\nelephant [[b]]\n",
            "b.md": "# B\n\nelephant zebra [[a]]\n",
            "c.md": "# C\n\nelephant zebra [[d]]\n",
            "d.md": "# D\n\nlion [[c]]\n",
        },
    )
    changes = {"community.enabled": True, "search.top_n": 20, "gather.share": 0.0}
    hits = {
        hit.document: hit for hit in engine.search(SearchRequest("elephant", changes=changes)).hits
    }
    before, after = step(hits["b.md"], "community")
    assert after == pytest.approx(1.1 * before)
    assert all(one.stage != "community" for one in hits["c.md"].trace.steps)


def test_community_counts_for_what_a_document_gathers_too(tmp_path: Path) -> None:
    linked = {"long.md": f"{_NOTES['long.md']}\n\nSee [[mast]].\n"}
    engine = index_notes(tmp_path, _NOTES | linked)
    changes = {"search.top_n": 20, "near_dedup.enabled": False, "documents.passages": True}

    def fused(community: bool) -> dict[str, float]:
        hits = engine.search(
            SearchRequest("radio part 3", changes=changes | {"community.enabled": community})
        ).hits
        long = [hit for hit in hits if hit.document == "long.md"]
        assert any(one.stage == "gather" for hit in long for one in hit.trace.steps)
        return {hit.id: step(hit, "calibrate")[0] for hit in long}

    plain = fused(community=False)
    assert fused(community=True) == pytest.approx({id_: 1.1 * one for id_, one in plain.items()})


def test_dynamic_weights_take_from_what_cannot_decide(engine: Engine) -> None:
    def shares(changes: dict[str, Any]) -> dict[str, float]:
        changes = changes | {"fuse.method": "rrf", "fuse.semantic": 1.0}
        places = engine.search(SearchRequest("radio gateway", changes=changes)).hits[0].trace.places
        return {one.strategy: one.contribution * (60 + (one.rank or 0)) for one in places}

    assert shares({}) == pytest.approx({"semantic": 1.0, "keyword": 1.0})
    adjusted = shares({"dynamic_weights.enabled": True})
    assert sum(adjusted.values()) == pytest.approx(2.0)
    assert adjusted["semantic"] != pytest.approx(adjusted["keyword"])


def test_gather_lets_the_words_and_the_meaning_of_a_document_meet(engine: Engine) -> None:
    changes = {"search.top_n": 20, "near_dedup.enabled": False, "documents.passages": True}
    apart = engine.search(SearchRequest("radio part 3", changes=changes | {"gather.share": 0.0}))
    together = engine.search(SearchRequest("radio part 3", changes=changes | {"gather.share": 1.0}))
    long = [hit.score for hit in together.hits if hit.document == "long.md"]
    assert len(set(long)) == 1  # with a share of 1 all chunks of a document are worth the same
    assert len({hit.score for hit in apart.hits if hit.document == "long.md"}) > 1


def test_recency_raises_what_was_changed_lately(engine: Engine) -> None:
    path = engine.path_of("other.md")
    for days, factor in ((1, 1.2), (20, 1.1), (90, None)):
        changed = time.time() - days * 86_400
        os.utime(path, (changed, changed))
        engine.index()
        found = engine.search(SearchRequest("bread cheese", changes={"recency.bias": 0.5})).hits
        hit = next(one for one in found if one.document == "other.md")
        if factor is None:
            assert all(one.stage != "recency" for one in hit.trace.steps)
        else:
            before, after = step(hit, "recency")
            assert after == pytest.approx(factor * before)


def test_calibration_can_be_set_and_turned_off(engine: Engine) -> None:
    plain = {"exact.enabled": False}  # the query is a heading
    raw = engine.search(SearchRequest("radio", changes=plain | {"calibrate.enabled": False})).hits[
        0
    ]
    assert raw.score == min(1.0, step(raw, "calibrate")[0])
    half = plain | {"calibrate.midpoint": step(raw, "calibrate")[0]}
    assert engine.search(SearchRequest("radio", changes=half)).hits[0].score == pytest.approx(0.5)


def test_a_model_without_a_fit_is_reported(engine: Engine) -> None:
    assert (
        "none was fitted for the model hash/64" in engine.search(SearchRequest("radio")).calibration
    )


def test_rank_fusion_brings_the_sigmoid_that_belongs_to_it(engine: Engine) -> None:
    plain = {
        "fuse.method": "rrf",
        "fuse.semantic": 1.0,
        "gather.share": 0.0,
        "exact.enabled": False,
    }
    hit = engine.search(SearchRequest("radio", changes=plain)).hits[0]
    assert step(hit, "calibrate")[0] == pytest.approx(2 / 61)
    assert hit.score == pytest.approx(0.418, abs=0.001)  # 1 / (1 + exp(-150 · (2/61 - 0.035)))
    scaled = plain | {"fuse.rrf_k": 5.0}
    assert engine.search(SearchRequest("radio", changes=scaled)).hits[0].score == pytest.approx(
        hit.score
    )


def test_the_threshold_drops_what_is_unsure_and_shows_it_when_nothing_is_left(
    engine: Engine,
) -> None:
    all_of_them = engine.search(SearchRequest("radio gateway", changes={"search.top_n": 20}))
    middle = sorted(hit.score for hit in all_of_them.hits)[len(all_of_them.hits) // 2]
    changes = {"search.top_n": 20, "threshold.min_confidence": middle}
    sure = engine.search(SearchRequest("radio gateway", changes=changes))
    assert [(hit.document, hit.score) for hit in sure.hits] == [
        (hit.document, hit.score) for hit in all_of_them.hits if hit.score >= middle
    ]
    none = engine.search(SearchRequest("radio gateway", changes={"threshold.min_confidence": 1.0}))
    assert none.hits == ()
    assert none.nearest[0].id == all_of_them.hits[0].id
    assert len(none.nearest) == 5
    assert "is below 1" in none.nearest[0].trace.steps[-1].dropped


def test_exact_duplicates_go_before_near_ones_and_those_before_same_meanings(
    engine: Engine,
) -> None:
    off = {"exact_dedup.enabled": False, "near_dedup.enabled": False, "search.top_n": 20}
    assert {"archive.md", "copy.md", "edited.md"} <= set(
        documents(engine.search(SearchRequest("gateway archive", changes=off)))
    )
    exact = engine.search(
        SearchRequest("gateway archive", changes=off | {"exact_dedup.enabled": True})
    )
    assert exact.counts["exact_dedup"] == exact.counts["threshold"] - 1
    near = engine.search(SearchRequest("gateway archive", changes={"search.top_n": 20}))
    assert near.counts["near_dedup"] == near.counts["exact_dedup"] - 1
    shown = set(documents(near)) & {"archive.md", "copy.md", "edited.md"}
    assert len(shown) == 1


def test_same_meanings_become_one_and_are_counted(engine: Engine) -> None:
    changes = {
        "exact_dedup.enabled": False,
        "near_dedup.enabled": False,
        "semantic_dedup.enabled": True,
        "search.top_n": 20,
    }
    response = engine.search(SearchRequest("gateway archive", changes=changes))
    assert len(set(documents(response)) & {"archive.md", "copy.md", "edited.md"}) == 1
    assert response.merged >= 1
    assert response.counts["semantic_dedup"] < response.counts["near_dedup"]
    assert engine.search(SearchRequest("gateway archive")).merged == 0


def test_the_limit_of_a_document_makes_room_for_others(engine: Engine) -> None:
    passages = {"near_dedup.enabled": False, "documents.passages": True}
    free = engine.search(SearchRequest("radio gateway part", changes=passages))
    changes = {"near_dedup.enabled": False, "diversity.max_chunks_per_doc": 1}
    limited = engine.search(SearchRequest("radio gateway part", changes=changes))
    assert documents(free).count("long.md") > 1
    assert len(documents(limited)) == len(set(documents(limited)))
    assert len(set(documents(limited)[:5])) >= 3


def test_mmr_chooses_a_more_diverse_list(engine: Engine) -> None:
    def likeness(balance: float) -> float:
        changes = {
            "near_dedup.enabled": False,
            "diversity.mmr": True,
            "diversity.balance": balance,
            "search.top_n": 4,
        }
        texts = [
            hit.text
            for hit in engine.search(SearchRequest("radio gateway part", changes=changes)).hits
        ]
        words = [set(text.split()) for text in texts]
        pairs = [(a, b) for n, a in enumerate(words) for b in words[n + 1 :]]
        return sum(len(a & b) / len(a | b) for a, b in pairs) / len(pairs)

    assert likeness(0.5) < likeness(1.0)
    plain = engine.search(
        SearchRequest(
            "radio gateway part", changes={"near_dedup.enabled": False, "search.top_n": 4}
        )
    )
    relevance_alone: dict[str, Any] = {
        "near_dedup.enabled": False,
        "search.top_n": 4,
        "diversity.mmr": True,
    }
    relevance_alone["diversity.balance"] = 1.0
    chosen = engine.search(SearchRequest("radio gateway part", changes=relevance_alone))
    assert [hit.id for hit in chosen.hits] == [hit.id for hit in plain.hits]


def test_parents_show_each_section_once_with_its_best_score(engine: Engine) -> None:
    passages = {"search.top_n": 20, "documents.passages": True}
    chunks = engine.search(SearchRequest("radio gateway part", changes=passages))
    changes = {"search.top_n": 20, "parents.enabled": True}
    sections = engine.search(SearchRequest("radio gateway part", changes=changes))
    assert len({hit.id for hit in sections.hits}) == len(sections.hits)
    assert all(hit.id == hit.section for hit in sections.hits)
    best: dict[str, float] = {}
    for hit in chunks.hits:
        best.setdefault(hit.section, hit.score)
    shown = {hit.section: hit.score for hit in sections.hits}
    assert shown == {section: best[section] for section in shown}
    for hit in sections.hits:
        lines = engine.path_of(hit.document).read_text("utf-8").split("\n")
        assert hit.text.strip() in "\n".join(lines)
        assert len(hit.text) >= max(len(c.text) for c in chunks.hits if c.section == hit.section)


def test_code_is_a_strategy_of_its_own_when_asked_for(engine: Engine) -> None:
    changes = {"code.enabled": True}
    hit = engine.search(SearchRequest("sendReading", changes=changes)).hits[0]
    assert hit.document == "code.md"
    assert "code" in {place.strategy for place in hit.trace.places}
    alone = engine.search(SearchRequest("sendReading", changes={"search.mode": "code"}))
    assert documents(alone) == ["code.md"]
    assert engine.search(SearchRequest("bread", changes={"search.mode": "code"})).hits == ()


def test_a_hypothesis_is_searched_for_as_it_is(engine: Engine) -> None:
    text = 'The "radio" link -mast tag:radio'
    response = engine.search(
        SearchRequest(text, changes={"search.mode": "hyde", "expand.enabled": True})
    )
    assert response.hits
    assert response.removed == {}
    assert "expand" not in response.seconds
    assert {one.strategy for hit in response.hits for one in hit.trace.places} == {"semantic"}


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_answers(engine: Engine, preset: str) -> None:
    response = engine.search(SearchRequest("radio gateway", changes={"search.preset": preset}))
    assert response.hits
    assert "long.md" in documents(response)


def test_presets_bring_the_defaults_of_the_two_systems(engine: Engine) -> None:
    first = engine.search(SearchRequest("radio", changes={"search.preset": "seed-a"}))
    assert {"expand", "graph", "recency", "near_dedup"} <= set(first.seconds)
    assert len(first.hits) == 5
    second = engine.search(SearchRequest("radio", changes={"search.preset": "seed-b"}))
    assert not {"expand", "graph", "recency", "near_dedup", "exact_dedup"} & set(second.seconds)
    best = second.hits[0].trace.places
    assert second.hits[0].score == pytest.approx(sum(1 / (60 + (one.rank or 0)) for one in best))
    own = engine.search(
        SearchRequest("radio", changes={"search.preset": "seed-b", "search.top_n": 2})
    )
    assert len(own.hits) == 2


def test_a_preset_whose_fusion_is_changed_takes_the_sigmoid_of_that_fusion(engine: Engine) -> None:
    plain = {"search.preset": "seed-a", "graph.enabled": False, "expand.enabled": False}
    first = engine.search(SearchRequest("radio", changes=plain)).hits[0]
    fused = step(first, "calibrate")[0]
    assert first.score == pytest.approx(1 / (1 + math.exp(-150 * (fused - 0.035))))
    other = engine.search(SearchRequest("radio", changes=plain | {"fuse.method": "convex"})).hits
    assert max(hit.score for hit in other) < 0.999


def test_a_deleted_file_is_not_served_and_makes_room(engine: Engine) -> None:
    first = engine.search(SearchRequest("gateway archive"))
    engine.path_of(first.hits[0].document).unlink()
    second = engine.search(SearchRequest("gateway archive"))
    assert first.hits[0].document not in documents(second)
    assert set(documents(second)) & {"archive.md", "copy.md", "edited.md"}
    assert second.counts["fresh"] < second.counts["fuse"]
    kept = engine.search(SearchRequest("gateway archive", changes={"search.fresh": False}))
    assert kept.hits[0].document == first.hits[0].document
    assert kept.hits[0].stale


def test_a_changed_file_is_marked_and_a_touched_one_is_not(engine: Engine) -> None:
    def stale(document: str) -> bool:
        hits = engine.search(SearchRequest("bread cheese", changes={"search.top_n": 20})).hits
        return next(hit.stale for hit in hits if hit.document == document)

    path = engine.path_of("other.md")
    assert not stale("other.md")
    os.utime(path)
    assert not stale("other.md")
    text = path.read_text("utf-8")
    path.write_text(text.replace("cheese", "butter"), "utf-8")
    assert stale("other.md")
    engine.index()
    assert not stale("other.md")


def test_a_root_that_is_out_of_reach_keeps_its_results_marked(engine: Engine) -> None:
    root = engine.project.roots[0]
    moved = root.with_name("elsewhere")
    root.rename(moved)
    response = engine.search(SearchRequest("bread cheese"))
    assert response.hits
    assert all(hit.stale for hit in response.hits)
    moved.rename(root)


def test_the_second_system_counts_titles_and_tags_in_the_one_window_that_says_them(
    tmp_path: Path,
) -> None:
    body = "\n\n".join(f"Sentence {number} says nothing of it at all." for number in range(60))
    text = f"---\ntitle: Zeppelin\ntags: [walrus]\n---\n\n{body}\n"
    settings = combine([Layer("arguments", {"search.preset": "seed-b"})])[0]
    own = index_notes(tmp_path, {"a.md": text, "b.md": "# Other\n\nNothing.\n"}, settings)
    for word in ("zeppelin", "walrus"):
        found = own.search(SearchRequest(word, changes={"search.mode": "keyword"}))
        assert [(hit.document, hit.first_line) for hit in found.hits] == [("a.md", 1)]
        assert found.hits[0].text.startswith("---\ntitle: Zeppelin")
    windows = own.search(SearchRequest("sentence says nothing", changes={"search.mode": "keyword"}))
    assert len([hit for hit in windows.hits if hit.document == "a.md"]) == 3
    assert max(len(hit.text) for hit in windows.hits) <= 1000
    assert "deeper" not in windows.seconds
