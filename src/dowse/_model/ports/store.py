"""What keeps an index promises, and what it does not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal, Protocol

from dowse._model import Announce, Batch, ChunkedDocument, Finding, Maintenance, Stamp, Vector
from dowse._model.ports.parts import Analyzer
from dowse._model.ports.reading import DocumentTable, IndexReader, Links, TextVectors, Vocabulary

Isolation = Literal["generation", "document"]
"""What a reader is promised while a writer works.

`generation`: one whole generation, all batches of it and nothing of the next. `document`: every
document whole and once, in its old or in its new version; a batch becomes visible document by
document.
"""


class IndexWriter(Protocol):
    """The one writer of an index; what it has are the newest records, its own changes included."""

    catalogue: DocumentTable
    links: Links
    vocabulary: Vocabulary
    text_vectors: TextVectors

    def start(self, stamp: Stamp) -> None:
        """Empties the index and stamps it; known vectors are kept."""
        ...

    def note_roots(self, roots: Sequence[str]) -> None:
        """Notes which folders the index is made of, so that its project can be restored."""
        ...

    def expect(self, documents: Iterable[ChunkedDocument]) -> None:
        """Says which documents an index that is still empty will get.

        A store that weighs terms when it writes them learns their average length from these; others
        need not look at them. Keyword search then scores at once as it does after `tidy`.
        """
        ...

    def apply(self, batch: Batch) -> None:
        """Takes a batch in one transaction: after a crash all of it is there, or nothing.

        A store that isolates by `document` promises this for each document of the batch.
        """
        ...

    def remember(self, vectors: Mapping[bytes, Vector]) -> None:
        """Keeps vectors by text key; chunks that were waiting for one of them get it."""
        ...

    def pending(self) -> frozenset[Maintenance]:
        """What has not been done since documents last changed, also when that run was killed.

        A batch that changes documents owes it, in its own transaction; `set_communities` and
        `tidy` pay it. A store that sees that no link leads elsewhere owes no communities.
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

    Promises: a reader sees what `isolation` says while a writer works, in this process or another;
    there is one writer at a time, and it is named to a second one; after a crash or a power cut at
    any moment the index is as it was after the last batch, or, where documents are isolated, after
    the last document that was replaced. Several threads may read at once.
    Does not promise: that a batch is seen by readings that began before it ended.
    """

    @property
    def isolation(self) -> Isolation:
        """What a reader is promised while a writer works."""
        ...

    @property
    def place(self) -> str:
        """Where the index is kept, for people."""
        ...

    def bytes(self) -> int:
        """How many bytes it takes there."""
        ...

    def read(self) -> AbstractContextManager[IndexReader]:
        """Opens the newest generation; raises `Damaged` when a file of it is not as written."""
        ...

    def write(self, wait: float = 0.0, part: str = "") -> AbstractContextManager[IndexWriter]:
        """Becomes the writer; raises `Locked` when another still is after `wait` seconds.

        `part` says that only one part of the documents is written, such as `3/16`. Where documents
        are isolated, writers of different parts work at once; elsewhere it changes nothing.
        """
        ...

    def replace(self, wait: float = 0.0) -> AbstractContextManager[IndexWriter]:
        """Becomes the writer of an index that is written from nothing, in place of this one.

        Where documents are isolated, readers have the former index until the block ends, and keep
        it when the block raises or the process is killed. Elsewhere the block writes into the index
        at once: such an index is replaced by exchanging its folder.
        """
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
        """Closes everything that is open; a later call opens it again."""
        ...


class IndexPlaces(Protocol):
    """Where projects keep their indexes, for what is done with an index that is not open.

    An index belongs to the folder of its project and moves with it. A store that keeps it on
    another machine keeps in that folder what it needs to find it again.
    """

    def store(self, project: Path, analyzer: Analyzer, announce: Announce) -> Store:
        """The store of the project in a folder; nothing is opened yet."""
        ...

    def holding(self, projects: Path) -> list[str]:
        """The names of those folders among the projects that hold an index."""
        ...

    def roots(self, project: Path) -> list[str]:
        """The folders that an index was made of; nothing when it cannot be read.

        It needs no settings: it is asked when the file of the project is lost.
        """
        ...

    def undisturbed(self, project: Path) -> AbstractContextManager[object]:
        """Keeps writers away from an index, if there is one; raises `Locked` while one works."""
        ...

    def carry(self, project: Path, to: Path) -> None:
        """Lets another folder know what is needed to find the index of a project outside of it."""
        ...

    def remove(self, project: Path) -> None:
        """Removes what an index has outside the folder of its project; the folder stays."""
        ...
