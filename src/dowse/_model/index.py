"""What an index is built with, takes and gives, and what work on it announces."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
from msgspec import Struct, field

from dowse._model.documents import (
    Chunk,
    ChunkedDocument,
    Context,
    Fields,
    LeftOut,
    Link,
    Section,
    embedding_text,
)

Stamp = dict[str, Any]
"""What an index was built with: format version, model, chunking and analysis settings."""

# How documents are understood, cut, analysed and embedded, as numbers that every stamp has. Raise
# one when the same input comes out differently: older indexes are then refused with the command
# that rebuilds them, instead of being mixed with newer parts.
PARSE_VERSION = 4
CHUNK_VERSION = 2
ANALYZE_VERSION = 3
EMBEDDING_TEXT_VERSION = 2


def context_of(stamp: Stamp | None) -> Context:
    """Return what is embedded before the text of a chunk; older indexes do not say it."""
    context: Context = (stamp or {}).get("chunk", {}).get("context", "title")
    return context


Maintenance = Literal["communities", "tidy"]
"""What has to be done once more after documents have changed."""

ChunkKey = int
"""The number of a chunk inside one index; never given out twice."""

Stream = str
"""Terms with a blank between each two, in the order in which they follow each other."""

GAP = "\x1f"
"""What is in a stream where no term is, so that no phrase spans it; whitespace is in no term."""

Scores = list[tuple[ChunkKey, float]]
"""Chunks with a raw score each, best first."""


# ── Vectors ──────────────────────────────────────────────────────────────────

if TYPE_CHECKING:  # these records are also used where loading numpy would take too long
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    Matrix = NDArray[np.float32]
else:
    Vector = Any
    """One vector of unit length."""
    Matrix = Any
    """Row vectors of unit length, one row per text."""


class Model(Struct, frozen=True):
    """Which embedding model made a vector; vectors of two models are never mixed."""

    key: str  # names the weights, the precision and the prefixes: equal keys give equal vectors
    dimensions: int
    max_tokens: int
    latin_only: bool = False  # it was trained on texts in Latin letters alone


class EmbeddedBatch(Struct, frozen=True):
    """Some of the texts handed to an embedder, done."""

    positions: tuple[int, ...]  # where these texts stood in the list that was handed in
    vectors: Matrix


def text_key(text: str) -> bytes:
    """Return the name under which the vector of a text is kept: 16 bytes of its hash."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def short_id(document_id: str) -> str:
    """Return eight hex digits for a document."""
    return hashlib.sha256(document_id.encode()).hexdigest()[:8]


# ── Documents and their chunks ────────────────────────────────────────────────


class FileState(msgspec.Struct, frozen=True, gc=False):
    """What was known of a file when it was indexed, to tell whether it has changed.

    A scan has one for each file of a project, so that making and collecting it must be quick.
    """

    size: int  # bytes
    mtime_ns: int  # nanoseconds since 1970
    digest: str  # sha256 of its bytes, hex
    settled: bool = True  # False when it was so fresh that it may have changed again unseen

    def at(self, mtime_ns: int) -> FileState:
        """Return the same bytes with another time."""
        return FileState(self.size, mtime_ns, self.digest, self.settled)


class Shard(Struct, frozen=True):
    """One of several parts into which the documents of a project are divided by their ids."""

    number: int  # from 1
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def holds(self, document_id: str) -> bool:
        """Tell whether a document belongs to this part; the same on every machine, for ever."""
        digest = hashlib.sha256(document_id.encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big") % self.count == self.number - 1


class DocumentTerms(NamedTuple):
    """What can be searched of a document by words."""

    chunks: list[tuple[Stream, Stream]]  # of each chunk: the terms of its text, those of its code
    words: Counter[str]  # what the vocabulary holds, with how often each occurs


class IndexedDocument(Struct, frozen=True):
    """A document on its way into the index."""

    chunked: ChunkedDocument
    state: FileState
    terms: DocumentTerms | None = None  # None: the store has to find them

    @property
    def modified(self) -> float:
        """Return what the frontmatter says, else the file's time."""
        return modified(self.chunked.document.fields, self.state.mtime_ns)


class Batch(Struct, frozen=True):
    """What one transaction changes."""

    put: tuple[IndexedDocument, ...] = ()  # new or changed documents
    gone: tuple[str, ...] = ()  # ids of documents that are no more
    touched: tuple[tuple[str, FileState], ...] = ()  # same bytes under a new file time
    vectors: Mapping[bytes, Vector] = field(default_factory=dict)  # by `text_key`


class DocumentEntry(Struct, frozen=True):
    """A document as the index lists it."""

    id: str
    short_id: str  # 8 hex digits
    fields: Fields
    modified: float  # what the frontmatter says, else the file's time
    size: int  # bytes
    mtime_ns: int
    chunks: int  # how many


class StoredDocument(Struct, frozen=True):
    """A document as the index keeps it, whole."""

    entry: DocumentEntry
    text: str
    body: int  # offset where the frontmatter ends
    sections: tuple[Section, ...]
    chunks: tuple[Chunk, ...]


class StoredChunk(Struct, frozen=True):
    """A chunk with what is needed to rank and show it."""

    key: ChunkKey
    chunk: Chunk
    text: str
    document: DocumentEntry

    def embedding_text(self, context: Context) -> str:
        """Return what the embedder has read of it, in an index with this context."""
        title, path = self.document.fields.title, self.chunk.header_path
        return embedding_text(title, path, self.text, context)


class Edge(Struct, frozen=True):
    """A link between documents, and where it leads."""

    source: str  # id of the linking document
    link: Link
    target: str | None  # id of the document it leads to; None while it dangles


class Counts(Struct, frozen=True):
    """How much an index holds."""

    documents: int
    sections: int
    chunks: int
    code_blocks: int
    links: int
    dangling: int  # links that lead nowhere yet
    embedded: int  # chunks that have a vector
    terms: int  # distinct words of the vocabulary
    communities: int
    secrets: int = 0  # matches of read.redact that were replaced; an engine does not count them


class Freshness(Struct, frozen=True):
    """How many files of the folder the index does not have as they are."""

    new: int
    changed: int
    deleted: int


class Sizes(Struct, frozen=True):
    """What a search needs to know of how much an index holds."""

    documents: int
    chunks: int
    embedded: int  # chunks that have a vector


class Finding(Struct, frozen=True):
    """A problem, and the command that fixes it."""

    what: str
    repair: str


def modified(fields: Fields, mtime_ns: int) -> float:
    """Return when a document was last changed: by its own account, else by its file's."""
    return mtime_ns / 1e9 if fields.modified is None else fields.modified


# ── Progress ─────────────────────────────────────────────────────────────────


class IndexReport(Struct, frozen=True):
    """What an indexing run did."""

    added: int
    changed: int
    removed: int
    unchanged: int
    chunks: int  # written
    embedded: int  # texts that the embedder had to read
    left_out: tuple[LeftOut, ...]
    notices: tuple[str, ...]  # what could not be done, and how to change that
    seconds: dict[str, float]  # time by stage
    secrets: int = 0  # matches of read.redact that were replaced in what was added or changed
    unreadable: int = 0  # texts in a script that the model cannot read; words find them
    counts: dict[str, int] = field(default_factory=dict)  # what each stage worked on

    @property
    def complete(self) -> bool:
        """Tell whether nothing that should be in the index had to be left out."""
        return not self.notices and not any(item.whole and item.lost for item in self.left_out)


class Event(Struct, frozen=True):
    """What a stage says while it works; front ends draw it, or stay silent."""

    stage: str  # "read", "embed", "download", …
    done: int
    total: int | None  # None while nobody knows
    unit: str = "files"  # what `done` counts: "files", "chunks", "bytes"
    note: str = ""  # a sentence for people; empty for mere progress


Announce = Callable[[Event], None]
"""Where a stage's events go."""


def silent(event: Event) -> None:
    """Ignore an event."""
