"""The records that cross rooms: frozen, and the same in code, docs and output.

Offsets count characters of `Document.text`; lines and ranks count from 1;
times are seconds since 1970 (UTC).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Stamp = dict[str, Any]
"""What an index was built with: format version, model, chunking and analysis settings."""

Matrix = NDArray[np.float32]
"""Row vectors of unit length, one row per text."""

Vector = NDArray[np.float32]
"""One vector of unit length."""

LinkKind = Literal["wikilink", "embed", "relative", "related"]
"""How an edge between two documents was written."""

BlockKind = Literal["heading", "text", "fence", "table"]
"""What a block is, as far as chunking cares: fences and tables are kept whole where they fit."""


# ── Reading ──────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that belongs to the project, known from its directory entry alone."""

    id: str  # path below its root with "/"; files of further roots start with "@name/"
    path: Path  # absolute
    size: int  # bytes
    mtime_ns: int  # nanoseconds since 1970


@dataclass(frozen=True, slots=True)
class SourceText:
    """What a source file says: decoded, without a byte order mark, lines ended by a line feed."""

    text: str
    digest: str  # sha256 of the file's bytes, hex


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file, or a part of one, that could not be used, and why."""

    id: str  # of the document, or the path as given when it has no id
    reason: str  # one sentence, ending with what to do where something can be done
    whole: bool = True  # False: the document is indexed, only a part of it was ignored


# ── Parsing ──────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Fields:
    """What a document says about itself, from its frontmatter and its text."""

    title: str = ""  # frontmatter, else first H1, else the file name
    description: str = ""
    keywords: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # frontmatter and inline, without "#", nested as "a/b"
    aliases: tuple[str, ...] = ()
    author: tuple[str, ...] = ()
    category: str = ""
    created: float | None = None
    modified: float | None = None  # what the frontmatter says, not the file's time


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading line."""

    level: int  # 1 to 6
    text: str  # without markup
    start: int  # offset of its line


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of the body that one piece of Markdown syntax covers."""

    kind: BlockKind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A fenced block, without its fences."""

    language: str  # lower case; "" when the fence names none
    text: str
    start: int  # offset of the opening fence
    end: int
    first_line: int  # of the opening fence
    last_line: int


@dataclass(frozen=True, slots=True)
class Link:
    """A reference to another document, as written."""

    kind: LinkKind
    target: str  # what it points at, without the part after "#"
    anchor: str  # the part after "#": a heading, or "^block"; "" when there is none
    label: str  # the text shown; "" when the link names none
    line: int


@dataclass(frozen=True, slots=True)
class Document:
    """One parsed source file.

    The blocks follow each other without a gap from `body` to the end of `text`.
    """

    id: str
    text: str  # the whole file, frontmatter included
    body: int  # offset where the frontmatter ends
    fields: Fields
    headings: tuple[Heading, ...] = ()
    blocks: tuple[Block, ...] = ()
    code_blocks: tuple[CodeBlock, ...] = ()
    links: tuple[Link, ...] = ()
    problems: tuple[LeftOut, ...] = ()  # parts that were ignored; the document is indexed


# ── Chunking ─────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Section:
    """A parent: the unit that is returned when parent retrieval is on."""

    id: str  # 16 hex digits of a hash over the document's id, place and text
    header_path: tuple[str, ...]  # the headings that all of its text lies under
    start: int
    end: int
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A child: the unit that is searched, always inside one section."""

    id: str  # 16 hex digits of a hash over the document's id, place and text
    section: str  # the id of its section
    header_path: tuple[str, ...]  # the headings that all of its text lies under
    start: int
    end: int
    overlap: int  # how many characters at its start repeat the end of the chunk before it
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class ChunkedDocument:
    """A document cut into sections, and those into chunks; both in the order of the text."""

    document: Document
    sections: tuple[Section, ...]
    chunks: tuple[Chunk, ...]

    def text_of(self, part: Section | Chunk) -> str:
        """The text that a section or chunk covers."""
        return self.document.text[part.start : part.end]

    def embedding_text(self, chunk: Chunk) -> str:
        """What the embedder reads of a chunk."""
        return embedding_text(chunk.header_path, self.text_of(chunk))


def embedding_text(header_path: tuple[str, ...], text: str) -> str:
    """What the embedder reads of a chunk: the header path, a blank line, the text."""
    return f"{header_line(header_path)}\n\n{text}" if header_path else text


def header_line(header_path: tuple[str, ...]) -> str:
    """A header path as people read it: `A > B > C`."""
    return " > ".join(header_path)


# ── Embedding ────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Model:
    """Which embedding model made a vector; vectors of two models are never mixed."""

    key: str  # names the weights, the precision and the prefixes: equal keys give equal vectors
    dimensions: int
    max_tokens: int
    latin_only: bool = False  # it was trained on texts in Latin letters alone


@dataclass(frozen=True, slots=True)
class EmbeddedBatch:
    """Some of the texts handed to an embedder, done."""

    positions: tuple[int, ...]  # where these texts stood in the list that was handed in
    vectors: Matrix


def text_key(text: str) -> bytes:
    """The name under which the vector of a text is kept: 16 bytes of its hash."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def short_id(document_id: str) -> str:
    """Eight hex digits that stand for a document."""
    return hashlib.sha256(document_id.encode()).hexdigest()[:8]


# ── Storing ──────────────────────────────────────────────────────────────────

ChunkKey = int
"""The number that stands for a chunk inside one index; never given out twice."""

Scores = list[tuple[ChunkKey, float]]
"""Chunks with a raw score each, best first."""


@dataclass(frozen=True, slots=True)
class FileState:
    """What was known of a file when it was indexed, to tell whether it has changed."""

    size: int  # bytes
    mtime_ns: int  # nanoseconds since 1970
    digest: str  # sha256 of its bytes, hex
    settled: bool = True  # False when it was so fresh that it may have changed again unseen


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """A document on its way into the index."""

    chunked: ChunkedDocument
    state: FileState

    @property
    def modified(self) -> float:
        """What the frontmatter says, else the file's time."""
        return modified(self.chunked.document.fields, self.state.mtime_ns)


@dataclass(frozen=True, slots=True)
class Batch:
    """What one transaction changes."""

    put: tuple[IndexedDocument, ...] = ()  # new or changed documents
    gone: tuple[str, ...] = ()  # ids of documents that are no more
    touched: tuple[tuple[str, FileState], ...] = ()  # same bytes under a new file time
    vectors: Mapping[bytes, Vector] = field(default_factory=dict)  # by `text_key`


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """A document as the index lists it."""

    id: str
    short_id: str  # 8 hex digits
    fields: Fields
    modified: float  # what the frontmatter says, else the file's time
    size: int  # bytes
    mtime_ns: int
    chunks: int  # how many


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as the index keeps it, whole."""

    entry: DocumentEntry
    text: str
    body: int  # offset where the frontmatter ends
    sections: tuple[Section, ...]
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk with what is needed to rank and show it."""

    key: ChunkKey
    chunk: Chunk
    text: str
    document: DocumentEntry


@dataclass(frozen=True, slots=True)
class Edge:
    """A link between documents, and where it leads."""

    source: str  # id of the linking document
    link: Link
    target: str | None  # id of the document it leads to; None while it dangles


@dataclass(frozen=True, slots=True)
class Counts:
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


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be, and the command that mends it."""

    what: str
    repair: str


def modified(fields: Fields, mtime_ns: int) -> float:
    """When a document was last changed: by its own account, else by its file's."""
    return mtime_ns / 1e9 if fields.modified is None else fields.modified


# ── Searching ────────────────────────────────────────────────────────────────


ConditionKind = Literal[
    "category",
    "author",
    "tag",
    "title",
    "path",
    "under",
    "source",
    "language",
    "after",
    "before",
    "phrase",
]
"""What a condition looks at."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What must hold of a chunk, or must not, for any strategy to find it.

    One of `values` is enough; how each is compared depends on the kind, case never matters:
    `category` is the whole category; `author`, `title` and `path` (the document's id) hold the
    value somewhere; `tag` is the value or lies below it (`a` covers `a/b`); `under` means that the
    document's id begins with it; `source` is the file's ending without the dot; `language` is that
    of a code block in the chunk. `after` (at or after) and `before` compare the date of the
    document with `bound`. The values of a `phrase` are terms that follow each other, all of them.
    """

    kind: ConditionKind
    values: tuple[str, ...] = ()
    bound: float = 0.0  # for `after` and `before`
    negated: bool = False
    written: str = ""  # as the user wrote it, for messages: `tag:draft`, `-word`, `--after 2024`


Keys = NDArray[np.int64]
"""Chunk keys, ascending, each once."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query as it was understood."""

    written: str  # as it was asked
    text: str  # what is embedded: the words without signs such as `tag:x`, `-word` or quotes
    terms: tuple[str, ...]  # distinct, for the keyword ranking
    code_terms: tuple[str, ...]  # distinct, for the code ranking
    conditions: tuple[Condition, ...] = ()
    notices: tuple[str, ...] = ()  # what was taken differently than written, for people
    prefixes: tuple[str, ...] = ()  # of `auth*`, without the star; rewriting turns them into terms
    alternatives: tuple[tuple[str, ...], ...] = ()  # terms of which one is as good as all


@dataclass(frozen=True, slots=True)
class Ranking:
    """What one strategy found, best first."""

    strategy: str  # "semantic", "keyword", "code", "graph"
    scores: Scores
    ceiling: float = 0.0  # the most that a score could be for this query; 0 when nobody knows
    others: Scores = field(default_factory=list)  # of chunks that only other strategies handed over


@dataclass(frozen=True, slots=True)
class Place:
    """Where one strategy put a candidate, and what that gave it."""

    strategy: str
    rank: int | None  # from 1; None when the chunk is not among what the strategy handed over
    score: float  # raw: a cosine, a BM25 score
    contribution: float  # to the fused score


@dataclass(frozen=True, slots=True)
class Step:
    """What one stage did to a candidate."""

    stage: str
    before: float  # its score before the stage
    after: float  # and after it
    dropped: str = ""  # why the stage dropped it; empty when it kept it


@dataclass(frozen=True, slots=True)
class Trace:
    """What happened to one candidate on its way."""

    places: tuple[Place, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """One result."""

    id: str  # of the chunk, or of the section when parents are on
    section: str  # the id of the section it lies in
    document: str
    title: str
    header_path: tuple[str, ...]
    first_line: int
    last_line: int
    score: float  # 0 to 1
    text: str
    snippet: str  # the part of the text that answers best, matched words between ** and **
    modified: float
    tags: tuple[str, ...]
    links_out: tuple[str, ...]  # ids of the documents that its document links to
    links_in: tuple[str, ...]  # and of those that link to it
    stale: bool  # the file has changed since it was indexed
    trace: Trace

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings above it, without the first where that only says the title again."""
        return self.header_path[self.header_path[:1] == (self.title,) :]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer, and the result it comes from."""

    text: str
    hit: int  # its place among the results, from 1


@dataclass(frozen=True, slots=True)
class Answer:
    """What the results say to a question, each sentence with its source."""

    text: str  # with [1], [2] after what comes from which result
    sentences: tuple[Sentence, ...]  # of an extractive answer; empty when a model wrote it
    sources: tuple[int, ...]  # the results that it cites, from 1, in the order of first mention
    written_by: str  # name of the model that wrote it; "" when the sentences are the documents' own


@dataclass(frozen=True, slots=True)
class Response:
    """The answer to a query."""

    query: str
    hits: tuple[Hit, ...]
    counts: Mapping[str, int]  # candidates left after each stage, in order
    merged: int  # clusters of similar results that semantic dedup made one
    seconds: Mapping[str, float]  # time each stage took that ran
    notices: tuple[str, ...]  # what could not be done, and how to change that
    calibration: str = ""  # what the scores are, in a few words
    nearest: tuple[Hit, ...] = ()  # when nothing was found: the best below the threshold
    removed: Mapping[str, int] = field(default_factory=dict)  # then, by condition: what it kept out
    answer: Answer | None = None  # when one was asked for and the results hold one


# ── What stages announce ─────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Event:
    """What a stage says while it works; front ends draw it, or stay silent."""

    stage: str  # "read", "embed", "download", …
    done: int
    total: int | None  # None while nobody knows
    unit: str = "files"  # what `done` counts: "files", "chunks", "bytes"
    note: str = ""  # a sentence for people; empty for mere progress


Announce = Callable[[Event], None]
"""Where a stage's events go."""


def silent(event: Event) -> None:
    """An announcer that nobody listens to."""
