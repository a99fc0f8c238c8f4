"""What every store promises about vectors."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from documents import DIMENSIONS, STAMP, batch, make_document, vector_of, vectors_of
from dowse._model import Batch, Fields, text_key
from dowse._model.ports import Store
from dowse.errors import EmbedError, StampMismatch
from index_content import waiting_texts
from store_steps import apply, fill, keys_in_order, texts


def test_which_texts_have_no_vector_yet(store: Store) -> None:
    document = make_document("a.md", "alpha")
    known = list(vectors_of(document))
    unknown = [
        number.to_bytes(16, "big") for number in range(1200)
    ]  # more than one statement takes
    fill(store, Batch((document,), vectors=vectors_of(document)))
    with store.read() as reading:
        assert reading.text_vectors.missing([]) == []
        assert reading.text_vectors.missing(known) == []
        assert reading.text_vectors.missing([*unknown[:600], *known, *unknown[600:]]) == unknown


def test_vectors_are_known_unknown_and_remembered(store: Store) -> None:
    known, waiting = make_document("a.md", "alpha"), make_document("b.md", "# B\n\nbeta")
    fill(store, Batch(put=(known, waiting), vectors=vectors_of(known)))
    head, body = (waiting.chunked.embedding_text(chunk) for chunk in waiting.chunked.chunks)
    with store.write() as writing:
        assert waiting_texts(writing) == [head, body]
        assert writing.catalogue.counts().embedded == 1
        found = writing.text_vectors.known([text_key("alpha"), text_key(body)])
        assert found.keys() == {text_key("alpha")}
        assert found[text_key("alpha")].dtype == np.float32
        np.testing.assert_allclose(found[text_key("alpha")], vector_of("alpha"), atol=1e-3)
        writing.remember({text_key(body): vector_of(body), text_key("word"): vector_of("word")})
        assert waiting_texts(writing) == [head]
        assert writing.catalogue.counts().embedded == 2
        assert writing.text_vectors.known([text_key("word")]).keys() == {text_key("word")}
    with store.read() as reading:
        assert texts(reading, reading.vectors.nearest(vector_of(body), 1)) == ["beta"]
        assert len(reading.vectors.nearest(vector_of(body), 10)) == 2


def test_what_is_embedded_before_a_text_is_what_the_index_was_built_with(store: Store) -> None:
    made = make_document("b.md", "# B\n\nbeta", fields=Fields(title="Book"))
    made = replace(made, chunked=replace(made.chunked, context="none"))
    with store.write() as writing:
        writing.start({**STAMP, "chunk": {"context": "none"}})
        writing.apply(Batch(put=(made,)))
        assert waiting_texts(writing) == ["# B", "beta"]
        writing.remember({text_key("beta"): vector_of("beta")})
        assert waiting_texts(writing) == ["# B"]


def test_a_batch_brings_vectors_to_chunks_that_were_waiting_elsewhere(store: Store) -> None:
    fill(store, Batch(put=(make_document("a.md", "same text"),)))
    apply(store, batch(make_document("b.md", "same text")))
    with store.read() as reading:
        assert waiting_texts(reading) == []
        assert len(reading.vectors.nearest(vector_of("same text"), 10)) == 2


def test_a_vector_may_be_replaced(store: Store) -> None:
    fill(store, batch(make_document("a.md", "alpha\n\nbeta")))
    with store.write() as writing, store.read() as reading:
        before = reading.vectors.nearest(vector_of("new"), 10)
        writing.remember({text_key("beta"): vector_of("new")})
        writing.remember({text_key("beta"): vector_of("new")})
    with store.read() as reading:
        after = reading.vectors.nearest(vector_of("new"), 10)
        assert {key for key, _ in after} == {key for key, _ in before}
        assert len(after) == len(before) == 2
        assert after[0][1] == pytest.approx(1, abs=1e-3)
        assert texts(reading, after[:1]) == ["beta"]


def test_a_vector_that_does_not_fit_is_refused_and_changes_nothing(store: Store) -> None:
    fill(store)
    document = make_document("a.md", "alpha")
    with store.write() as writing:
        with pytest.raises(StampMismatch, match=r"dowse index --rebuild"):
            writing.apply(Batch((document,), vectors=vectors_of(document, dimensions=3)))
        with pytest.raises(EmbedError):
            writing.remember({text_key("alpha"): np.full(DIMENSIONS, np.nan, np.float32)})
        assert writing.catalogue.documents() == []
        assert writing.text_vectors.known([text_key("alpha")]) == {}


def test_nearest_ranks_by_cosine_and_breaks_ties_by_key(store: Store) -> None:
    documents = [make_document(f"{number}.md", f"text {number}") for number in range(30)]
    twins = [make_document(f"twin{number}.md", "twin") for number in range(3)]
    fill(store, batch(*documents), batch(*twins))
    query = vector_of("query")
    with store.read() as reading:
        found = reading.vectors.nearest(query, 33)
        for chunk, (_, score) in zip(
            reading.catalogue.chunks([k for k, _ in found]), found, strict=True
        ):
            assert score == pytest.approx(float(vector_of(chunk.text) @ query), abs=2e-3)
        assert found == sorted(found, key=lambda pair: (-pair[1], pair[0]))
        assert len({key for key, _ in found}) == 33
        assert reading.vectors.nearest(query, 5) == found[:5]
        assert reading.vectors.nearest(query, 1000) == found
        assert reading.vectors.nearest(query, 0) == []
        best = reading.vectors.nearest(vector_of("twin"), 3)
        assert texts(reading, best) == ["twin"] * 3
        assert [key for key, _ in best] == sorted(key for key, _ in best)


def test_zero_vectors_are_found_last(store: Store) -> None:
    zero = make_document("zero.md", "zero")
    fill(store, batch(make_document("a.md", "alpha")))
    apply(store, Batch((zero,), vectors={text_key("zero"): np.zeros(DIMENSIONS, np.float32)}))
    with store.read() as reading:
        assert texts(reading, reading.vectors.nearest(vector_of("alpha"), 2)) == ["alpha", "zero"]
        assert len(reading.vectors.nearest(np.zeros(DIMENSIONS, np.float32), 10)) == 2


def test_vectors_of_chunks(store: Store) -> None:
    document = make_document("a.md", "alpha\n\nbeta\n\ngamma")
    waiting = make_document("b.md", "delta")
    fill(store, batch(document), Batch(put=(waiting,)))
    with store.read() as reading:
        keys = keys_in_order(reading)
        found = reading.vectors.of([keys[2], keys[0], keys[3], 999])
        assert list(found) == [keys[2], keys[0]]
        for chunk in reading.catalogue.chunks(list(found)):
            expected = (
                vector_of(chunk.embedding_text("title")).astype(np.float16).astype(np.float32)
            )
            assert found[chunk.key].dtype == np.float32
            assert found[chunk.key].tolist() == expected.tolist()
        assert reading.vectors.of([]) == {}
    apply(store, batch(gone=["a.md"]))
    with store.read() as reading:
        assert reading.vectors.of(keys) == {}
