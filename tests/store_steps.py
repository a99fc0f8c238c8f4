"""Documents and steps that the tests of stores share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from documents import STAMP, batch, make_document, vector_of
from dowse._model import Batch, Condition, ConditionKind, Fields, Keys
from dowse._model.ports import Analyzer, IndexReader, Store

MakeStore = Callable[[str, Analyzer], Store]


def fill(store: Store, *batches: Batch) -> None:
    """Starts an empty index and hands it batches."""
    with store.write() as writing:
        writing.start(STAMP)
        for one in batches:
            writing.apply(one)


def apply(store: Store, *batches: Batch) -> None:
    with store.write() as writing:
        for one in batches:
            writing.apply(one)


def targets(store: Store) -> list[tuple[str, str | None]]:
    """Where all links lead: the target as written, and the document."""
    with store.read() as reading:
        return [(edge.link.target, edge.target) for edge in reading.links.all()]


def found_in(reading: IndexReader, *terms: str) -> list[str]:
    found = reading.catalogue.chunks([key for key, _ in reading.keyword.search("body", terms, 10)])
    return [chunk.document.id for chunk in found]


def found_now(store: Store) -> tuple[int, int]:
    """How many chunks a new reader finds for alpha: by word, and by vector."""
    with store.read() as reading:
        words = reading.keyword.search("body", ["alpha"], 10)
        return len(words), len(reading.vectors.nearest(vector_of("alpha"), 10))


def keys_in_order(reading: IndexReader) -> list[int]:
    """All chunks in the order of their documents and texts: keys need not be in any order."""
    chunks = reading.catalogue.chunks(reading.matching([]).tolist())
    chunks.sort(key=lambda one: (one.document.id, one.chunk.start))
    return [one.key for one in chunks]


def texts(reading: IndexReader, scores: list[tuple[int, float]]) -> list[str]:
    return [chunk.text.strip() for chunk in reading.catalogue.chunks([key for key, _ in scores])]


SHELF = (
    make_document(
        "notes/Alpha.md",
        "red apple\n\n```python\nprint apple\n```\n\n```\nplain\n```",
        fields=Fields(
            "The Alpha Note",
            tags=("Fruit/Red", "draft"),
            category="Guide",
            modified=9.0,
            properties=(
                ("done", ("Yes",)),
                ("due", ("2026-03-01",)),
                ("people", ("Ann Lee", "Bo")),
                ("rating", ("4.5",)),
                ("Status", ("In Progress",)),
            ),
        ),
    ),
    make_document(
        "notes/sub/beta.txt",
        "green pear\n\n```js\nlet pear\n```",
        fields=Fields(
            "Beta",
            tags=("fruit",),
            author=("Ann Lee", "Bo"),
            category="guide",
            properties=(("due", ("5 May 2025",)), ("rating", ("10",)), ("status", ())),
        ),
        mtime_ns=5_000_000_000,
    ),
    make_document(
        "other/GAMMA.markdown",
        "red pear red\n\nred apple pie",
        fields=Fields("Gämma straße", tags=("fruits",), author=("Zoë",), modified=-1.5),
    ),
)


def where(
    kind: ConditionKind, *values: str, bound: float = 0.0, negated: bool = False
) -> Condition:
    return Condition(kind, values, bound, negated)


def documents_of(reading: IndexReader, keys: Keys) -> str:
    """The first letters of the documents of some chunks, in capitals where all of it is there."""
    assert keys.dtype == np.int64
    assert keys.tolist() == sorted(set(keys.tolist()))
    found = [chunk.document for chunk in reading.catalogue.chunks(keys.tolist())]
    letters = {"notes/Alpha.md": "a", "notes/sub/beta.txt": "b", "other/GAMMA.markdown": "g"}
    whole = {entry.id: entry.chunks for entry in found}
    ids = [entry.id for entry in found]
    return "".join(
        sorted(
            letters[id_].upper() if ids.count(id_) == whole[id_] else letters[id_] for id_ in whole
        )
    )


def numbered(number: int, count: int = 5) -> Batch:
    """A batch of documents that all carry the same number."""
    return batch(
        *(make_document(f"{name}.md", f"number{number} of {name}") for name in range(count))
    )


def number_seen(reading: IndexReader, count: int = 5) -> int:
    """The one number that documents, keyword hits and nearest chunks agree on."""
    documents = [reading.catalogue.document(f"{name}.md") for name in range(count)]
    numbers = {one.text.split()[0].removeprefix("number") for one in documents if one}
    assert len(numbers) == 1
    (number,) = numbers
    assert len(reading.keyword.search("body", [f"number{number}"], 100)) == count
    assert len(reading.keyword.search("body", ["of"], 100)) == count
    chunks = reading.catalogue.chunks(
        [key for key, _ in reading.vectors.nearest(vector_of("x"), 100)]
    )
    assert len(chunks) == count
    assert {chunk.text.split()[0] for chunk in chunks} == {f"number{number}"}
    assert reading.vocabulary.most_frequent(1) == [f"number{number}"]
    return int(number)
