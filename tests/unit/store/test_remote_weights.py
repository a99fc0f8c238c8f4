"""The weights of terms in an engine: equal texts score alike, whoever wrote them and when."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import cast

import pytest

import engines
from documents import STAMP, PlainAnalyzer, batch, make_document
from dowse._model import Batch, Fields
from dowse._store.remote.rows import Rows
from dowse._store.remote.store import RemoteStore

LONG = " ".join(["pear", *["filler"] * 39])


def notes(names: str, text: str) -> Batch:
    return batch(*(make_document(f"{name}.md", text, fields=Fields()) for name in names))


@pytest.fixture
def store() -> Iterator[RemoteStore]:
    made = RemoteStore(engines.qdrant_rows, f"weights_{uuid.uuid4().hex[:8]}", PlainAnalyzer())
    yield made
    made.discard()


def scores(store: RemoteStore) -> list[float]:
    """The scores of all passages about apples, which have the same text."""
    with store.read() as reading:
        found = reading.keyword.search("body", ["apple"], 100)
    return [score for _, score in found]


def test_equal_texts_score_alike_though_shards_began_at_the_same_time(store: RemoteStore) -> None:
    with store.write() as writing:
        writing.start(STAMP)
    with store.write(part="1/2") as one, store.write(part="2/2") as other:
        one.apply(Batch(put=(*notes("abcde", LONG).put, *notes("f", "apple pie").put)))
        other.apply(Batch(put=(*notes("ghijk", LONG).put, *notes("lmn", "apple pie").put)))
    assert max(scores(store)) > min(scores(store))  # each by the lengths that it knew
    with store.write() as writing:
        writing.tidy(10)
    assert scores(store) == pytest.approx([scores(store)[0]] * 4)


def test_a_killed_run_that_weighs_terms_again_is_finished_by_the_next(store: RemoteStore) -> None:
    rows, writes, finished = engines.qdrant_rows(), 0, False
    while not finished:
        mortal = engines.Mortal(rows, 10**6)
        dying = RemoteStore(lambda one=mortal: cast("Rows", one), store.name, PlainAnalyzer())  # type: ignore[misc]
        with store.write() as writing:
            writing.start(STAMP)
            writing.apply(notes("ab", "apple pie"))
            writing.apply(notes("cd", LONG))
        try:
            with dying.write() as writing:
                mortal.left = writes
                writing.tidy(10)
                mortal.left, finished = 10**6, True
        except engines.Killed:
            engines.void_claims(rows, store)
        with store.write() as writing:
            if "tidy" in writing.pending():
                writing.tidy(10)
            writing.apply(notes("j", "apple pie"))
        assert scores(store) == pytest.approx([scores(store)[0]] * 3), writes
        writes += 1
    assert writes > 8  # one for the state, two for each document
