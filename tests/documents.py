"""Small documents for tests of the store, made without the rooms that make them in earnest.

A line that starts with `#` is a heading and begins a section; paragraphs (between blank lines) are
chunks; a paragraph between fences is a code block. Vectors follow from the text alone.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from dowse._model import (
    GAP,
    Batch,
    Chunk,
    ChunkedDocument,
    CodeBlock,
    Document,
    Fields,
    FileState,
    Heading,
    IndexedDocument,
    Link,
    LinkKind,
    Section,
    Stamp,
    Stream,
    Vector,
    text_key,
)

DIMENSIONS = 16

STAMP: Stamp = {"model": "test-model", "dimensions": DIMENSIONS}
"""A stamp as the engine writes it, as far as the store looks at it."""


class PlainAnalyzer:
    """Words at spaces, in lower case: terms that a test can count by hand."""

    stamp: Mapping[str, object] = {"plain": 1}

    def language(self, text: str) -> str:  # noqa: ARG002  the same rules for all
        """None."""
        return ""

    def speaking(self, languages: Sequence[str]) -> PlainAnalyzer:  # noqa: ARG002  as above
        """The same."""
        return self

    def chunk_terms(
        self,
        fields: Fields,
        header_path: Sequence[str],
        text: str,
        language: str = "",  # noqa: ARG002  as above
    ) -> list[tuple[str, int]]:
        """Every word of the title, the headings and the text, once each time it occurs."""
        words = " ".join([fields.title, *header_path, text]).lower().split()
        return [(word, position) for position, word in enumerate(words)]

    def chunk_stream(
        self, fields: Fields, header_path: Sequence[str], text: str, language: str = ""
    ) -> Stream:
        """The same words at the same distances."""
        return stream_of(self.chunk_terms(fields, header_path, text, language))

    def code_terms(self, text: str) -> list[tuple[str, int]]:
        """The words of the code."""
        return [(word, position) for position, word in enumerate(text.lower().split())]

    def code_stream(self, text: str) -> Stream:
        """The same words."""
        return stream_of(self.code_terms(text))

    def query_terms(self, text: str) -> list[str]:
        """All words, each once."""
        return list(dict.fromkeys(text.lower().split()))

    def vocabulary(self, text: str) -> Counter[str]:
        """All words of at least three letters."""
        return Counter(word for word in text.lower().split() if len(word) >= 3)


def stream_of(placed: Iterable[tuple[str, int]]) -> Stream:
    """Terms with positions as one text: what is at one position once more comes after the rest."""
    layers: list[dict[int, str]] = []
    for term, position in placed:
        layer = next((one for one in layers if position not in one), None)
        if layer is None:
            layers.append(layer := {})
        layer[position] = term
    laid = [[layer.get(at, GAP) for at in range(min(layer), max(layer) + 1)] for layer in layers]
    return f" {GAP} ".join(map(" ".join, laid))


def make_document(
    document_id: str,
    text: str,
    *,
    fields: Fields | None = None,
    links: Iterable[Link] = (),
    aliases: Sequence[str] = (),
    body: int = 0,
    mtime_ns: int = 1_700_000_000_000_000_000,
) -> IndexedDocument:
    """A document as the chunk room would hand it over.

    It has no title unless `fields` says one, so what is embedded is the text that a test writes.
    """
    fields = fields or Fields(aliases=tuple(aliases))
    sections, chunks = _parts(document_id, text, body)
    document = Document(
        document_id,
        text,
        body,
        fields,
        headings=tuple(_headings(text, body)),
        code_blocks=tuple(_code_blocks(text, chunks)),
        links=tuple(links),
    )
    chunked = ChunkedDocument(document, tuple(sections), tuple(chunks))
    return IndexedDocument(chunked, state_of(text, mtime_ns))


def state_of(text: str, mtime_ns: int = 1_700_000_000_000_000_000) -> FileState:
    """What is known of a file with this text."""
    content = text.encode()
    return FileState(len(content), mtime_ns, hashlib.sha256(content).hexdigest())


def link(target: str, kind: LinkKind = "wikilink", line: int = 1) -> Link:
    """A link to a target."""
    return Link(kind, target, "", "", line)


def vector_of(text: str, dimensions: int = DIMENSIONS) -> Vector:
    """The unit vector of a text: another text, another direction."""
    seed = int.from_bytes(text_key(text)[:8], "little")
    vector = np.random.default_rng(seed).standard_normal(dimensions)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def vectors_of(*documents: IndexedDocument, dimensions: int = DIMENSIONS) -> Mapping[bytes, Vector]:
    """The vectors of all chunks of some documents, by text key."""
    texts = [one.chunked.embedding_text(chunk) for one in documents for chunk in one.chunked.chunks]
    return {text_key(text): vector_of(text, dimensions) for text in texts}


def batch(*put: IndexedDocument, gone: Sequence[str] = ()) -> Batch:
    """A batch of documents together with their vectors."""
    return Batch(put=put, gone=tuple(gone), vectors=vectors_of(*put))


def _parts(document_id: str, text: str, body: int) -> tuple[list[Section], list[Chunk]]:
    sections: list[Section] = []
    chunks: list[Chunk] = []
    starts = [start for start in _section_starts(text) if start >= body] or [body]
    for start, end in pairwise([*starts, len(text)]):
        if not text[start:end].strip():
            continue
        header_path = _header_path(text, start)
        lines = _lines(text, start, end)
        sections.append(
            Section(_id("section", document_id, text, start, end), header_path, start, end, *lines)
        )
        chunks += [
            Chunk(
                _id("chunk", document_id, text, first, last),
                header_path,
                first,
                last,
                *_lines(text, first, last),
                sections[-1].id,
                0,
            )
            for first, last in _paragraphs(text, start, end)
        ]
    return sections, chunks


def _section_starts(text: str) -> Iterator[int]:
    offset, fenced = 0, False
    for line in text.splitlines(keepends=True):
        fenced ^= line.startswith("```")
        if offset == 0 or (line.startswith("# ") and not fenced):
            yield offset
        offset += len(line)


def _header_path(text: str, start: int) -> tuple[str, ...]:
    line = text[start:].split("\n", 1)[0]
    return (line.removeprefix("# ").strip(),) if line.startswith("# ") else ()


def _headings(text: str, body: int) -> Iterator[Heading]:
    for start in _section_starts(text):
        for heading in _header_path(text, start) if start >= body else ():
            yield Heading(1, heading, start)


def _paragraphs(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end:
        cut = text.find("\n\n", start, end)
        stop = end if cut < 0 else cut + 2
        if text[start:stop].strip():
            yield start, stop
        start = stop


def _code_blocks(text: str, chunks: Sequence[Chunk]) -> Iterator[CodeBlock]:
    for chunk in chunks:
        lines = text[chunk.start : chunk.end].strip("\n").split("\n")
        if lines[0].startswith("```") and len(lines) > 1:
            yield CodeBlock(
                lines[0].removeprefix("```").strip(),
                "\n".join(lines[1:-1]),
                chunk.start,
                chunk.end,
                chunk.first_line,
                chunk.last_line,
            )


def _lines(text: str, start: int, end: int) -> tuple[int, int]:
    first = text.count("\n", 0, start) + 1
    return first, first + text[start:end].rstrip("\n").count("\n")


def _id(kind: str, document_id: str, text: str, start: int, end: int) -> str:
    whole = f"{kind}\0{document_id}\0{start}\0{text[start:end]}"
    return hashlib.sha256(whole.encode()).hexdigest()[:16]
