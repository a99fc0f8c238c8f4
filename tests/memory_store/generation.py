"""All that one generation in memory holds, and what follows from it chunk by chunk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dowse._model import (
    Chunk,
    ChunkKey,
    CodeBlock,
    IndexedDocument,
    Keys,
    Maintenance,
    Stamp,
    Vector,
    text_key,
)
from dowse._model.ports import Analyzer, KeywordField
from dowse._store.sql.database import model_of


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
    owed: frozenset[Maintenance] = frozenset()
    roots: tuple[str, ...] = ()


class Generation:
    """One generation; a writer puts another state in it with every change."""

    def __init__(self, state: State, analyzer: Analyzer) -> None:
        self.state = state
        self._analyzer = analyzer

    @property
    def model(self) -> str:
        """The key of the model whose vectors it takes."""
        return model_of(self.state.stamp)[0]

    def document(self, key: ChunkKey) -> IndexedDocument:
        """The document of a chunk."""
        return self.state.documents[self.state.keys[key][0]]

    def text(self, key: ChunkKey) -> str:
        """The embedding text of a chunk."""
        return self.document(key).chunked.embedding_text(self.state.keys[key][1])

    def vector(self, key: ChunkKey) -> Vector | None:
        """The vector of a chunk, if it has one."""
        return self.state.vectors.get((self.model, text_key(self.text(key))))

    def words(self) -> Counter[str]:
        """The words of all documents, with how often they occur."""
        words: Counter[str] = Counter()
        for indexed in self.state.documents.values():
            document = indexed.chunked.document
            words.update(self._analyzer.vocabulary(document.text[document.body :]))
        return words

    def placed_terms(self, key: ChunkKey) -> list[tuple[str, int]]:
        """The terms of a chunk with their positions."""
        chunked, chunk = self.document(key).chunked, self.state.keys[key][1]
        fields, text = chunked.document.fields, chunked.text_of(chunk)
        language = self._analyzer.language(chunked.document.text)
        return self._analyzer.chunk_terms(fields, chunk.header_path, text, language)

    def blocks(self, key: ChunkKey) -> list[CodeBlock]:
        """The code that begins in a chunk."""
        chunked, chunk = self.document(key).chunked, self.state.keys[key][1]
        after = [other.end for other in chunked.chunks if other.start < chunk.start]
        return [
            block
            for block in chunked.document.code_blocks
            if max(after, default=0) <= block.start < chunk.end
        ]

    def keys(self, is_wanted: Callable[[ChunkKey], bool]) -> Keys:
        """Those chunks that are wanted."""
        return np.array(sorted(key for key in self.state.keys if is_wanted(key)), np.int64)

    def terms(self, field: KeywordField) -> dict[ChunkKey, list[str]]:
        """The terms of a field of every chunk."""
        return {key: self._terms(field, key) for key in self.state.keys}

    def _terms(self, field: KeywordField, key: ChunkKey) -> list[str]:
        if field == "body":
            return [term for term, _ in self.placed_terms(key)]
        code = "\n".join(block.text for block in self.blocks(key))
        return [term for term, _ in self._analyzer.code_terms(code)]
