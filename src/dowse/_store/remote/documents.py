"""A document as rows: one entry, a body in parts, and its chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import msgspec
from msgspec.structs import replace

from dowse._model import (
    Chunk,
    ChunkedDocument,
    ChunkKey,
    Document,
    DocumentEntry,
    Fields,
    FileState,
    IndexedDocument,
    Link,
    Name,
    Vector,
    modified,
    short_id,
    text_key,
)
from dowse._model.ports import Analyzer
from dowse._store.remote.coding import decode, decode_json, encode, parts_of
from dowse._store.remote.rows import TEXT, TOKENS, Row
from dowse._store.remote.terms import ChunkTerms
from dowse._store.remote.tokens import (
    chunk_key,
    document_key,
    fitting,
    grams,
    id_number,
    token,
    version_of,
)
from dowse._store.remote.weights import Averages, Lengths, chunk_weights
from dowse._text.fold import fold, fold_name
from dowse._text.links import LinkName, names_of, names_of_target

_LATEST = 2**63 - 1  # nanoseconds: the year 2262, the last that 64 bits reach
_MOST_LINKS = 200  # in an entry; a document with more has them in its body


class Entry(msgspec.Struct, frozen=True):
    """The one row that says which version of a document counts, with what lists need of it."""

    id: str
    version: int
    fields: Fields
    state: FileState
    chunks: int
    sections: int
    code_blocks: int
    terms: int  # of all chunks together, each as often as it is listed
    code_terms: int  # of their code
    weighed: Averages  # that the weights of its terms were made with
    parts: int  # of the body
    links: tuple[Link, ...] | None  # None: they are in the body
    link_count: int
    community: int = -1  # -1: none

    @property
    def key(self) -> str:
        """The key of the document."""
        return document_key(self.id)

    @property
    def listed(self) -> DocumentEntry:
        """The entry as the index lists it."""
        when = modified(self.fields, self.state.mtime_ns)
        size, mtime_ns = self.state.size, self.state.mtime_ns
        short = short_id(self.id)
        return DocumentEntry(self.id, short, self.fields, when, size, mtime_ns, self.chunks)

    @property
    def names(self) -> list[LinkName]:
        """All the ways in which links can call it."""
        return names_of(self.id, self.fields.aliases)

    @property
    def lengths(self) -> Lengths:
        """How many terms its chunks have together."""
        return Lengths(self.chunks, self.terms, self.code_terms)

    def chunk_keys(self, epoch: str) -> list[ChunkKey]:
        """The keys of its chunks, in the order of the text."""
        return [chunk_key(epoch, self.key, self.version, at) for at in range(self.chunks)]

    def row(self, epoch: str, links: Sequence[Link]) -> Row:
        """The entry as a row; `links` are those of the document, also where the body has them."""
        called = {token("name", name.name) for name in self.names}
        wanted = {token("target", one) for link in links for one in names_of_target(self.id, link)}
        return {
            "key": entry_key(epoch, self.key),
            "kind": f"{epoch}/entry",
            "document": self.key,
            "number": id_number(short_id(self.id))[0],
            "tokens": fitting(called | wanted, TOKENS),
            "file": encode_file(self.id, self.state),
            "data": encode(self),
        }


class FoundChunk(msgspec.Struct, frozen=True):
    """What the row of a chunk says about it."""

    chunk: Chunk
    text: str | None  # None: it is too long for a row, and cut from the body
    names: tuple[tuple[str, Name], ...]  # folded names, and what they are
    languages: tuple[str, ...]  # of its code, folded


def entry_key(epoch: str, document: str) -> str:
    """The key of an entry's row."""
    return f"{epoch}/entry/{document}"


def body_keys(epoch: str, document: str, version: int, parts: int) -> list[str]:
    """The keys of the parts of a body."""
    return [f"{epoch}/body/{document}/{version}/{part}" for part in range(parts)]


def settled(indexed: IndexedDocument) -> IndexedDocument:
    """A document without what an index does not keep, and with a time that 64 bits hold."""
    document = replace(indexed.chunked.document, blocks=(), problems=())
    return IndexedDocument(
        replace(indexed.chunked, document=document), settled_state(indexed.state)
    )


def settled_state(state: FileState) -> FileState:
    """What is known of a file, with a time that 64 bits hold."""
    return state.at(max(-_LATEST, min(_LATEST, state.mtime_ns)))


class DocumentRows:
    """The rows of one version of a document."""

    def __init__(
        self, indexed: IndexedDocument, old: Entry | None, epoch: str, analyzer: Analyzer
    ) -> None:
        self.indexed = settled(indexed)
        self.old = old
        self._epoch = epoch
        self._body = encode(self.indexed)
        chunked, document = self.indexed.chunked, self.indexed.chunked.document
        self._terms = ChunkTerms(chunked, analyzer)
        lengths = self._terms.lengths
        links = document.links
        self.entry = Entry(
            id=document.id,
            # Equal content after equal content is the same version: to write it twice is harmless.
            version=version_of(epoch, document.id, old.version if old else 0, self._body),
            fields=document.fields,
            state=self.indexed.state,
            chunks=len(chunked.chunks),
            sections=len(chunked.sections),
            code_blocks=sum(map(len, self._terms.blocks)),
            terms=lengths.body,
            code_terms=lengths.code,
            weighed=Averages(),
            parts=len(parts_of(self._body)),
            links=links if len(links) <= _MOST_LINKS else None,
            link_count=len(links),
            community=old.community if old else -1,
        )

    @property
    def keys(self) -> list[ChunkKey]:
        """The keys of its chunks."""
        return self.entry.chunk_keys(self._epoch)

    def text_keys(self) -> list[bytes]:
        """The text keys of its chunks."""
        chunked = self.indexed.chunked
        return [text_key(chunked.embedding_text(chunk)) for chunk in chunked.chunks]

    def entry_row(self, averages: Averages) -> Row:
        """The row that makes this version count, weighed by these averages."""
        entry = msgspec.structs.replace(self.entry, weighed=averages)
        return entry.row(self._epoch, self.indexed.chunked.document.links)

    def body_rows(self) -> list[Row]:
        """The body, in parts."""
        key, version = self.entry.key, self.entry.version
        keys = body_keys(self._epoch, key, version, self.entry.parts)
        kind = f"{self._epoch}/body"
        return [
            record(one, kind, data, document=key)
            for one, data in zip(keys, parts_of(self._body), strict=True)
        ]

    def chunk_rows(
        self, averages: Averages, vectors: Mapping[bytes, Vector], zero: Vector
    ) -> list[Row]:
        """The chunks with their vectors, as far as these are known."""
        chunked = self.indexed.chunked
        terms, blocks = self._terms, self._terms.blocks
        names = _names_by_chunk(chunked)
        when = modified(chunked.document.fields, self.indexed.state.mtime_ns)
        facets = facet_tokens(chunked.document)
        rows = []
        for place, (key, chunk) in enumerate(zip(self.keys, chunked.chunks, strict=True)):
            languages = tuple(sorted({fold(block.language) for block in blocks[place]}))
            own = chain(
                (token("body", term) for term in terms.body[place]),
                (token("code", term) for term in terms.code[place]),
                (token("called", name) for name, _ in names[place]),
                (token("language", one) for one in languages),
            )
            known = text_key(chunked.embedding_text(chunk))
            vector = vectors.get(known)
            rows.append(
                {
                    "key": key,
                    "document": self.entry.key,
                    "version": self.entry.version,
                    "number": id_number(chunk.id)[0],
                    "section": id_number(chunk.section)[0],
                    "embedded": int(vector is not None),
                    "modified": when,
                    "text_key": known.hex(),
                    "tokens": fitting(facets | set(own), TOKENS),
                    "data": _chunk_data(chunk, chunked.text_of(chunk), names[place], languages),
                    "dense": zero if vector is None else vector,
                    "body": chunk_weights(terms.body[place], averages.body),
                    "code": chunk_weights(terms.code[place], averages.code),
                }
            )
        return rows


def record(key: str, kind: str, data: str, *, document: str = "") -> Row:
    """A record as a row."""
    return {
        "key": key,
        "kind": kind,
        "document": document,
        "number": 0,
        "tokens": [],
        "file": "",
        "data": data,
    }


def _names_by_chunk(chunked: ChunkedDocument) -> list[list[tuple[str, Name]]]:
    found: dict[str, list[tuple[str, Name]]] = {chunk.id: [] for chunk in chunked.chunks}
    for chunk, name in chunked.names():
        found[chunk.id].append((fold_name(name.path[-1]), name))
    return [found[chunk.id] for chunk in chunked.chunks]


def facet_tokens(document: Document) -> set[int]:
    """The tokens of what conditions compare of a document."""
    fields = document.fields
    found = {token("category", fold(fields.category)), token("source", ending_of(document.id))}
    found |= {token("tag", one) for tag in fields.tags for one in _with_ancestors(fold(tag))}
    found |= grams("title", fields.title) | grams("path", document.id)
    found |= {token("field", fold(name)) for name, _ in fields.properties}
    for author in fields.author:
        found |= {token("authored", "")} | grams("author", author)
    return found


def _with_ancestors(tag: str) -> Iterator[str]:
    yield tag
    yield from (tag[:place] for place, sign in enumerate(tag) if sign == "/")


def ending_of(document_id: str) -> str:
    """The ending of a file, folded, without the dot."""
    name = document_id.rpartition("/")[2]
    stem, _, ending = name.rpartition(".")
    return fold(ending) if stem.strip(".") else ""  # a name may begin with dots and have no ending


def _chunk_data(
    chunk: Chunk, text: str, names: Sequence[tuple[str, Name]], languages: tuple[str, ...]
) -> str:
    for kept in (text, None):
        data = encode(FoundChunk(chunk, kept, tuple(names), languages))
        if len(data) <= TEXT:
            return data
    return encode(FoundChunk(chunk, None, (), languages))  # thousands of headings in one chunk


def encode_file(document_id: str, state: FileState) -> str:
    """What a scan compares with a file, as a text of a row."""
    return msgspec.json.encode((document_id, state)).decode()


def read_file(row: Row) -> tuple[str, FileState]:
    """The document of an entry's row, and what is known of its file."""
    return decode_json(row["file"], tuple[str, FileState])


def read_entry(row: Row) -> Entry:
    """The entry in a row."""
    return decode(row["data"], Entry)
