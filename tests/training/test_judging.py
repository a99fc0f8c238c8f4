from random import Random

import pytest
from training.choosing import WRONG, Candidate, wrong_answers
from training.compare import rows
from training.corpus import Chunk, Query
from training.measures import interval, ndcg
from training.passages import (
    encoder_text,
    header_line,
    without_headings,
    without_part,
)


def test_ndcg_equals_a_calculation_by_hand() -> None:
    assert ndcg([5, 7, 9], {7: 1}) == pytest.approx(0.6309, abs=1e-4)
    assert ndcg([7, 5], {7: 2, 5: 1}) == 1.0
    assert ndcg([1], {7: 1}) == 0.0


def test_the_interval_contains_the_mean_and_shrinks_with_more_queries() -> None:
    few, many = [0.0, 1.0] * 10, [0.0, 1.0] * 400
    low, high = interval(few)
    assert low < 0.5 < high
    assert interval(many)[1] - interval(many)[0] < (high - low) / 3


def test_models_are_compared_query_by_query() -> None:
    results = {"task": {"old": [0.0, 1.0] * 20, "new": [0.5, 1.0] * 20}, "other": {"old": [1.0]}}
    (row,) = rows(results, "old", "new")
    assert (row.task, row.queries, row.baseline, row.model) == ("task", 40, 0.5, 0.75)
    assert 0 < row.low < 0.25 < row.high


CHUNK = Chunk("a", 0, "Guide", ["Guide", "Keys"], "## Keys\n\n[Rotate](x.md) them <b>now</b>.")


def test_the_header_line_has_the_title_once() -> None:
    assert header_line(CHUNK) == "Guide > Keys"
    assert header_line(CHUNK._replace(title="Manual")) == "Manual > Guide > Keys"
    without = CHUNK._replace(title="", path=[])
    assert "Rotate them now" in encoder_text(without)
    assert "x.md" not in encoder_text(without)


def test_a_chunk_without_headings_does_not_have_its_own() -> None:
    assert "Keys" not in encoder_text(without_headings(CHUNK))
    assert "Guide" in encoder_text(without_headings(CHUNK))


def test_a_chunk_without_the_sentence_of_a_query_has_the_rest() -> None:
    assert without_part(CHUNK, (0, 7)).text.strip().startswith("[Rotate]")


def found(*numbers: int, score: float = 0.5, near: float = 0.2) -> list[Candidate]:
    return [Candidate(n, score, near) for n in numbers]


def chosen(
    query: Query, candidates: list[Candidate], headings: dict[int, str] | None = None
) -> list[int]:
    chunks = [Chunk("a", n // 2, "", [], "") for n in range(60)]
    names = [(headings or {}).get(n, "") for n in range(60)]
    answer = Candidate(0, 0.5, 1.0)
    return wrong_answers(query, answer, candidates, chunks=chunks, headings=names, rng=Random(0))


QUERY = Query("heading", "rotate the keys", "a", 0, 1, key="rotate the keys")


def test_neighbours_duplicates_and_better_matches_are_no_wrong_answers() -> None:
    doubtful = [*found(0, 1), *found(10, near=0.95), *found(11, score=0.9)]
    assert chosen(QUERY, [*doubtful, *found(12)]) == [12]


def test_chunks_with_the_same_heading_are_no_wrong_answers() -> None:
    assert chosen(QUERY, found(10, 11), {10: "how to rotate the keys"}) == [11]


def test_a_query_keeps_a_limited_number_of_wrong_answers() -> None:
    assert chosen(QUERY, found(*range(2, 60))) == list(range(2, 2 + WRONG))
