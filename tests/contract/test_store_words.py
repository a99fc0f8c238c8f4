"""What every store promises about words."""

from __future__ import annotations

import pytest

from documents import PlainAnalyzer, batch, make_document
from dowse._model import Fields
from dowse._model.ports import Store
from store_steps import MakeStore, apply, fill


def test_the_vocabulary_counts_up_and_down(store: Store) -> None:
    one = make_document("1.md", "apple apple pear")
    two = make_document("2.md", "pear pear plum of")
    fill(store, batch(one, two))
    with store.read() as reading:
        assert reading.vocabulary.most_frequent(10) == ["pear", "apple", "plum"]
        assert reading.vocabulary.most_frequent(2) == ["pear", "apple"]
        assert reading.vocabulary.most_frequent(0) == []
        assert reading.catalogue.counts().terms == 3
    apply(store, batch(make_document("2.md", "plum")))
    with store.read() as reading:
        assert reading.vocabulary.most_frequent(10) == ["apple", "pear", "plum"]
    apply(store, batch(gone=["1.md"]))
    with store.read() as reading:
        assert reading.vocabulary.most_frequent(10) == ["plum"]
        assert reading.catalogue.counts().terms == 1


def test_the_vocabulary_leaves_out_the_frontmatter(store: Store) -> None:
    fill(store, batch(make_document("a.md", "---\ntitle: secret\n---\nopen", body=22)))
    with store.read() as reading:
        assert reading.vocabulary.most_frequent(10) == ["open"]


def test_frequencies_count_chunks_and_forget_what_is_gone(store: Store) -> None:
    fill(
        store,
        batch(
            make_document("1.md", "apple apple pear\n\napple", fields=Fields()),
            make_document("2.md", "apple plum", fields=Fields()),
        ),
    )
    with store.read() as reading:
        assert reading.keyword.size == 3
        assert reading.keyword.frequencies("body", ["apple", "plum", "none", ""]) == {
            "apple": 3,
            "plum": 1,
            "none": 0,
            "": 0,
        }
        assert reading.keyword.frequencies("body", []) == {}
    apply(store, batch(gone=["2.md"]))
    with store.read() as reading:
        assert reading.keyword.size == 2
        assert reading.keyword.frequencies("body", ["apple", "plum"]) == {"apple": 2, "plum": 0}


def test_words_by_their_beginning(store: Store) -> None:
    fill(
        store,
        batch(make_document("a.md", "auth auth author author author authentication autumn ärger")),
    )
    with store.read() as reading:
        assert reading.vocabulary.beginning("auth", 10) == ["author", "auth", "authentication"]
        assert reading.vocabulary.beginning("AUTH", 2) == ["author", "auth"]
        assert reading.vocabulary.beginning("authx", 10) == []
        assert reading.vocabulary.beginning("a\u0308", 10) == ["ärger"]
        assert reading.vocabulary.beginning("auth", 0) == []
        assert reading.vocabulary.beginning("", 3) == ["author", "auth", "authentication"]
        assert reading.vocabulary.beginning("auth%", 10) == []


@pytest.fixture(scope="module")
def spelled(make_lasting_store: MakeStore) -> Store:
    store = make_lasting_store("spelled", PlainAnalyzer())
    text = "search search perch cat connection connections straße"
    fill(store, batch(make_document("a.md", text)))
    return store


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("serch", ["search", "perch"]),
        ("SERCH", ["search", "perch"]),
        ("saerch", ["search"]),
        ("search", []),
        ("perch", []),
        ("cat", []),
        ("caat", ["cat"]),
        ("conection", ["connection", "connections"]),
        ("connectoin", ["connection", "connections"]),
        ("kannection", ["connection"]),
        ("kannectiom", []),
        ("straße", []),
        ("strasse", []),
        ("", []),
        ("x" * 10_000, []),
    ],
)
def test_words_that_are_spelled_nearly_so(spelled: Store, word: str, expected: list[str]) -> None:
    with spelled.read() as reading:
        assert reading.vocabulary.spelled_like(word, 10) == expected
        assert reading.vocabulary.spelled_like(word, 1) == expected[:1]
        assert reading.vocabulary.spelled_like(word, 0) == []
