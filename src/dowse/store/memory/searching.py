"""What a search asks of one generation in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from dowse.ports import Analyzer
from dowse.store.memory.bm25 import bm25
from dowse.store.memory.conditions import holds
from dowse.store.memory.spelling import slips
from dowse.store.vectors import model_of
from dowse.text.fold import fold_word
from dowse.types import (
    Chunk,
    ChunkKey,
    CodeBlock,
    Condition,
    Debt,
    IndexedDocument,
    Keys,
    Scores,
    Stamp,
    Vector,
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
    owed: frozenset[Debt] = frozenset()
    roots: tuple[str, ...] = ()


class MemorySearching:
    """The searching side of a generation."""

    def __init__(self, state: State, analyzer: Analyzer) -> None:
        self._state = state
        self._analyzer = analyzer

    def keys_of(self, document_ids: Collection[str]) -> Keys:
        """The chunks of these documents."""
        return self._keys(lambda key: self._state.keys[key][0] in document_ids)

    def matching(self, conditions: Sequence[Condition]) -> Keys:
        """The chunks for which every condition holds."""

        def meets_all(key: ChunkKey) -> bool:
            indexed, blocks, body = self._document(key), self._blocks(key), self._body(key)
            return all(holds(condition, indexed, blocks, body) for condition in conditions)

        return self._keys(meets_all)

    def keyword(self, terms: Sequence[str], limit: int, among: Keys | None = None) -> Scores:
        """Chunks that hold any of the terms, best first; only `among` these keys, if given."""
        bodies = {key: [term for term, _ in self._body(key)] for key in self._state.keys}
        return _first(bm25(terms, bodies), limit, among)

    def code(self, terms: Sequence[str], limit: int, among: Keys | None = None) -> Scores:
        """Chunks whose code holds any of the terms, best first; promises as `keyword` does."""
        return _first(bm25(terms, {key: self._code(key) for key in self._state.keys}), limit, among)

    def nearest(self, vector: Vector, limit: int, among: Keys | None = None) -> Scores:
        """Chunks by cosine to the vector, best first; only `among` these keys, if given."""
        known = self.chunk_vectors(list(self._state.keys))
        scored = [(key, _cosine(one, vector)) for key, one in known.items()]
        return _first(sorted(scored, key=lambda pair: (-pair[1], pair[0])), limit, among)

    def chunk_vectors(self, keys: Sequence[ChunkKey]) -> dict[ChunkKey, Vector]:
        """The vectors of these chunks; those without one are passed over."""
        found = {key: self._vector(key) for key in keys if key in self._state.keys}
        return {key: vector for key, vector in found.items() if vector is not None}

    @property
    def size(self) -> int:
        """How many chunks the keyword index holds."""
        return len(self._state.keys)

    def frequencies(self, terms: Sequence[str], *, code: bool = False) -> dict[str, int]:
        """In how many chunks each term stands, or in the code of how many."""
        words = [[term for term, _ in self._body(key)] for key in self._state.keys]
        bodies = [self._code(key) for key in self._state.keys] if code else words
        return {term: sum(term in body for body in bodies) for term in terms}

    def vocabulary(self, size: int) -> list[str]:
        """The most frequent words, most frequent first."""
        return self.words("", size)

    def words(self, prefix: str, limit: int) -> list[str]:
        """Words of the documents that begin so, most frequent first."""
        words = self._words()
        found = [word for word in words if word.startswith(fold_word(prefix))]
        return sorted(found, key=lambda word: (-words[word], word))[: max(0, limit)]

    def spellings(self, word: str, limit: int) -> list[str]:
        """Words of the documents that are spelled nearly so, nearest first, then most frequent."""
        wanted, words = fold_word(word), self._words()
        most = 0 if len(wanted) < 4 else 1 if len(wanted) < 8 else 2
        distances = {other: slips(wanted, other) for other in words}
        found = [other for other in words if 0 < distances[other] <= most]
        found.sort(key=lambda other: (distances[other], -words[other], other))
        return found[: max(0, limit)]

    @property
    def _model(self) -> str:
        return model_of(self._state.stamp)[0]

    def _keys(self, is_wanted: Callable[[ChunkKey], bool]) -> Keys:
        return np.array(sorted(key for key in self._state.keys if is_wanted(key)), np.int64)

    def _document(self, key: ChunkKey) -> IndexedDocument:
        return self._state.documents[self._state.keys[key][0]]

    def _text(self, key: ChunkKey) -> str:
        return self._document(key).chunked.embedding_text(self._state.keys[key][1])

    def _vector(self, key: ChunkKey) -> Vector | None:
        return self._state.vectors.get((self._model, text_key(self._text(key))))

    def _words(self) -> Counter[str]:
        words: Counter[str] = Counter()
        for indexed in self._state.documents.values():
            document = indexed.chunked.document
            words.update(self._analyzer.vocabulary(document.text[document.body :]))
        return words

    def _body(self, key: ChunkKey) -> list[tuple[str, int]]:
        chunked, chunk = self._document(key).chunked, self._state.keys[key][1]
        fields, text = chunked.document.fields, chunked.text_of(chunk)
        return self._analyzer.chunk_terms(fields, chunk.header_path, text)

    def _blocks(self, key: ChunkKey) -> list[CodeBlock]:
        """The code that begins in a chunk."""
        chunked, chunk = self._document(key).chunked, self._state.keys[key][1]
        after = [other.end for other in chunked.chunks if other.start < chunk.start]
        return [
            block
            for block in chunked.document.code_blocks
            if max(after, default=0) <= block.start < chunk.end
        ]

    def _code(self, key: ChunkKey) -> list[str]:
        code = "\n".join(block.text for block in self._blocks(key))
        return [term for term, _ in self._analyzer.code_terms(code)]


def _first(scores: Scores, limit: int, among: Keys | None) -> Scores:
    kept = scores if among is None else [pair for pair in scores if pair[0] in set(among.tolist())]
    return kept[: max(0, limit)]


def _cosine(one: Vector, other: Vector) -> float:
    return float(np.float32(one.astype(np.float64) @ other.astype(np.float64)))
