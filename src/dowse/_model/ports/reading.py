"""What can be read from an index: one small port per concern, and a reading that has them all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from dowse._model import (
    ChunkKey,
    Condition,
    Counts,
    DocumentEntry,
    Edge,
    FileState,
    Keys,
    Name,
    Scores,
    Sizes,
    Stamp,
    StoredChunk,
    StoredDocument,
    Vector,
)

KeywordField = Literal["body", "code"]
"""The terms of a chunk with its title and headings, or the terms of its code."""


class DocumentTable(Protocol):
    """What the index was made of: its settings, its documents and their chunks."""

    @property
    def generation(self) -> int:
        """How many batches the index has taken."""
        ...

    def stamp(self) -> Stamp | None:
        """What the index was built with; None while it is new."""
        ...

    def roots(self) -> list[str]:
        """The folders that the index was made of, as far as it knows."""
        ...

    def counts(self) -> Counts:
        """How much the index holds."""
        ...

    def sizes(self) -> Sizes:
        """How much the index holds, in numbers that are quick to ask for.

        A store that isolates by document may count versions that are being replaced, and may be
        some seconds behind other writers.
        """
        ...

    def has_more_than(self, documents: int) -> bool:
        """Whether there are more documents than so many; quick, however many there are."""
        ...

    def files(self, beginnings: Sequence[str] = ("",)) -> dict[str, FileState]:
        """What is known of the files whose document ids begin in one of these ways, by id."""
        ...

    def documents(self) -> list[DocumentEntry]:
        """All documents, by id."""
        ...

    def document(self, document_id: str) -> StoredDocument | None:
        """One document, whole."""
        ...

    def find(self, short: str) -> list[tuple[str, int, int]]:
        """What an abbreviated id can mean: document id, first and last line."""
        ...

    def chunks(self, keys: Sequence[ChunkKey]) -> list[StoredChunk]:
        """Chunks by key, in the order asked for; unknown keys are passed over."""
        ...

    def named(self, name: str, limit: int) -> list[tuple[ChunkKey, Name]]:
        """The chunks that are called so, titles first, then aliases, then headings; by key.

        Names are compared by `fold_name`. A title or an alias names the first chunk of a document.
        """
        ...

    def keys_of(self, document_ids: Collection[str]) -> Keys:
        """The chunks of these documents."""
        ...


class Links(Protocol):
    """How the documents hang together."""

    def all(self) -> list[Edge]:
        """All links, by source and line."""
        ...

    def of(self, document_ids: Collection[str]) -> list[Edge]:
        """The links that begin or end at any of these documents, by source and line."""
        ...

    def communities(self) -> dict[str, int]:
        """The community of each document that has one, by id."""
        ...


class Vocabulary(Protocol):
    """The words of all documents, with how often they occur."""

    def most_frequent(self, size: int) -> list[str]:
        """The most frequent words, most frequent first."""
        ...

    def beginning(self, prefix: str, limit: int) -> list[str]:
        """Words that begin so, most frequent first."""
        ...

    def spelled_like(self, word: str, limit: int) -> list[str]:
        """Words that are spelled nearly so, nearest first, then most frequent.

        Nearly means one slip (a letter too many, too few, wrong, or swapped with its neighbour)
        in four to seven letters, two in eight and more, none in fewer.
        """
        ...


class TextVectors(Protocol):
    """The vectors that were made of texts, kept by text key for as long as a text may return."""

    def known(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors of these text keys, as far as there are any."""
        ...

    def missing(self, keys: Sequence[bytes]) -> list[bytes]:
        """Those of these text keys that have no sound vector, in their order; for the writer."""
        ...

    def waiting(self) -> dict[ChunkKey, str]:
        """The chunks without a vector, in the order of the text, each with its document's id."""
        ...


class KeywordSearch(Protocol):
    """Finds chunks by their terms."""

    @property
    def size(self) -> int:
        """How many chunks it holds."""
        ...

    def search(
        self, field: KeywordField, terms: Sequence[str], limit: int, among: Keys | None = None
    ) -> Scores:
        """Chunks that hold any of the terms, best first; only `among` these keys, if given.

        Promises: what `among` leaves is what it would leave of an unlimited call, scores included;
        equal scores are ordered by key, also where the limit cuts.
        """
        ...

    def frequencies(self, field: KeywordField, terms: Sequence[str]) -> dict[str, int]:
        """In about how many chunks each term occurs; 0 means none."""
        ...


class VectorSearch(Protocol):
    """Finds chunks by their vectors."""

    def nearest(self, vector: Vector, limit: int, among: Keys | None = None) -> Scores:
        """Chunks by cosine to the vector, best first; only `among` these keys, if given.

        A large index may miss a few of the nearest; `among` never makes it miss more.
        """
        ...

    def of(self, keys: Sequence[ChunkKey]) -> dict[ChunkKey, Vector]:
        """The vectors of these chunks; those without one are passed over."""
        ...


class IndexReader(Struct, frozen=True):
    """One whole generation of an index, unchanged for as long as it is held.

    A store that isolates by document gives documents instead, each unchanged once it was met.
    """

    catalogue: DocumentTable
    links: Links
    vocabulary: Vocabulary
    text_vectors: TextVectors
    keyword: KeywordSearch
    vectors: VectorSearch
    # The chunks for which every condition holds, ascending.
    matching: Callable[[Sequence[Condition]], Keys]


def within(keys: Keys, among: Keys) -> Keys:
    """Those of these keys that are `among` others, which ascend; each once, ascending.

    What `matching` returns may be a filter of an engine; it is asked about the keys, and never
    listed.
    """
    import numpy as np  # noqa: PLC0415  (what only names the ports must not take so long to load)

    ask: Callable[[Keys], Keys] | None = getattr(among, "within", None)
    if ask:
        return ask(keys)
    few = np.unique(keys)  # to sort the others as well would take longer than most searches
    before, after = np.searchsorted(among, few), np.searchsorted(among, few, "right")
    return few[before < after]
