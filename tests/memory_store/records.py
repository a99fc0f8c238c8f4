"""What one generation in memory has: documents, links, words and the vectors of texts."""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence
from typing import get_args

from dowse._model import (
    Chunk,
    ChunkKey,
    Counts,
    DocumentEntry,
    Edge,
    FileState,
    IndexedDocument,
    Keys,
    Name,
    NameKind,
    Section,
    Sizes,
    Stamp,
    StoredChunk,
    StoredDocument,
    Vector,
    short_id,
)
from dowse._text.links import choose, names_of, names_of_target
from dowse._text.matching import fold_name, fold_word
from memory_store.generation import Generation

_KINDS = get_args(NameKind)


class MemoryCatalogue:
    """The documents and their chunks."""

    def __init__(self, of: Generation) -> None:
        self._of = of

    @property
    def generation(self) -> int:
        """How many batches the index has taken."""
        return self._of.state.generation

    def stamp(self) -> Stamp | None:
        """What the index was built with; None while it is new."""
        return copy.deepcopy(self._of.state.stamp)

    def roots(self) -> list[str]:
        """The folders that the index was made of, as far as it knows."""
        return list(self._of.state.roots)

    def counts(self) -> Counts:
        """How much the index holds."""
        documents = [indexed.chunked for indexed in self._of.state.documents.values()]
        edges = MemoryLinks(self._of).all()
        return Counts(
            documents=len(documents),
            sections=sum(len(chunked.sections) for chunked in documents),
            chunks=len(self._of.state.keys),
            code_blocks=sum(len(chunked.document.code_blocks) for chunked in documents),
            links=len(edges),
            dangling=sum(edge.target is None for edge in edges),
            embedded=sum(self._of.vector(key) is not None for key in self._of.state.keys),
            terms=len(self._of.words()),
            communities=len(set(self._of.state.communities.values())),
            secrets=sum(chunked.document.secrets for chunked in documents),
        )

    def sizes(self) -> Sizes:
        """How much the index holds, in a few numbers."""
        counts = self.counts()
        return Sizes(counts.documents, counts.chunks, counts.embedded)

    def is_finished(self) -> bool:
        """Whether the last run that changed documents has come to its end."""
        return not self._of.state.owed

    def has_more_than(self, documents: int) -> bool:
        """Whether there are more documents than so many."""
        return len(self._of.state.documents) > documents

    def files(self, beginnings: Sequence[str] = ("",)) -> dict[str, FileState]:
        """What is known of the files whose document ids begin in one of these ways, by id."""
        documents = self._of.state.documents.items()
        begin = tuple(beginnings)
        return {name: one.state for name, one in documents if name.startswith(begin)}

    def documents(self) -> list[DocumentEntry]:
        """All documents, by id."""
        return [_entry(document) for _, document in sorted(self._of.state.documents.items())]

    def document(self, document_id: str) -> StoredDocument | None:
        """One document, whole."""
        indexed = self._of.state.documents.get(document_id)
        if indexed is None:
            return None
        chunked, document = indexed.chunked, indexed.chunked.document
        return StoredDocument(
            _entry(indexed), document.text, document.body, chunked.sections, chunked.chunks
        )

    def find(self, short: str) -> list[tuple[str, int, int]]:
        """What an abbreviated id can mean: document id, first and last line."""
        found = set()
        for name, indexed in self._of.state.documents.items():
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
            if key in self._of.state.keys:
                name, chunk = self._of.state.keys[key]
                indexed = self._of.state.documents[name]
                found.append(
                    StoredChunk(key, chunk, indexed.chunked.text_of(chunk), _entry(indexed))
                )
        return found

    def named(self, name: str, limit: int) -> list[tuple[ChunkKey, Name]]:
        """The chunks that are called so, titles first, then aliases, then headings; by key."""
        wanted = fold_name(name)
        found = [
            (key, one)
            for key, (document_id, chunk) in self._of.state.keys.items()
            for owner, one in self._of.state.documents[document_id].chunked.names()
            if owner == chunk and fold_name(one.path[-1]) == wanted
        ]
        found.sort(key=lambda pair: (_KINDS.index(pair[1].kind), pair[0], pair[1].start))
        return found[: max(0, limit)]

    def keys_of(self, document_ids: Collection[str]) -> Keys:
        """The chunks of these documents."""
        return self._of.keys(lambda key: self._of.state.keys[key][0] in document_ids)


class MemoryLinks:
    """How the documents hang together."""

    def __init__(self, of: Generation) -> None:
        self._of = of

    def all(self) -> list[Edge]:
        """All links, by source and line."""
        names = [
            name
            for document_id, indexed in self._of.state.documents.items()
            for name in names_of(document_id, indexed.chunked.document.fields.aliases)
        ]
        edges = []
        for source, indexed in sorted(self._of.state.documents.items()):
            for link in sorted(indexed.chunked.document.links, key=lambda link: link.line):
                wanted = names_of_target(source, link)
                named = [name for name in names if name.name in wanted]
                edges.append(Edge(source, link, choose(source, link, named)))
        return [edge for edge in edges if edge.target or edge.link.kind != "related"]

    def of(self, document_ids: Collection[str]) -> list[Edge]:
        """The links that begin or end at any of these documents, by source and line."""
        return [
            edge
            for edge in self.all()
            if edge.source in document_ids or edge.target in document_ids
        ]

    def labels(self, document_ids: Collection[str]) -> list[tuple[str, str]]:
        """The texts of links that lead to these documents, each once."""
        led = {(edge.target, edge.link.label) for edge in self.all() if edge.link.label}
        return sorted((target, text) for target, text in led if target in {*document_ids})

    def communities(self) -> dict[str, int]:
        """The community of each document that has one, by id."""
        return dict(self._of.state.communities)


class MemoryVocabulary:
    """The words of all documents."""

    def __init__(self, of: Generation) -> None:
        self._of = of

    def most_frequent(self, size: int) -> list[str]:
        """The most frequent words, most frequent first."""
        return self.beginning("", size)

    def beginning(self, prefix: str, limit: int) -> list[str]:
        """Words of the documents that begin so, most frequent first."""
        words = self._of.words()
        found = [word for word in words if word.startswith(fold_word(prefix))]
        return sorted(found, key=lambda word: (-words[word], word))[: max(0, limit)]

    def spelled_like(self, word: str, limit: int) -> list[str]:
        """Words of the documents that are spelled nearly so, nearest first, then most frequent."""
        wanted, words = fold_word(word), self._of.words()
        most = 0 if len(wanted) < 4 else 1 if len(wanted) < 8 else 2
        distances = {other: _slips(wanted, other) for other in words}
        found = [other for other in words if 0 < distances[other] <= most]
        found.sort(key=lambda other: (distances[other], -words[other], other))
        return found[: max(0, limit)]


class MemoryTextVectors:
    """The vectors that were made of texts."""

    def __init__(self, of: Generation) -> None:
        self._of = of

    def known(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors that are known for these text keys."""
        known = self._of.state.vectors
        return {key: known[self._of.model, key] for key in keys if (self._of.model, key) in known}

    def missing(self, keys: Sequence[bytes]) -> list[bytes]:
        """Those of these text keys for which no vector is known, in their order."""
        known = self.known(keys)
        return [key for key in keys if key not in known]

    def waiting(self) -> dict[ChunkKey, str]:
        """The chunks without a vector, in the order of the text, each with its document's id."""
        keys = self._of.state.keys
        return {key: keys[key][0] for key in keys if self._of.vector(key) is None}


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


def _slips(one: str, other: str) -> int:
    """The optimal string alignment distance: letters added, left out, changed, or swapped."""
    before: list[int] = []
    above = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        line = [row]
        for column, wanted in enumerate(other, 1):
            best = min(above[column] + 1, line[-1] + 1, above[column - 1] + (letter != wanted))
            if row > 1 and column > 1 and letter == other[column - 2] and wanted == one[row - 2]:
                best = min(best, before[column - 2] + 1)
            line.append(best)
        before, above = above, line
    return above[-1]
