"""What the exchangeable parts promise, and what they do not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from dowse.types import (
    Batch,
    ChunkKey,
    Condition,
    Counts,
    Debt,
    DocumentEntry,
    Edge,
    EmbeddedBatch,
    Fields,
    FileState,
    Finding,
    Keys,
    Model,
    Scores,
    Stamp,
    StoredChunk,
    StoredDocument,
    Vector,
)


class Embedder(Protocol):
    """Turns texts into vectors of unit length.

    Promises: equal texts give vectors that are equal to within rounding, whatever stands beside
    them in the call; every position is yielded exactly once; vectors have `model.dimensions`.
    Does not promise: an order of the batches, or that a failed call can be resumed. What was
    yielded before a failure is good and may be kept.
    """

    @property
    def model(self) -> Model:
        """The model behind the vectors; reading it loads no weights."""
        ...

    def passages(self, texts: Sequence[str]) -> Iterator[EmbeddedBatch]:
        """Embeds texts to be found, yielding batches as they are done.

        Raises `WeightsMissing` or `EndpointFailed` when no vectors can be made.
        """
        ...

    def query(self, text: str) -> Vector:
        """Embeds a text to search with."""
        ...


class Analyzer(Protocol):
    """Turns text into the terms that the keyword index holds.

    Promises: the same text gives the same terms as long as `stamp` stays the same.
    """

    @property
    def stamp(self) -> Mapping[str, object]:
        """The settings that terms depend on; an index built with others is refused."""
        ...

    def chunk_terms(
        self, fields: Fields, header_path: Sequence[str], text: str
    ) -> list[tuple[str, int]]:
        """The terms of a chunk with their positions; a term weighs as often as it is listed."""
        ...

    def query_terms(self, text: str) -> list[str]:
        """The distinct terms of a query; those of a chunk's text are among the chunk's."""
        ...

    def code_terms(self, text: str) -> list[tuple[str, int]]:
        """The identifiers of a piece of code and their parts, with their positions."""
        ...

    def vocabulary(self, text: str) -> Iterable[str]:
        """The words of a text that can stand in the vocabulary, as often as they occur."""
        ...


class Reranker(Protocol):
    """Reads a query and passages together, more closely than two vectors can be compared.

    Promises: one score per passage, from 0 to 1, higher for what fits better; the same call gives
    the same scores. Loads its model on first use.
    """

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """How well each passage answers the query; raises `EmbedError` when it cannot be told."""
        ...


class Writer(Protocol):
    """A language model that writes text."""

    @property
    def name(self) -> str:
        """The model's name, for people."""
        ...

    def write(self, instructions: str, material: str) -> str:
        """What the model writes by these instructions; raises `EndpointFailed` when it cannot."""
        ...


class Reading(Protocol):
    """One whole generation of an index, unchanged for as long as it is held."""

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

    def files(self) -> dict[str, FileState]:
        """What is known of every file, by document id."""
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

    def edges(self) -> list[Edge]:
        """All links, by source and line."""
        ...

    def communities(self) -> dict[str, int]:
        """The community of each document that has one, by id."""
        ...

    def counts(self) -> Counts:
        """How much the index holds."""
        ...

    def links_of(self, document_ids: Collection[str]) -> list[Edge]:
        """The links that begin or end at any of these documents, by source and line."""
        ...

    def keys_of(self, document_ids: Collection[str]) -> Keys:
        """The chunks of these documents."""
        ...

    def matching(self, conditions: Sequence[Condition]) -> Keys:
        """The chunks for which every condition holds."""
        ...

    def keyword(self, terms: Sequence[str], limit: int, among: Keys | None = None) -> Scores:
        """Chunks that hold any of the terms, best first; only `among` these keys, if given.

        Promises: what `among` leaves is what it would leave of an unlimited call, scores included;
        equal scores are ordered by key, also where the limit cuts.
        """
        ...

    def code(self, terms: Sequence[str], limit: int, among: Keys | None = None) -> Scores:
        """Chunks whose code holds any of the terms, best first; promises as `keyword` does."""
        ...

    def nearest(self, vector: Vector, limit: int, among: Keys | None = None) -> Scores:
        """Chunks by cosine to the vector, best first; only `among` these keys, if given.

        A large index may miss a few of the nearest; `among` never makes it miss more.
        """
        ...

    def chunk_vectors(self, keys: Sequence[ChunkKey]) -> dict[ChunkKey, Vector]:
        """The vectors of these chunks; those without one are passed over."""
        ...

    @property
    def size(self) -> int:
        """How many chunks the keyword index holds."""
        ...

    def frequencies(self, terms: Sequence[str], *, code: bool = False) -> dict[str, int]:
        """In about how many chunks each term stands, or in the code of how many; 0 means none."""
        ...

    def words(self, prefix: str, limit: int) -> list[str]:
        """Words of the documents that begin so, most frequent first."""
        ...

    def spellings(self, word: str, limit: int) -> list[str]:
        """Words of the documents that are spelled nearly so, nearest first, then most frequent.

        Nearly means one slip (a letter too many, too few, wrong, or swapped with its neighbour)
        in four to seven letters, two in eight and more, none in fewer.
        """
        ...

    def vocabulary(self, size: int) -> list[str]:
        """The most frequent words, most frequent first."""
        ...

    def vectors(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors that are known for these text keys."""
        ...

    def without_vector(self, keys: Sequence[bytes]) -> list[bytes]:
        """Those of these text keys for which no vector is known, in their order."""
        ...

    def unembedded(self) -> list[str]:
        """The embedding texts of chunks that have no vector yet."""
        ...


class Writing(Reading, Protocol):
    """The one writer of an index; reads what it has written."""

    def start(self, stamp: Stamp) -> None:
        """Empties the index and stamps it; known vectors are kept."""
        ...

    def note_roots(self, roots: Sequence[str]) -> None:
        """Notes which folders the index is made of, so that its project can be restored."""
        ...

    def apply(self, batch: Batch) -> None:
        """Takes a batch in one transaction: after a crash all of it is there, or nothing."""
        ...

    def remember(self, vectors: Mapping[bytes, Vector]) -> None:
        """Keeps vectors by text key; chunks that were waiting for one of them get it."""
        ...

    def owed(self) -> frozenset[Debt]:
        """What has not been done since documents last changed, also when that run was killed.

        A batch that changes documents owes it, in its own transaction; `set_communities` and
        `tidy` pay it.
        """
        ...

    def set_communities(self, communities: Mapping[str, int]) -> None:
        """Replaces the communities."""
        ...

    def tidy(self, vocabulary: int, *, thorough: bool = False) -> None:
        """Gives back what nothing needs any more; so many words of the vocabulary are needed.

        Afterwards keyword search scores as in a fresh index, to within rounding. A large index of
        which little was deleted may be left as it is, unless it is to be `thorough`.
        """
        ...


class Store(Protocol):
    """Keeps an index.

    Promises: a reader sees one whole generation while a writer works, in this process or another;
    there is one writer at a time, and it is named to a second one; after a crash or a power cut at
    any moment the index is as it was after the last batch. Several threads may read at once.
    Does not promise: that a batch is seen by readings that began before it ended.
    """

    def read(self) -> AbstractContextManager[Reading]:
        """Opens the newest generation; raises `Damaged` when a file of it is not as written."""
        ...

    def write(self, wait: float = 0.0) -> AbstractContextManager[Writing]:
        """Becomes the writer; raises `Locked` when another still is after `wait` seconds."""
        ...

    def check(self) -> list[Finding]:
        """Looks at every part; an empty list means that the index is whole."""
        ...

    def repair(self, wait: float = 0.0) -> None:
        """Rebuilds what is damaged, as far as the truth is intact."""
        ...

    def discard(self, wait: float = 0.0) -> None:
        """Removes the index, known vectors included: the way out when the truth is damaged."""
        ...

    def close(self) -> None:
        """Lets go of everything that is open."""
        ...
