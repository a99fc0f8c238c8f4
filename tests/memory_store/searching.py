"""Searching one generation in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dowse._model import ChunkKey, Condition, Keys, Scores, Vector
from dowse._model.ports import KeywordField
from memory_store.bm25 import bm25
from memory_store.conditions import holds
from memory_store.generation import Generation


class MemoryKeywords:
    """Finds chunks by their terms."""

    def __init__(self, of: Generation) -> None:
        self._of = of

    @property
    def size(self) -> int:
        """How many chunks it holds."""
        return len(self._of.state.keys)

    def search(
        self, field: KeywordField, terms: Sequence[str], limit: int, among: Keys | None = None
    ) -> Scores:
        """Chunks that hold any of the terms, best first; only `among` these keys, if given."""
        return _first(bm25(terms, self._of.terms(field)), limit, among)

    def frequencies(self, field: KeywordField, terms: Sequence[str]) -> dict[str, int]:
        """In how many chunks each term occurs."""
        held = self._of.terms(field).values()
        return {term: sum(term in some for some in held) for term in terms}


class MemoryVectors:
    """Finds chunks by their vectors."""

    def __init__(self, of: Generation) -> None:
        self._of = of

    def nearest(self, vector: Vector, limit: int, among: Keys | None = None) -> Scores:
        """Chunks by cosine to the vector, best first; only `among` these keys, if given."""
        known = self.of(list(self._of.state.keys))
        scored = [(key, _cosine(one, vector)) for key, one in known.items()]
        return _first(sorted(scored, key=lambda pair: (-pair[1], pair[0])), limit, among)

    def of(self, keys: Sequence[ChunkKey]) -> dict[ChunkKey, Vector]:
        """The vectors of these chunks; those without one are passed over."""
        found = {key: self._of.vector(key) for key in keys if key in self._of.state.keys}
        return {key: vector for key, vector in found.items() if vector is not None}


def matching(of: Generation, conditions: Sequence[Condition]) -> Keys:
    """The chunks for which every condition holds."""

    def meets_all(key: ChunkKey) -> bool:
        indexed, blocks, body = of.document(key), of.blocks(key), of.placed_terms(key)
        return all(holds(condition, indexed, blocks, body) for condition in conditions)

    return of.keys(meets_all)


def _first(scores: Scores, limit: int, among: Keys | None) -> Scores:
    kept = scores if among is None else [pair for pair in scores if pair[0] in set(among.tolist())]
    return kept[: max(0, limit)]


def _cosine(one: Vector, other: Vector) -> float:
    return float(np.float32(one.astype(np.float64) @ other.astype(np.float64)))
