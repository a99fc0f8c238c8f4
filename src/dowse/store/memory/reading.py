"""One generation of the in-memory store."""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence

from dowse.store.memory.searching import MemorySearching
from dowse.store.resolve import choose, names_of, names_of_target
from dowse.types import (
    Chunk,
    ChunkKey,
    Counts,
    DocumentEntry,
    Edge,
    FileState,
    IndexedDocument,
    Section,
    Stamp,
    StoredChunk,
    StoredDocument,
    Vector,
    short_id,
)


class MemoryReading(MemorySearching):
    """One generation; also what a writer changes, since nobody else holds its copy."""

    @property
    def generation(self) -> int:
        """How many batches the index has taken."""
        return self._state.generation

    def stamp(self) -> Stamp | None:
        """What the index was built with; None while it is new."""
        return copy.deepcopy(self._state.stamp)

    def roots(self) -> list[str]:
        """The folders that the index was made of, as far as it knows."""
        return list(self._state.roots)

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

    def links_of(self, document_ids: Collection[str]) -> list[Edge]:
        """The links that begin or end at any of these documents, by source and line."""
        return [
            edge
            for edge in self.edges()
            if edge.source in document_ids or edge.target in document_ids
        ]

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
