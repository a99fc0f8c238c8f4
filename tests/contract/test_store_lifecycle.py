"""An index from its beginning to its end, in every store."""

from __future__ import annotations

from documents import (
    DIMENSIONS,
    STAMP,
    PlainAnalyzer,
    batch,
    link,
    make_document,
    vector_of,
    vectors_of,
)
from dowse._model import Batch, Condition, Counts, text_key
from dowse._model.ports import Store
from index_content import waiting_texts
from store_steps import MakeStore, fill, found_now, number_seen, numbered


def test_the_roots_of_an_index_are_noted_and_change_no_generation(store: Store) -> None:
    with store.write() as writing:
        assert writing.catalogue.roots() == []
        writing.note_roots(["/notes", "/more"])
        writing.note_roots(["/notes"])
        writing.start(STAMP)
        before = writing.catalogue.generation
        writing.note_roots(["/notes", "/ünïcode"])
        assert writing.catalogue.generation == before
    with store.read() as reading:
        assert reading.catalogue.roots() == ["/notes", "/ünïcode"]


def test_a_new_index_is_empty_and_answers_everything(store: Store) -> None:
    with store.read() as reading:
        assert reading.catalogue.generation == 0
        assert reading.catalogue.stamp() is None
        assert reading.catalogue.files() == {}
        assert reading.catalogue.documents() == []
        assert reading.catalogue.document("a.md") is None
        assert reading.catalogue.find("ab") == []
        assert reading.catalogue.chunks([1, 2]) == []
        assert reading.links.all() == []
        assert reading.links.communities() == {}
        assert reading.catalogue.counts() == Counts(0, 0, 0, 0, 0, 0, 0, 0, 0)
        assert reading.keyword.search("body", ["word"], 10) == []
        assert reading.keyword.search("code", ["word"], 10) == []
        assert reading.vectors.nearest(vector_of("word"), 10) == []
        assert reading.vocabulary.most_frequent(10) == []
        assert reading.text_vectors.known([text_key("word")]) == {}
        assert waiting_texts(reading) == []
        assert reading.links.of(["a.md"]) == []
        assert reading.catalogue.keys_of(["a.md"]).tolist() == []
        assert reading.matching([]).tolist() == []
        assert reading.matching([Condition("phrase", ("a", "b"), negated=True)]).tolist() == []
        assert reading.vectors.of([1]) == {}
        assert reading.keyword.size == 0
        assert not reading.catalogue.has_more_than(0)
        assert reading.keyword.frequencies("body", ["word"]) == {"word": 0}
        assert reading.vocabulary.beginning("w", 10) == []
        assert reading.vocabulary.spelled_like("word", 10) == []


def test_start_stamps_the_index(store: Store) -> None:
    stamp = {**STAMP, "chunk": {"version": 1, "sizes": [200, 1500]}, "name": "ünïcode"}
    with store.write() as writing:
        writing.start(stamp)
        assert writing.catalogue.stamp() == stamp
    with store.read() as reading:
        found = reading.catalogue.stamp()
        assert found == stamp
        assert found is not None
        found["model"] = "changed by a caller"
        assert reading.catalogue.stamp() == stamp


def test_start_empties_the_index_but_keeps_vectors(store: Store) -> None:
    document = make_document("a.md", "alpha\n\nbeta", links=[link("b")])
    fill(store, batch(document))
    with store.write() as writing:
        writing.set_communities({"a.md": 0})
        writing.start(STAMP)
        assert writing.catalogue.counts() == Counts(0, 0, 0, 0, 0, 0, 0, 0, 0)
        assert found_now(store) == (0, 0)
        assert writing.links.communities() == {}
        assert len(writing.text_vectors.known(list(vectors_of(document)))) == 2
        writing.apply(Batch(put=(document,)))
        assert waiting_texts(writing) == []
        assert found_now(store) == (1, 2)


def test_vectors_of_another_model_are_never_mixed_in(store: Store) -> None:
    document = make_document("a.md", "alpha")
    fill(store, batch(document))
    with store.write() as writing:
        writing.start({"model": "another", "dimensions": DIMENSIONS})
        assert writing.text_vectors.known(list(vectors_of(document))) == {}
        writing.apply(Batch(put=(document,)))
        assert waiting_texts(writing) == ["alpha"]
        assert found_now(store) == (1, 0)
        writing.start(STAMP)
        assert len(writing.text_vectors.known(list(vectors_of(document)))) == 1


def test_without_a_model_everything_but_vectors_works(store: Store) -> None:
    with store.write() as writing:
        writing.start({"model": "none", "dimensions": 0})
        writing.apply(Batch(put=(make_document("a.md", "alpha"),)))
        assert found_now(store) == (1, 0)
        assert waiting_texts(writing) == ["alpha"]


def test_each_batch_is_one_generation(store: Store) -> None:
    with store.write() as writing:
        writing.start(STAMP)
        first = writing.catalogue.generation
        for number in range(3):
            writing.apply(batch(make_document(f"{number}.md", "text")))
            assert writing.catalogue.generation == first + number + 1
    with store.read() as reading:
        assert reading.catalogue.generation == first + 3


def test_discarding_leaves_a_new_index(store: Store) -> None:
    document = make_document("a.md", "alpha")
    fill(store, batch(document))
    with store.read() as reading:
        assert reading.catalogue.counts().documents == 1
    store.discard()
    with store.read() as reading:
        assert reading.catalogue.stamp() is None
        assert reading.catalogue.documents() == []
        assert reading.keyword.search("body", ["alpha"], 10) == []
    fill(store)
    with store.read() as reading:
        assert reading.text_vectors.known(list(vectors_of(document))) == {}


def test_tidying_loses_nothing_that_is_needed(store: Store) -> None:
    kept = make_document("kept.md", "kept words")
    gone = [make_document(f"{number}.md", f"gone {number}") for number in range(20)]
    fill(store, batch(kept, *gone))
    with store.write() as writing:
        writing.apply(batch(gone=[one.chunked.document.id for one in gone]))
        writing.remember({text_key("words"): vector_of("words")})
        writing.tidy(10_000)
        writing.tidy(10_000)
        assert waiting_texts(writing) == []
        assert writing.text_vectors.known([text_key("words")]).keys() == {text_key("words")}
    with store.read() as reading:
        assert len(reading.vectors.nearest(vector_of("kept words"), 10)) == 1


def test_the_same_batches_give_the_same_index(make_store: MakeStore) -> None:
    answers = []
    for name in ("one", "two"):
        store = make_store(name, PlainAnalyzer())
        fill(store, numbered(1), numbered(2), batch(gone=["3.md"]))
        with store.read() as reading:
            answers.append(
                (
                    reading.catalogue.documents(),
                    reading.keyword.search("body", ["number2", "of"], 10),
                    reading.vectors.nearest(vector_of("x"), 10),
                    reading.vocabulary.most_frequent(10),
                    reading.catalogue.generation,
                )
            )
    assert answers[0] == answers[1]


def test_a_store_can_be_used_again_after_closing(store: Store) -> None:
    fill(store, numbered(1))
    store.close()
    with store.read() as reading:
        assert number_seen(reading) == 1


def test_repairing_a_whole_index_changes_no_answer(store: Store) -> None:
    fill(store, numbered(1), numbered(2))
    store.repair()
    assert store.check() == []
    with store.read() as reading:
        assert number_seen(reading) == 2
