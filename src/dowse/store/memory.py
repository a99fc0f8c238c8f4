"""A store in memory: the port in its plainest form, for tests and for trying things out.

Nothing is clever here: every generation is a copy, links are all resolved anew, scores are
computed term by term. That makes it the independent witness for the embedded store.
"""

from __future__ import annotations

import math
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from dowse.errors import Locked
from dowse.ports import Analyzer
from dowse.store.resolve import choose, name_of_target, names_of
from dowse.types import (
    Batch,
    Chunk,
    ChunkKey,
    Counts,
    DocumentEntry,
    Edge,
    FileState,
    Finding,
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

_K1, _B = 1.2, 0.75


@dataclass(slots=True)
class _State:
    generation: int = 0
    stamp: Stamp | None = None
    documents: dict[str, IndexedDocument] = field(default_factory=dict)
    keys: dict[ChunkKey, tuple[str, Chunk]] = field(default_factory=dict)
    vectors: dict[tuple[str, bytes], Vector] = field(default_factory=dict)
    communities: dict[str, int] = field(default_factory=dict)
    next_key: ChunkKey = 1


class MemoryReading:
    """One generation; also what a writer changes, since nobody else holds its copy."""

    def __init__(self, state: _State, analyzer: Analyzer) -> None:
        self._state = state
        self._analyzer = analyzer

    @property
    def generation(self) -> int:
        """How many batches the index has taken."""
        return self._state.generation

    def stamp(self) -> Stamp | None:
        """What the index was built with; None while it is new."""
        return self._state.stamp

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
                wanted = name_of_target(source, link)
                named = [name for name in names if name.name == wanted]
                edges.append(Edge(source, link, choose(source, link, named)))
        return edges

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
        return self._bm25(terms, limit, {key: self._body(key) for key in self._state.keys})

    def code(self, terms: Sequence[str], limit: int) -> Scores:
        """Chunks whose code holds any of the terms, best first."""
        return self._bm25(terms, limit, {key: self._code(key) for key in self._state.keys})

    def nearest(self, vector: Vector, limit: int) -> Scores:
        """Chunks by cosine to the vector, best first."""
        known = {key: self._vector(key) for key in self._state.keys}
        scored = [(key, float(one @ vector)) for key, one in known.items() if one is not None]
        return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[:limit]

    def vocabulary(self, size: int) -> list[str]:
        """The most frequent words, most frequent first."""
        words = self._words()
        return sorted(words, key=lambda word: (-words[word], word))[:size]

    def vectors(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors that are known for these text keys."""
        known = self._state.vectors
        return {key: known[self._model, key] for key in keys if (self._model, key) in known}

    def unembedded(self) -> list[str]:
        """The embedding texts of chunks that have no vector yet."""
        return [self._text(key) for key in self._state.keys if self._vector(key) is None]

    @property
    def _model(self) -> str:
        return str((self._state.stamp or {}).get("model", ""))

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

    def _bm25(
        self, terms: Sequence[str], limit: int, bodies: Mapping[ChunkKey, list[str]]
    ) -> Scores:
        counts = {key: Counter(body) for key, body in bodies.items()}
        average = sum(len(body) for body in bodies.values()) / max(1, len(bodies))
        scores: defaultdict[ChunkKey, float] = defaultdict(float)
        for term in terms:
            holders = [key for key, count in counts.items() if term in count]
            rarity = math.log(1 + (len(bodies) - len(holders) + 0.5) / (len(holders) + 0.5))
            for key in holders:
                often = counts[key][term]
                length = 1 - _B + _B * len(bodies[key]) / average
                scores[key] += rarity * often * (_K1 + 1) / (often + _K1 * length)
        return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]


class MemoryWriting(MemoryReading):
    """The writing side: changes a copy, which is published as a whole."""

    def __init__(self, store: MemoryStore, analyzer: Analyzer) -> None:
        super().__init__(store.state, analyzer)
        self._store = store

    def start(self, stamp: Stamp) -> None:
        """Empties the index and stamps it; known vectors are kept."""
        with self._change() as state:
            state.stamp = dict(stamp)
            state.documents.clear()
            state.keys.clear()
            state.communities.clear()

    def apply(self, batch: Batch) -> None:
        """Takes a batch in one transaction: after a crash all of it is there, or nothing."""
        with self._change() as state:
            self._keep(state, batch.vectors)
            for name in (*batch.gone, *(put.chunked.document.id for put in batch.put)):
                state.documents.pop(name, None)
                state.keys = {key: place for key, place in state.keys.items() if place[0] != name}
            for name in batch.gone:
                state.communities.pop(name, None)
            for put in batch.put:
                state.documents[put.chunked.document.id] = put
                for chunk in put.chunked.chunks:
                    state.keys[state.next_key] = (put.chunked.document.id, chunk)
                    state.next_key += 1
            for name, file_state in batch.touched:
                state.documents[name] = replace(state.documents[name], state=file_state)

    def remember(self, vectors: Mapping[bytes, Vector]) -> None:
        """Keeps vectors by text key; chunks that were waiting for one of them get it."""
        with self._change() as state:
            self._keep(state, vectors)

    def set_communities(self, communities: Mapping[str, int]) -> None:
        """Replaces the communities."""
        with self._change() as state:
            known = state.documents
            state.communities = {
                name: group for name, group in communities.items() if name in known
            }

    def tidy(self) -> None:
        """Gives back what nothing needs any more: here, nothing."""

    @contextmanager
    def _change(self) -> Iterator[_State]:
        state = replace(
            self._state,
            documents=dict(self._state.documents),
            keys=dict(self._state.keys),
            vectors=dict(self._state.vectors),
            communities=dict(self._state.communities),
            generation=self._state.generation + 1,
        )
        yield state
        self._state = self._store.state = state

    def _keep(self, state: _State, vectors: Mapping[bytes, Vector]) -> None:
        model = str((state.stamp or {}).get("model", ""))
        for key, vector in vectors.items():
            # As exact as the embedded store keeps them, so that both rank alike.
            state.vectors[model, key] = vector.astype(np.float16).astype(np.float32)


class MemoryStore:
    """An index that lives as long as this object."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.state = _State()
        self._analyzer = analyzer
        self._lock = threading.Lock()

    @contextmanager
    def read(self) -> Iterator[MemoryReading]:
        """Opens the newest generation."""
        yield MemoryReading(self.state, self._analyzer)

    @contextmanager
    def write(self, wait: float = 0.0) -> Iterator[MemoryWriting]:
        """Becomes the writer; raises `Locked` when another still is after `wait` seconds."""
        if not self._lock.acquire(timeout=wait) if wait else not self._lock.acquire(blocking=False):
            raise Locked("The index is being written by this process.", "Wait for it to end.")
        try:
            yield MemoryWriting(self, self._analyzer)
        finally:
            self._lock.release()

    def check(self) -> list[Finding]:
        """Finds nothing: there is nothing that could disagree."""
        return []

    def repair(self) -> None:
        """Repairs nothing: there is nothing that could break."""

    def close(self) -> None:
        """Lets go of nothing."""


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
