"""What is read, parsed and cut; what an index takes and gives; what work on it announces."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from msgspec import Struct, field
from msgspec.structs import force_setattr

from dowse._text.matching import fold_name

LinkKind = Literal["wikilink", "embed", "relative", "related"]
"""How an edge between two documents was written."""


NameKind = Literal["title", "alias", "heading", "same title", "same file"]
"""Where a name was written; the last two have the words of a query in other forms or order."""

Context = Literal["title", "headings", "none"]
"""What is embedded before the text of a chunk: title and headings, headings alone, nothing."""

BlockKind = Literal["heading", "text", "fence", "table"]
"""What a block is, as far as chunking cares: fences and tables are kept whole where they fit."""


class SourceFile(Struct, frozen=True, gc=False):
    """A file that belongs to the project, known from its directory entry alone.

    There are many at once, so that making and collecting them must be quick.
    """

    id: str  # path below its root with "/"; files of further roots start with "@name/"
    place: str  # its absolute path
    size: int  # bytes
    mtime_ns: int  # nanoseconds since 1970

    @property
    def path(self) -> Path:
        """Return where it is."""
        return Path(self.place)


class SourceText(Struct, frozen=True):
    """What a source file says: decoded, without a byte order mark, lines ended by a line feed."""

    text: str
    digest: str  # sha256 of the file's bytes, hex
    secrets: int = 0  # how many were replaced
    encoding: str = ""  # where it is not UTF-8 and was recognised by its bytes


class LeftOut(Struct, frozen=True):
    """A file, or a part of one, that could not be used, and why."""

    id: str  # of the document, or the path as given when it has no id
    reason: str  # one sentence, ending with what to do where something can be done
    whole: bool = True  # False: the document is indexed, only a part of it was ignored
    lost: bool = True  # False: dowse does not read such files, so nothing that it should have


class Fields(Struct, frozen=True):
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
    properties: tuple[tuple[str, tuple[str, ...]], ...] = ()  # all of the frontmatter, as written

    def texts(self) -> dict[str, str]:
        """Return the texts that can be searched for, by field."""
        return {
            "title": self.title,
            "keywords": "\n".join(self.keywords),
            "description": self.description,
            "tags": "\n".join(self.tags),
            "aliases": "\n".join(self.aliases),
            "author": "\n".join(self.author),
            "category": self.category,
        }


class Heading(Struct, frozen=True):
    """A heading line."""

    level: int  # 1 to 6
    text: str  # without markup
    start: int  # offset of its line


class Block(Struct, frozen=True):
    """A stretch of the body that one piece of Markdown syntax covers."""

    kind: BlockKind
    start: int
    end: int


class CodeBlock(Struct, frozen=True):
    """A fenced block, without its fences."""

    language: str  # lower case; "" when the fence names none
    text: str
    start: int  # offset of the opening fence
    end: int
    first_line: int  # of the opening fence
    last_line: int


class Link(Struct, frozen=True):
    """A reference to another document, as written."""

    kind: LinkKind
    target: str  # what it points at, without the part after "#"
    anchor: str  # the part after "#": a heading, or "^block"; "" when there is none
    label: str  # the text shown; "" when the link names none
    line: int


class Document(Struct, frozen=True):
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
    secrets: int = 0  # matches of read.redact that were replaced in its text


class Section(Struct, frozen=True):
    """A parent: the unit that is returned when parent retrieval is on."""

    id: str  # 16 hex digits of a hash over the document's id, place and text
    header_path: tuple[str, ...]  # the headings above all of its text
    start: int
    end: int
    first_line: int
    last_line: int


class Chunk(Section, frozen=True):
    """A child: the unit that is searched, always inside one section."""

    section: str  # the id of its section
    overlap: int  # how many characters at its start repeat the end of the chunk before it


class Name(Struct, frozen=True):
    """What a chunk is called: a heading in it, or, for the first, the title or an alias."""

    kind: NameKind
    path: tuple[str, ...]  # the headings above it, then the name itself
    start: int  # where the text begins that it names
    line: int  # and the line of that


class ChunkedDocument(Struct, frozen=True):
    """A document cut into sections, and those into chunks; both in the order of the text."""

    document: Document
    sections: tuple[Section, ...]
    chunks: tuple[Chunk, ...]
    context: Context = "title"  # what is embedded before the text of a chunk

    def text_of(self, part: Section) -> str:
        """Return the text that a section or chunk covers."""
        return self.document.text[part.start : part.end]

    def embedding_text(self, chunk: Chunk) -> str:
        """Return what the embedder reads of a chunk."""
        return embedding_text(
            self.document.fields.title, chunk.header_path, self.text_of(chunk), self.context
        )

    def code_by_chunk(self) -> list[list[CodeBlock]]:
        """Return for each chunk the code that begins in it; code in no chunk is left out."""
        found: list[list[CodeBlock]] = [[] for _ in self.chunks]
        ends = [chunk.end for chunk in self.chunks]
        for block in self.document.code_blocks:
            place = bisect_right(ends, block.start)
            if place < len(found):
                found[place].append(block)
        return found

    def names(self) -> list[tuple[Chunk, Name]]:
        """Name its chunks, in the order of the text: the first by title and aliases, too."""
        if not self.chunks:
            return []
        first, fields = self.chunks[0], self.document.fields
        named: list[tuple[NameKind, str]] = [("title", fields.title)] if fields.title else []
        named += [("alias", alias) for alias in fields.aliases]
        found = [
            (first, Name(kind, (name,), first.start, first.first_line)) for kind, name in named
        ]
        ends, text = [chunk.end for chunk in self.chunks], self.document.text
        above: list[Heading] = []
        for heading in self.document.headings:
            above = [*(one for one in above if one.level < heading.level), heading]
            place = bisect_right(ends, heading.start)
            if place < len(ends) and self.chunks[place].start <= heading.start:
                chunk = self.chunks[place]
                line = chunk.first_line + text.count("\n", chunk.start, heading.start)
                path = tuple(one.text for one in above)
                found.append((chunk, Name("heading", path, heading.start, line)))
        return found  # what is left out at the end has no chunk


def embedding_text(
    title: str, header_path: tuple[str, ...], text: str, context: Context = "title"
) -> str:
    """Return what the embedder reads of a chunk: title and header path, a blank line, the text.

    All as people read it, and without a title that is no word; a chunk of pictures is read as it is
    written.
    """
    from dowse._text.markdown import says_something, shown  # noqa: PLC0415  not every command embeds

    named = title if says_something(title) else ""
    paths = {"title": titled_path(named, header_path), "headings": header_path, "none": ()}
    head = shown(header_line(paths[context]))
    return "\n\n".join(filter(None, (head, shown(text)))) or text


def titled_path(title: str, header_path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the title and the headings below it, without a first heading that repeats it."""
    repeated = header_path and fold_name(header_path[0]) == fold_name(title)
    return header_path if repeated or not title else (title, *header_path)


def header_line(header_path: tuple[str, ...]) -> str:
    """Return a header path as people read it: `A > B > C`."""
    return " > ".join(header_path)


# ── What an index is built with ─────────────────────────────────────────────────

Stamp = dict[str, Any]
"""What an index was built with: format version, model, chunking and analysis settings."""

# How documents are understood, cut, analysed and embedded, as numbers that every stamp has. Raise
# one when the same input comes out differently: older indexes are then refused with the command
# that rebuilds them, instead of being mixed with newer parts.
PARSE_VERSION = 4
CHUNK_VERSION = 3
ANALYZE_VERSION = 4
EMBEDDING_TEXT_VERSION = 3


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


# ── Vectors ─────────────────────────────────────────────────────────────────────

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
    scripts: tuple[str, ...] | None = None  # it reads besides Latin, as in `SCRIPTS`; None: every


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


# ── Documents and their chunks ──────────────────────────────────────────────────


class FileState(Struct, frozen=True, gc=False):
    """What was known of a file when it was indexed, to tell whether it has changed.

    A scan has one for each file of a project, so that making and collecting it must be quick.
    """

    size: int  # bytes
    mtime_ns: int  # nanoseconds since 1970
    digest: str  # sha256 of its bytes, hex
    settled: bool = True  # False when it was so fresh that it may have changed again unseen


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
        return embedding_text(
            self.document.fields.title, self.chunk.header_path, self.text, context
        )


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


# ── Progress ────────────────────────────────────────────────────────────────────


class IndexReport(Struct, frozen=True, kw_only=True):
    """What `dowse index` did."""

    project: Annotated[str, "Name of the project."] = ""
    roots: Annotated[tuple[str, ...], "Its folders, absolute."] = ()
    added: Annotated[int, "New documents."]
    changed: Annotated[int, "Documents that had changed."]
    removed: Annotated[int, "Documents whose file is gone."]
    unchanged: Annotated[int, "Documents that were as the index has them."]
    chunks: Annotated[int, "Chunks written."]
    embedded: Annotated[int, "Texts that the embedding model had to read."]
    secrets: Annotated[int, "Secrets that were left out of what was added or changed."] = 0
    unreadable: Annotated[int, "Texts in a script that the model does not support."] = 0
    left_out: Annotated[tuple[LeftOut, ...], "Files, or parts of them (`whole: false`), left out."]
    notices: Annotated[tuple[str, ...], "What could not be done, and how to change that."]
    complete: Annotated[bool, "False: something is missing, and the exit code is 3."] = True
    counts: Annotated[Mapping[str, int], "What each stage worked on: files, documents, chunks…"] = (
        field(default_factory=dict)
    )
    seconds: Annotated[Mapping[str, float], "Time by stage."]

    def __post_init__(self) -> None:
        lost = any(item.whole and item.lost for item in self.left_out)
        force_setattr(self, "complete", not self.notices and not lost)


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
