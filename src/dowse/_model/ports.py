"""What the exchangeable parts promise, and what they do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

from dowse._model import (
    Announce,
    Batch,
    ChunkKey,
    Condition,
    Counts,
    DocumentEntry,
    Edge,
    EmbeddedBatch,
    Fields,
    FileState,
    Finding,
    Keys,
    Maintenance,
    Model,
    Name,
    Scores,
    Sizes,
    Stamp,
    StoredChunk,
    StoredDocument,
    Stream,
    Vector,
)
from dowse._util.arrays import np

# ── What turns text into vectors, terms, scores and answers ──────────────────


class Embedder(Protocol):
    """Turns texts into vectors of unit length.

    Promises: equal texts give vectors that are equal to within rounding, whatever is embedded with
    them in the call; every position is yielded exactly once; vectors have `model.dimensions`.
    Does not promise: an order of the batches, or that a failed call can be resumed. What was
    yielded before a failure is good and may be kept.
    """

    @property
    def model(self) -> Model:
        """Return the model behind the vectors; reading it loads no weights."""

    def passages(self, texts: Sequence[str]) -> Iterator[EmbeddedBatch]:
        """Embed texts to be found, yielding batches as they are done.

        Raises `WeightsMissing` or `EndpointFailed` when no vectors can be made.
        """

    def query(self, text: str) -> Vector:
        """Embed a text to search with."""


class Analyzer(Protocol):
    """Turns text into the terms that the keyword index holds.

    Promises: the same text gives the same terms as long as `stamp` stays the same; no term is
    empty or has whitespace in it.
    """

    @property
    def stamp(self) -> Mapping[str, object]:
        """Return the settings that terms depend on; an index built with others is refused."""

    def language(self, text: str) -> str:
        """Guess the language by which rules a document is stemmed, too; "" for none."""

    def speaking(self, languages: Sequence[str]) -> Analyzer:
        """Return an analyzer of which queries have the terms by the rules of languages, too."""

    def chunk_terms(
        self, fields: Fields, header_path: Sequence[str], text: str, language: str = ""
    ) -> list[tuple[str, int]]:
        """Return the terms of a chunk with positions; a term weighs as often as it is listed.

        `language` is that of its document.
        """

    def chunk_stream(
        self, fields: Fields, header_path: Sequence[str], text: str, language: str = ""
    ) -> Stream:
        """Return the terms of `chunk_terms`; one listed twice at a position follows it twice."""

    def query_terms(self, text: str) -> list[str]:
        """Return the distinct terms of a query; those of a chunk's text are among the chunk's."""

    def code_terms(self, text: str) -> list[tuple[str, int]]:
        """Return the identifiers of a piece of code and their parts, with their positions."""

    def code_stream(self, text: str) -> Stream:
        """Return the terms of `code_terms`."""

    def vocabulary(self, text: str) -> Counter[str]:
        """Return the words of a text that the vocabulary can hold, with how often they occur."""


class Reranker(Protocol):
    """Reads a query and passages together, more closely than two vectors can be compared.

    Promises: one score per passage, from 0 to 1, higher for what fits better; the same call gives
    the same scores. Loads its model on first use.
    """

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """Return how well each passage answers the query; raise `EmbedError` when it cannot say."""


class Writer(Protocol):
    """A language model that writes text."""

    @property
    def name(self) -> str:
        """Return the model's name, for people."""

    def write(self, instructions: str, material: str) -> str:
        """Let the model write by these instructions; raise `EndpointFailed` when it cannot."""


# ── What can be read from an index: one small port per concern ───────────────


KeywordField = Literal["body", "code"]
"""The terms of a chunk with its title and headings, or the terms of its code."""


class DocumentTable(Protocol):
    """What the index was made of: its settings, its documents and their chunks."""

    @property
    def generation(self) -> int:
        """Return how many batches the index has taken."""

    def stamp(self) -> Stamp | None:
        """Return what the index was built with; None while it is new."""

    def roots(self) -> list[str]:
        """Return the folders that the index was made of, as far as it knows."""

    def counts(self) -> Counts:
        """Return how much the index holds."""

    def sizes(self) -> Sizes:
        """Return how much the index holds, in numbers that are quick to ask for."""

    def is_finished(self) -> bool:
        """Tell whether the last run that changed documents has come to its end."""

    def has_more_than(self, documents: int) -> bool:
        """Tell whether there are more documents than so many; quick, however many there are."""

    def files(self, beginnings: Sequence[str] = ("",)) -> dict[str, FileState]:
        """Return what is known of the files whose document ids begin so, by id."""

    def documents(self) -> list[DocumentEntry]:
        """Return all documents, by id."""

    def document(self, document_id: str) -> StoredDocument | None:
        """Return one document, whole."""

    def find(self, short: str) -> list[tuple[str, int, int]]:
        """Return what an abbreviated id can mean: document id, first and last line."""

    def chunks(self, keys: Sequence[ChunkKey]) -> list[StoredChunk]:
        """Return chunks by key, in the order of the keys; unknown keys are skipped."""

    def named(self, name: str, limit: int) -> list[tuple[ChunkKey, Name]]:
        """Return the chunks that are called so, titles first, then aliases, then headings; by key.

        Names are compared by `fold_name`. A title or an alias names the first chunk of a document.
        """

    def keys_of(self, document_ids: Collection[str]) -> Keys:
        """Return the chunks of these documents."""


class Links(Protocol):
    """How the documents hang together."""

    def all(self) -> list[Edge]:
        """Return all links, by source and line."""

    def of(self, document_ids: Collection[str]) -> list[Edge]:
        """Return the links that begin or end at any of these documents, by source and line."""

    def labels(self, document_ids: Collection[str]) -> list[tuple[str, str]]:
        """Return the texts of links that lead to these documents: the document's id, and a text.

        Each once, by document; of a document to which very many links lead, those of the first.
        """

    def communities(self) -> dict[str, int]:
        """Return the community of each document that has one, by id."""


class Vocabulary(Protocol):
    """The words of all documents, with how often they occur."""

    def most_frequent(self, size: int) -> list[str]:
        """Return the most frequent words, most frequent first."""

    def beginning(self, prefix: str, limit: int) -> list[str]:
        """Return words that begin so, most frequent first."""

    def spelled_like(self, word: str, limit: int) -> list[str]:
        """Return words that are spelled nearly so, nearest first, then most frequent.

        Nearly means one slip (a letter too many, too few, wrong, or swapped with its neighbour)
        in four to seven letters, two in eight and more, none in fewer.
        """


class TextVectors(Protocol):
    """The vectors that were made of texts, kept by text key for as long as a text may return."""

    def known(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """Return the vectors of these text keys, as far as there are any."""

    def missing(self, keys: Sequence[bytes]) -> list[bytes]:
        """Return those of these text keys without a sound vector, in order; for the writer."""

    def waiting(self) -> dict[ChunkKey, str]:
        """Return the chunks without a vector, in the order of the text, with their documents."""


class KeywordSearch(Protocol):
    """Finds chunks by their terms."""

    @property
    def size(self) -> int:
        """Return how many chunks it holds."""

    def search(
        self, field: KeywordField, terms: Sequence[str], limit: int, among: Keys | None = None
    ) -> Scores:
        """Find chunks with any of the terms, best first; only `among` these keys, if given.

        Promises: what `among` leaves is what it would leave of an unlimited call, scores included;
        equal scores are ordered by key, also where the limit cuts.
        """

    def frequencies(self, field: KeywordField, terms: Sequence[str]) -> dict[str, int]:
        """Return in about how many chunks each term occurs; 0 means none."""


class VectorSearch(Protocol):
    """Finds chunks by their vectors."""

    def nearest(self, vector: Vector, limit: int, among: Keys | None = None) -> Scores:
        """Find chunks by cosine to the vector, best first; only `among` these keys, if given.

        A large index may miss a few of the nearest; `among` never makes it miss more.
        """

    def of(self, keys: Sequence[ChunkKey]) -> dict[ChunkKey, Vector]:
        """Return the vectors of these chunks; those without one are skipped."""


class IndexReader(Struct, frozen=True):
    """One whole generation of an index, unchanged for as long as it is held."""

    catalogue: DocumentTable
    links: Links
    vocabulary: Vocabulary
    text_vectors: TextVectors
    keyword: KeywordSearch
    vectors: VectorSearch
    # The chunks for which every condition holds, ascending.
    matching: Callable[[Sequence[Condition]], Keys]


def within(keys: Keys, among: Keys) -> Keys:
    """Return those of these keys that are `among` others, which ascend; each once, ascending."""
    few = np.unique(keys)  # to sort the others as well would take longer than most searches
    before, after = np.searchsorted(among, few), np.searchsorted(among, few, "right")
    return few[before < after]


# ── What keeps an index ──────────────────────────────────────────────────────


class IndexWriter(Protocol):
    """The one writer of an index; what it has are the newest records, its own changes included."""

    catalogue: DocumentTable
    links: Links
    vocabulary: Vocabulary
    text_vectors: TextVectors

    def start(self, stamp: Stamp) -> None:
        """Empty the index and stamp it; known vectors are kept."""

    def note_roots(self, roots: Sequence[str]) -> None:
        """Note which folders the index is made of, so that its project can be restored."""

    def apply(self, batch: Batch) -> None:
        """Take a batch in one transaction: after a crash all of it is there, or nothing."""

    def remember(self, vectors: Mapping[bytes, Vector]) -> None:
        """Keep vectors by text key; chunks that were waiting for one of them get it."""

    def pending(self) -> frozenset[Maintenance]:
        """Return what is still to be done after documents changed, also by a killed run.

        A batch that changes documents owes it, in its own transaction; `set_communities` and
        `tidy` pay it. A store that sees that no link leads elsewhere owes no communities.
        """

    def set_communities(self, communities: Mapping[str, int]) -> None:
        """Replace the communities."""

    def tidy(self, vocabulary: int, *, thorough: bool = False) -> None:
        """Give back what nothing needs any more; so many words of the vocabulary are needed.

        Afterwards keyword search scores as in a fresh index, to within rounding. A large index of
        which little was deleted may be left as it is, unless it is to be `thorough`.
        """


class Store(Protocol):
    """Keeps an index.

    Promises: a reader sees one whole generation while a writer works, in this process or another:
    all batches of it and nothing of the next; there is one writer at a time, and it is named to a
    second one; after a crash or a power cut at any moment the index is as it was after the last
    batch. Several threads may read at once.
    Does not promise: that a batch is seen by readings that began before it ended.
    """

    @property
    def place(self) -> str:
        """Return where the index is kept, for people."""

    def bytes(self) -> int:
        """Return how many bytes it takes there."""

    def read(self) -> AbstractContextManager[IndexReader]:
        """Open the newest generation; raise `Damaged` when a file of it is not as written."""

    def write(self, wait: float = 0.0, part: str = "") -> AbstractContextManager[IndexWriter]:
        """Become the writer; raise `Locked` when another still is after `wait` seconds.

        `part` says that only one part of the documents is written, such as `3/16`. Where machines
        share the index, writers of different parts work at once; elsewhere it changes nothing.
        """

    def replace(self, wait: float = 0.0) -> AbstractContextManager[IndexWriter]:
        """Become the writer of an index that is written from nothing, in place of this one.

        Where machines share the index, readers have the former one until the block ends, and keep
        it when the block raises or the process is killed. Elsewhere the block writes into the index
        at once: such an index is replaced by exchanging its folder.
        """

    def check(self) -> list[Finding]:
        """Look at every part; an empty list means that the index is whole."""

    def repair(self, wait: float = 0.0) -> None:
        """Rebuild what is damaged, as far as the truth is intact."""

    def discard(self, wait: float = 0.0) -> None:
        """Remove the index, known vectors included: the way out when the truth is damaged."""

    def close(self) -> None:
        """Close everything that is open; a later call opens it again."""


class IndexPlaces(Protocol):
    """Where projects keep their indexes, for what is done with an index that is not open.

    An index belongs to the folder of its project and moves with it. A store that keeps it on
    another machine keeps in that folder what it needs to find it again.
    """

    def store(self, project: Path, analyzer: Analyzer, announce: Announce) -> Store:
        """Return the store of the project in a folder; nothing is opened yet."""

    def holding(self, projects: Path) -> list[str]:
        """Return the names of those folders among the projects that hold an index."""

    def roots(self, project: Path) -> list[str]:
        """Return the folders that an index was made of; nothing when it cannot be read.

        It needs no settings: it is asked when the file of the project is lost.
        """

    def undisturbed(self, project: Path, wait: float = 0) -> AbstractContextManager[object]:
        """Keep writers away from an index, if there is one; raise `Locked` while one works."""

    def carry(self, project: Path, to: Path) -> None:
        """Let another folder know what is needed to find the index of a project outside of it."""

    def remove(self, project: Path) -> None:
        """Remove what an index has outside the folder of its project; the folder stays."""
