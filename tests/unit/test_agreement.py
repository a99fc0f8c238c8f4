"""The check at the end of a move: what counts as a difference between two stores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from documents import STAMP, PlainAnalyzer, make_document, vectors_of
from dowse._model import Batch, Fields, IndexedDocument
from dowse._project.archive.move import agreement_of
from memory_store import MemoryStore

MANY = 60  # more than the check fetches


def filled(documents: Sequence[IndexedDocument], *, blank: bool = False) -> MemoryStore:
    """A store of documents; with `blank`, the model could read none of them."""
    store = MemoryStore(PlainAnalyzer())
    vectors = vectors_of(*documents)
    if blank:
        vectors = {key: np.zeros_like(vector) for key, vector in vectors.items()}
    with store.write() as writing:
        writing.start(STAMP)
        writing.apply(Batch(put=tuple(documents), vectors=vectors))
    return store


def agreement(one: MemoryStore, other: MemoryStore) -> float:
    with one.read() as left, other.read() as right:
        return agreement_of(left, right)


def notes(words: str) -> list[IndexedDocument]:
    return [
        make_document(f"{number}.md", words.format(number), fields=Fields(title="same"))
        for number in range(MANY)
    ]


@pytest.mark.parametrize("blank", [False, True])
def test_which_of_many_equal_passages_come_first_is_no_difference(blank: bool) -> None:
    there = notes("equal words" if not blank else "word{}")
    assert agreement(filled(there, blank=blank), filled(there[::-1], blank=blank)) == 1.0


def test_passages_that_only_one_side_has_are_a_difference() -> None:
    there = notes("word{}")
    assert agreement(filled(there), filled(there[:20])) < 0.7
