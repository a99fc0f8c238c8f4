"""What holds for refining whatever the list."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse._model import Vector
from dowse._search.dedup import (
    fold_whitespace,
    near_duplicates,
    over_limit,
    repeats,
    select_diverse,
    semantic_duplicates,
)
from dowse._search.documents import reorder
from effort import examples

SETTINGS = examples(50, 150)

thresholds = st.one_of(st.floats(0, 1), st.sampled_from([0.5, 0.7, 0.85, 1.0]))
shares = st.floats(0, 1)


# ── Texts ────────────────────────────────────────────────────────────────────

WORDS = ["gateway", "Gateway", "frame", "decode", " ", "\n", "漢字", "🎉", "x", "", "İ", "\ud800"]
written = st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join)


@st.composite
def text_lists(draw: st.DrawFn) -> list[str]:
    """Some texts, and some that were made from them by a small change."""
    texts = draw(st.lists(st.one_of(written, st.text(max_size=20)), max_size=8))
    for text in draw(st.lists(st.sampled_from(texts), max_size=8)) if texts else []:
        cut = draw(st.integers(0, len(text)))
        texts.append(text[:cut] + draw(st.text(max_size=4)) + text[cut:])
    return draw(st.permutations(texts))


def _trigrams(text: str) -> set[str]:
    text = text.lower()
    return {text[start : start + 3] for start in range(len(text) - 2)} or {text}


def _jaccard(one: str, other: str) -> float:
    first, second = _trigrams(one), _trigrams(other)
    return len(first & second) / len(first | second)


def _plainly(texts: list[str], threshold: float) -> dict[int, int]:
    """The rule as it is written down."""
    found: dict[int, int] = {}
    for place, text in enumerate(texts):
        for other in range(place):
            if other not in found and _jaccard(texts[other], text) >= threshold:
                found[place] = other
                break
    return found


@examples(70, 200)
@given(text_lists(), thresholds)
def test_near_duplicates_are_those_of_the_plain_rule(texts: list[str], threshold: float) -> None:
    assert near_duplicates(texts, threshold) == _plainly(texts, threshold)


@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.5, 0.7, 0.95])
def test_near_duplicates_among_long_texts(threshold: float) -> None:
    """Texts with so many trigrams that their sketches are crowded."""
    rng = np.random.default_rng(7)
    words = ["".join(rng.choice(list("aeioubcdfgl "), 6)) for _ in range(3000)]
    texts = [" ".join(rng.choice(words, size)) for size in (100, 900, 900, 2500, 2500)]
    texts += [text[len(text) // 4 :] for text in texts] + [text[:-50] for text in texts]
    assert near_duplicates(texts, threshold) == _plainly(texts, threshold)


@SETTINGS
@given(text_lists(), thresholds)
def test_the_kept_are_unlike_and_the_dropped_have_a_better_partner(
    texts: list[str], threshold: float
) -> None:
    found = near_duplicates(texts, threshold)
    kept = [place for place in range(len(texts)) if place not in found]
    assert all(partner < place and partner in kept for place, partner in found.items())
    assert all(_jaccard(texts[a], texts[b]) >= threshold for a, b in found.items())
    assert not any(_jaccard(texts[a], texts[b]) >= threshold for a in kept for b in kept if a < b)


@SETTINGS
@given(st.lists(st.one_of(st.integers(0, 5), st.sampled_from(["a", "b", None])), max_size=20))
def test_what_does_not_repeat_is_there_once(keys: list[int | str | None]) -> None:
    found = repeats(keys)
    left = [key for place, key in enumerate(keys) if place not in found]
    assert left == list(dict.fromkeys(keys))
    assert all(keys[place] == keys[first] and first < place for place, first in found.items())


@SETTINGS
@given(st.text(max_size=40))
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold_whitespace(fold_whitespace(text)) == fold_whitespace(text)
    assert fold_whitespace(f"\n {text} ") == fold_whitespace(text)


# ── Vectors ──────────────────────────────────────────────────────────────────


def _unit(numbers: list[int]) -> Vector:
    row = np.array([*numbers, 1], np.float32)  # never without direction
    return row / np.linalg.norm(row)


known = st.lists(st.integers(-3, 3), min_size=3, max_size=3).map(_unit)
vector_lists = st.lists(st.one_of(known, known, known, st.none()), max_size=14)


def _cosine(one: Vector | None, other: Vector | None) -> float:
    if one is None or other is None:
        return 0.0
    return round(float(one.astype(np.float64) @ other.astype(np.float64)), 6)


@SETTINGS
@given(vector_lists, st.floats(0.05, 0.999))
def test_the_kept_differ_in_meaning_and_the_dropped_have_a_better_partner(
    vectors: list[Vector | None], threshold: float
) -> None:
    found = semantic_duplicates(vectors, threshold)
    kept = [place for place in range(len(vectors)) if place not in found]
    assert all(partner < place and partner in kept for place, partner in found.items())
    assert all(vectors[place] is not None for place in found)
    slack = 1e-5  # vectors are of unit length only to single precision
    assert all(_cosine(vectors[a], vectors[b]) >= threshold - slack for a, b in found.items())
    assert not any(
        _cosine(vectors[a], vectors[b]) >= threshold + slack for a in kept for b in kept if a < b
    )


scored = vector_lists.flatmap(
    lambda vectors: st.tuples(
        st.lists(shares, min_size=len(vectors), max_size=len(vectors)).map(
            lambda scores: sorted(scores, reverse=True)
        ),
        st.just(vectors),
    )
)
Scored = tuple[list[float], list[Vector | None]]


@SETTINGS
@given(scored, st.integers(0, 16), shares)
def test_so_many_are_selected_each_once_in_order(
    results: Scored, count: int, balance: float
) -> None:
    selected = select_diverse(*results, count, balance)
    assert len(selected) == min(count, len(results[0]))
    assert sorted(selected) == sorted(set(selected))
    assert set(selected) <= set(range(len(results[0])))


@SETTINGS
@given(scored, st.integers(1, 16), st.floats(0.01, 1))
def test_the_best_is_always_selected(results: Scored, count: int, balance: float) -> None:
    relevance, _ = results
    selected = select_diverse(*results, count, balance)
    assert not relevance or any(relevance[place] == relevance[0] for place in selected)


@SETTINGS
@given(scored, st.integers(0, 16))
def test_relevance_alone_selects_the_first(results: Scored, count: int) -> None:
    assert select_diverse(*results, count, 1.0) == list(range(min(count, len(results[0]))))


@SETTINGS
@given(scored, st.integers(1, 15), shares)
def test_asking_for_one_more_adds_one(results: Scored, count: int, balance: float) -> None:
    fewer = select_diverse(*results, count, balance)
    assert set(fewer) <= set(select_diverse(*results, count + 1, balance))


# ── Limits and new scores ────────────────────────────────────────────────────


@SETTINGS
@given(st.lists(st.sampled_from("abcd"), max_size=30), st.integers(1, 5))
def test_no_document_is_over_its_limit(documents: list[str], limit: int) -> None:
    over = over_limit(documents, limit)
    left = [name for place, name in enumerate(documents) if place not in over]
    for name in set(documents):
        assert left.count(name) == min(limit, documents.count(name))
    assert all(documents[:place].count(documents[place]) >= limit for place in over)


@SETTINGS
@given(st.lists(shares, max_size=20), st.lists(shares, max_size=20), shares)
def test_reordering_loses_nothing_and_scores_never_increase(
    unsorted: list[float], new: list[float], mix: float
) -> None:
    old = sorted(unsorted, reverse=True)
    new = new[: len(old)]
    found = reorder(old, new, mix)
    scores = [score for _, score in found]
    assert sorted(place for place, _ in found) == list(range(len(old)))
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert [place for place, _ in found[len(new) :]] == list(range(len(new), len(old)))


@SETTINGS
@given(st.lists(shares, max_size=20), st.integers(0, 20), shares)
def test_new_scores_that_agree_change_nothing(
    unsorted: list[float], count: int, mix: float
) -> None:
    old = sorted(unsorted, reverse=True)
    found = reorder(old, old[:count], mix)
    assert [score for _, score in found] == pytest.approx(old)
