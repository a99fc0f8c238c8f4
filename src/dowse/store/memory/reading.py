"""One generation of the in-memory store."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dowse.ports import Analyzer
from dowse.store.memory.bm25 import bm25
from dowse.store.resolve import choose, names_of, names_of_target
from dowse.store.vectors import model_of
from dowse.types import (
    Chunk,
    ChunkKey,
    Counts,
    DocumentEntry,
    Edge,
    FileState,
    IndexedDocument,
    Scores,
    Section,
    Stamp,
    StoredChunk,
    StoredDocument,
    Vector,
    short_id,
    text_key,
)


@dataclass(slots=True)
class State:
    """All that one generation holds."""

    generation: int = 0
    stamp: Stamp | None = None
    documents: dict[str, IndexedDocument] = field(default_factory=dict)
    keys: dict[ChunkKey, tuple[str, Chunk]] = field(default_factory=dict)
    vectors: dict[tuple[str, bytes], Vector] = field(default_factory=dict)
    communities: dict[str, int] = field(default_factory=dict)
    next_key: ChunkKey = 1


class MemoryReading:
    """One generation; also what a writer changes, since nobody else holds its copy."""

    def __init__(self, state: State, analyzer: Analyzer) -> None:
        self._state = state
        self._analyzer = analyzer

    @property
    def generation(self) -> int:
        """How many batches the index has taken."""
        return self._state.generation

    def stamp(self) -> Stamp | None:
        """What the index was built with; None while it is new."""
        return copy.deepcopy(self._state.stamp)

    def files(self) -> dict[str, FileState]:
        """What is known of every file, by document id."""
        return {name: document.state for name, document in self._state.documents.items()}

    def documents(self) -> list[DocumentEntry]:
        """All documents, by id."""
        return [_entry(document) for _, document in sorted(self._state.documents.items())]

    def document(self, document_id: str) -> StoredDocument | None:
        """One document, whole."""
        indexed = self._state.documents.get(document_id)
        if indexed is None:
            return None
        chunked, document = indexed.chunked, indexed.chunked.document
        return StoredDocument(
            _entry(indexed), document.text, document.body, chunked.sections, chunked.chunks
        )

    def find(self, short: str) -> list[tuple[str, int, int]]:
        """What an abbreviated id can mean: document id, first and last line."""
        found = set()
        for name, indexed in self._state.documents.items():
            if short_id(name).startswith(short):
                found.add((name, 1, indexed.chunked.document.text.count("\n") + 1))
            parts: list[Section | Chunk] = [*indexed.chunked.sections, *indexed.chunked.chunks]
            for part in parts:
                if part.id.startswith(short):
                    found.add((name, part.first_line, part.last_line))
        return sorted(found)

    def chunks(self, keys: Sequence[ChunkKey]) -> list[StoredChunk]:
        """Chunks by key, in the order asked for; unknown keys are passed over."""
        found = []
        for key in keys:
            if key in self._state.keys:
                name, chunk = self._state.keys[key]
                indexed = self._state.documents[name]
                found.append(
                    StoredChunk(key, chunk, indexed.chunked.text_of(chunk), _entry(indexed))
                )
        return found

    def edges(self) -> list[Edge]:
        """All links, by source and line."""
        names = [
            name
            for document_id, indexed in self._state.documents.items()
            for name in names_of(document_id, indexed.chunked.document.fields.aliases)
        ]
        edges = []
        for source, indexed in sorted(self._state.documents.items()):
            for link in sorted(indexed.chunked.document.links, key=lambda link: link.line):
                wanted = names_of_target(source, link)
                named = [name for name in names if name.name in wanted]
                edges.append(Edge(source, link, choose(source, link, named)))
        return [edge for edge in edges if edge.target or edge.link.kind != "related"]

    def communities(self) -> dict[str, int]:
        """The community of each document that has one, by id."""
        return dict(self._state.communities)

    def counts(self) -> Counts:
        """How much the index holds."""
        documents = [indexed.chunked for indexed in self._state.documents.values()]
        edges = self.edges()
        return Counts(
            documents=len(documents),
            sections=sum(len(chunked.sections) for chunked in documents),
            chunks=len(self._state.keys),
            code_blocks=sum(len(chunked.document.code_blocks) for chunked in documents),
            links=len(edges),
            dangling=sum(edge.target is None for edge in edges),
            embedded=sum(self._vector(key) is not None for key in self._state.keys),
            terms=len(self._words()),
            communities=len(set(self._state.communities.values())),
        )

    def keyword(self, terms: Sequence[str], limit: int) -> Scores:
        """Chunks that hold any of the terms, best first."""
        return bm25(terms, {key: self._body(key) for key in self._state.keys})[: max(0, limit)]

    def code(self, terms: Sequence[str], limit: int) -> Scores:
        """Chunks whose code holds any of the terms, best first."""
        return bm25(terms, {key: self._code(key) for key in self._state.keys})[: max(0, limit)]

    def nearest(self, vector: Vector, limit: int) -> Scores:
        """Chunks by cosine to the vector, best first."""
        known = {key: self._vector(key) for key in self._state.keys}
        scored = [(key, _cosine(one, vector)) for key, one in known.items() if one is not None]
        return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[: max(0, limit)]

    def vocabulary(self, size: int) -> list[str]:
        """The most frequent words, most frequent first."""
        words = self._words()
        return sorted(words, key=lambda word: (-words[word], word))[: max(0, size)]

    def vectors(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors that are known for these text keys."""
        known = self._state.vectors
        return {key: known[self._model, key] for key in keys if (self._model, key) in known}

    def without_vector(self, keys: Sequence[bytes]) -> list[bytes]:
        """Those of these text keys for which no vector is known, in their order."""
        known = self.vectors(keys)
        return [key for key in keys if key not in known]

    def unembedded(self) -> list[str]:
        """The embedding texts of chunks that have no vector yet."""
        return [self._text(key) for key in self._state.keys if self._vector(key) is None]

    @property
    def _model(self) -> str:
        return model_of(self._state.stamp)[0]

    def _text(self, key: ChunkKey) -> str:
        name, chunk = self._state.keys[key]
        return self._state.documents[name].chunked.embedding_text(chunk)

    def _vector(self, key: ChunkKey) -> Vector | None:
        return self._state.vectors.get((self._model, text_key(self._text(key))))

    def _words(self) -> Counter[str]:
        words: Counter[str] = Counter()
        for indexed in self._state.documents.values():
            document = indexed.chunked.document
            words.update(self._analyzer.vocabulary(document.text[document.body :]))
        return words

    def _body(self, key: ChunkKey) -> list[str]:
        name, chunk = self._state.keys[key]
        chunked = self._state.documents[name].chunked
        fields, text = chunked.document.fields, chunked.text_of(chunk)
        return [term for term, _ in self._analyzer.chunk_terms(fields, chunk.header_path, text)]

    def _code(self, key: ChunkKey) -> list[str]:
        name, chunk = self._state.keys[key]
        chunked = self._state.documents[name].chunked
        after = [other.end for other in chunked.chunks if other.start < chunk.start]
        blocks = [
            block
            for block in chunked.document.code_blocks
            if max(after, default=0) <= block.start < chunk.end
        ]
        code = "\n".join(block.text for block in blocks)
        return [term for term, _ in self._analyzer.code_terms(code)]


def _cosine(one: Vector, other: Vector) -> float:
    return float(np.float32(one.astype(np.float64) @ other.astype(np.float64)))


def _entry(indexed: IndexedDocument) -> DocumentEntry:
    document, state = indexed.chunked.document, indexed.state
    return DocumentEntry(
        document.id,
        short_id(document.id),
        document.fields,
        indexed.modified,
        state.size,
        state.mtime_ns,
        len(indexed.chunked.chunks),
    )
