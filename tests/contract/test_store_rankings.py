"""How every store ranks by keyword, code and vector, also under conditions."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from documents import STAMP, PlainAnalyzer, batch, make_document, vector_of
from dowse._model import GAP, Fields, Keys, Scores
from dowse._model.ports import IndexReader, KeywordField, Store
from dowse._store.store import EmbeddedStore
from memory_store import MemoryStore
from store_steps import MakeStore, fill, found_in, texts, where


def test_keyword_search_finds_any_of_the_terms_best_first(store: Store) -> None:
    fill(
        store,
        batch(
            make_document("1.md", "apple apple apple pear", fields=Fields()),
            make_document("2.md", "apple plum plum plum", fields=Fields()),
            make_document("3.md", "cherry cherry cherry cherry", fields=Fields()),
        ),
    )
    with store.read() as reading:
        assert found_in(reading, "apple") == ["1.md", "2.md"]
        assert found_in(reading, "apple", "plum") == ["2.md", "1.md"]
        assert found_in(reading, "absent", "cherry") == ["3.md"]
        assert reading.keyword.search("body", [], 10) == []
        assert reading.keyword.search("body", ["absent"], 10) == []
        assert reading.keyword.search("body", ["apple"], 0) == []
        assert len(reading.keyword.search("body", ["apple"], 1)) == 1
        scores = [
            score for _, score in reading.keyword.search("body", ["apple", "plum", "cherry"], 10)
        ]
        assert scores == sorted(scores, reverse=True)
        assert all(score > 0 for score in scores)


@pytest.mark.parametrize(
    "term", ["c++", "--no-verify", "日本", "a,b", "\0", "'", '"', "*", "AND", "_"]
)
def test_terms_are_looked_up_as_they_are(make_store: MakeStore, term: str) -> None:
    class OneTerm(PlainAnalyzer):
        def chunk_terms(self, *_: object) -> list[tuple[str, int]]:
            return [(term, 0), ("other", 1)]

    store = make_store("index", OneTerm())
    fill(store, batch(make_document("a.md", "x")))
    with store.read() as reading:
        assert len(reading.keyword.search("body", [term], 10)) == 1
        assert reading.keyword.search("body", [term + "x"], 10) == []


@pytest.mark.parametrize("term", ["", " ", "a b", GAP])
def test_a_term_that_no_analyzer_makes_is_found_nowhere(store: Store, term: str) -> None:
    fill(store, batch(make_document("a.md", "a b"), make_document("b.md", "other")))
    with store.read() as reading:
        assert found_in(reading, term) == []
        assert reading.keyword.frequencies("body", [term]) == {term: 0}


def test_titles_and_headings_are_searched_too(store: Store) -> None:
    fill(store, batch(make_document("a.md", "# Heading\n\nbody", fields=Fields(title="Title"))))
    with store.read() as reading:
        assert len(reading.keyword.search("body", ["title"], 10)) == 2
        assert len(reading.keyword.search("body", ["heading"], 10)) == 2
        assert len(reading.keyword.search("body", ["body"], 10)) == 1


def test_code_search_finds_the_chunk_in_which_the_code_begins(store: Store) -> None:
    fill(store, batch(make_document("a.md", "before\n\n```py\ndef run\n```\n\nrun after")))
    with store.read() as reading:
        assert texts(reading, reading.keyword.search("code", ["run"], 10)) == [
            "```py\ndef run\n```"
        ]
        assert reading.keyword.search("code", ["after"], 10) == []
        assert reading.keyword.search("code", ["py"], 10) == []
        assert reading.catalogue.counts().code_blocks == 1


class Weighted(PlainAnalyzer):
    """Lists every word of the title three times at its place, as boosts do."""

    def chunk_terms(
        self,
        fields: Fields,
        header_path: Sequence[str],  # noqa: ARG002  (the port's)
        text: str,
        language: str = "",  # noqa: ARG002  (the port's)
    ) -> list[tuple[str, int]]:
        title = [(word, at) for at, word in enumerate(fields.title.split()) for _ in range(3)]
        return title + [(word, 100 + at) for at, word in enumerate(text.split())]


@pytest.fixture(scope="module")
def weighted(make_lasting_store: MakeStore) -> Store:
    store = make_lasting_store("weighted", Weighted())
    fill(
        store,
        batch(
            make_document("1.md", "d e", fields=Fields("a b c")),
            make_document("2.md", "b", fields=Fields("a a")),
            make_document("3.md", "b c", fields=Fields("a c")),
        ),
    )
    return store


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("a b", ["1.md"]),
        ("a b c", ["1.md"]),
        ("a a", ["2.md"]),
        ("b c", ["1.md", "3.md"]),
        ("c d", []),
        ("b b", []),
    ],
)
def test_a_term_that_weighs_more_is_in_a_phrase_once(
    weighted: Store, phrase: str, expected: list[str]
) -> None:
    with weighted.read() as reading:
        found = reading.catalogue.chunks(
            reading.matching([where("phrase", *phrase.split())]).tolist()
        )
        assert sorted(chunk.document.id for chunk in found) == expected


def test_a_filtered_ranking_is_the_unlimited_one_filtered(store: Store) -> None:
    words = ["apple", "pear", "plum", "fig"]
    put = []
    for number in range(60):
        body = " ".join(words[: 1 + number % 4] * (1 + number % 3))
        text = f"{body}\n\n```\n{words[number % 4]}\n```"
        put.append(make_document(f"{number}.md", text, fields=Fields(tags=(f"t{number % 7}",))))
    fill(store, batch(*put[:25]), batch(*put[25:]), batch(gone=["3.md", "30.md"]))
    with store.read() as reading:
        searches: list[Callable[[int, Keys | None], Scores]] = [
            partial(reading.keyword.search, "body", ["apple", "plum", "fig"]),
            partial(reading.keyword.search, "code", ["pear", "fig"]),
            partial(reading.vectors.nearest, vector_of("query")),
        ]
        for tags, search in product((["t1"], ["t1", "t2", "t5"], ["none"]), searches):
            among = reading.matching([where("tag", *tags)])
            everything = search(1000, None)
            expected = [pair for pair in everything if pair[0] in set(among.tolist())]
            for limit in (0, 1, 2, 5, 1000):
                assert search(limit, among) == expected[:limit]
                assert search(limit, None) == everything[:limit]


def test_keys_that_no_chunk_has_allow_nothing(store: Store) -> None:
    fill(store, batch(make_document("a.md", "alpha")))
    with store.read() as reading:
        key = reading.matching([]).tolist()[0]
        for among in (np.array([], np.int64), np.array([key + 1, key + 99], np.int64)):
            assert reading.keyword.search("body", ["alpha"], 10, among) == []
            assert reading.keyword.search("code", ["alpha"], 10, among) == []
            assert reading.vectors.nearest(vector_of("alpha"), 10, among) == []
        mixed = np.array([key, key + 1], np.int64)
        assert [key for key, _ in reading.keyword.search("body", ["alpha"], 10, mixed)] == [key]


def test_ties_are_cut_by_key(store: Store) -> None:
    same = [make_document(f"{number}.md", "apple", fields=Fields()) for number in range(40)]
    better = make_document("better.md", "apple apple", fields=Fields())
    # In several parts, newest keys first to be met by a search that does not care.
    fill(store, batch(*same[:3]), batch(better, *same[3:30]), batch(*same[30:]))
    with store.read() as reading:
        everything = reading.keyword.search("body", ["apple"], 100)
        best = everything[0][0]
        ties = sorted({key for key, _ in everything} - {best})
        for limit in (1, 2, 5, 39, 41):
            found = [key for key, _ in reading.keyword.search("body", ["apple"], limit)]
            assert found == [best, *ties][:limit]
            among = np.array(ties[5:], np.int64)
            found = [key for key, _ in reading.keyword.search("body", ["apple"], limit, among)]
            assert found == ties[5:][:limit]


def test_words_and_code_score_as_in_the_embedded_store(store: Store, tmp_path: Path) -> None:
    """Lengths from 1 to 400 terms: the embedded store keeps long ones coarsely."""
    if isinstance(store, MemoryStore):
        pytest.skip("it scores by the exact length")
    rng, words = random.Random(4), [f"w{number}" for number in range(60)]
    put = [
        make_document(
            f"{number}.md",
            " ".join(rng.choices(words, k=rng.choice((1, 30, 41, 90, 400))))
            + ("\n\n```\n" + " ".join(rng.choices(words, k=50)) + "\n```" if number % 3 else ""),
            fields=Fields(),
        )
        for number in range(40)
    ]
    other = EmbeddedStore(tmp_path / "other", PlainAnalyzer())
    put.sort(key=lambda one: len(one.chunked.document.text))  # no batch is like the whole
    for one in (store, other):
        with one.write() as writing:
            writing.start(STAMP)
            writing.apply(batch(*put[:20]))
            writing.apply(batch(*put[20:]))
            writing.tidy(0)
    fields: tuple[KeywordField, ...] = ("body", "code")
    with store.read() as reading, other.read() as embedded:
        for field, term in product(fields, words[:8]):
            here, there = (
                _by_id(side, side.keyword.search(field, [term, "w9"], 200))
                for side in (reading, embedded)
            )
            assert here == pytest.approx(there, rel=1e-5)
            assert here
    other.close()


def _by_id(reading: IndexReader, scores: Scores) -> dict[tuple[str, str], float]:
    found = dict(scores)
    chunks = reading.catalogue.chunks(list(found))
    return {(one.document.id, one.chunk.id): found[one.key] for one in chunks}
