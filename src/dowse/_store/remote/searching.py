"""Finding chunks by terms and by vectors, among those that conditions allow.

The engine ranks and filters. Of what it returns, rows of versions that do not count and rows that
fail a check are dropped, and more is fetched until enough are left: the limit cuts last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from dowse._model import ChunkKey, Condition, Keys, Scores, StoredChunk, Vector
from dowse._model.ports import KeywordField
from dowse._store.remote.coding import decode
from dowse._store.remote.conditions import Compiled, compiled, holds, may_be_incomplete
from dowse._store.remote.documents import Entry, FoundChunk
from dowse._store.remote.rows import EVERY, MOST_HITS, AllOf, In, Row, Sparse, Where
from dowse._store.remote.schema import CHUNK_SCALARS
from dowse._store.remote.view import View
from dowse._store.remote.weights import query_weights

if TYPE_CHECKING:
    from dowse._store.remote.catalogue import Viewing

_LISTED = 4000  # keys that are named in one filter
_SPARE = 16  # rows that are fetched beyond the limit, for ties and versions that do not count
_GROWTH = 4


class Selection:
    """The chunks for which every condition holds: a filter, and a list only where one is needed.

    It can be used wherever `Keys` are. A search uses its filter, so that the engine never sends
    all the keys that a broad condition allows.
    """

    dtype = np.dtype(np.int64)

    def __init__(self, view: View, conditions: Sequence[Condition]) -> None:
        self._view = view
        self.conditions = tuple(conditions)
        self.compiled = compiled(conditions, negates=view.rows.negates_tokens)
        self._keys: Keys | None = None

    def __len__(self) -> int:
        return len(self._list())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Keys:
        return np.array(self._list(), dtype=dtype, copy=copy)

    def tolist(self) -> list[ChunkKey]:
        """The keys, ascending."""
        return cast("list[ChunkKey]", self._list().tolist())

    def within(self, keys: Keys) -> Keys:
        """Those of these keys that are selected."""
        found = (self._passing(In("key", some)) for some in _blocks(keys))
        return np.array(sorted(key for some in found for key in some), np.int64)

    def _list(self) -> Keys:
        if self._keys is None:
            if not self.conditions:
                entries, epoch = self._view.entries().values(), self._view.head.epoch
                keys = [key for entry in entries for key in entry.chunk_keys(epoch)]
            else:
                keys = list(self._passing(AllOf()))
            self._keys = np.array(sorted(keys), np.int64)
        return self._keys

    def _passing(self, where: Where) -> Iterator[ChunkKey]:
        if self.compiled.never or self._view.is_new:
            return
        both = AllOf([self.compiled.where, where])
        rows = self._view.rows.scan(self._view.chunks, both, CHUNK_SCALARS)
        for row, entry in self._view.current(rows):
            if passes(self._view, self.compiled, self.conditions, row, entry):
                yield row["key"]


def passes(
    view: View, filter_: Compiled, conditions: Sequence[Condition], row: Row, entry: Entry
) -> StoredChunk | None:
    """The chunk of a row, if all that the engine cannot decide holds of it."""
    found = decode(row["data"], FoundChunk)
    stored = view.stored(row, entry, found)
    checked = conditions if may_be_incomplete(found) else filter_.checked
    for condition in checked:
        if not holds(condition, entry, found, stored.text, view.analyzer):
            return None
    return stored


class RemoteKeywords:
    """Finds chunks by their terms."""

    def __init__(self, of: Viewing) -> None:
        self._of = of

    @property
    def size(self) -> int:
        """How many chunks it holds."""
        view = self._of.view
        if view.is_new:
            return 0
        return view.shared.size(view)

    def search(
        self, field: KeywordField, terms: Sequence[str], limit: int, among: Keys | None = None
    ) -> Scores:
        """Chunks that hold any of the terms, best first; only `among` these keys, if given."""
        view = self._of.view
        weights = query_weights(self.frequencies(field, terms), self.size)
        if limit < 1 or not weights:
            return []
        found = _search(view, Sought(field, weights), limit, among, EVERY)
        return [pair for pair in found if pair[1] > 0]  # some engines list what shares no term

    def frequencies(self, field: KeywordField, terms: Sequence[str]) -> dict[str, int]:
        """In about how many chunks each term occurs."""
        view = self._of.view
        if view.is_new:
            return dict.fromkeys(terms, 0)
        return view.shared.frequencies(view, field, terms)


class RemoteVectors:
    """Finds chunks by their vectors."""

    def __init__(self, of: Viewing) -> None:
        self._of = of

    def nearest(self, vector: Vector, limit: int, among: Keys | None = None) -> Scores:
        """Chunks by cosine to the vector, best first; only `among` these keys, if given."""
        view = self._of.view
        if limit < 1 or view.is_new or len(vector) != view.chunks.dimensions:
            return []
        return _search(view, Sought("dense", vector), limit, among, In("embedded", [1]))

    def of(self, keys: Sequence[ChunkKey]) -> dict[ChunkKey, Vector]:
        """The vectors of these chunks; those without one are passed over."""
        view = self._of.view
        wanted = [] if view.is_new else [int(key) for key in keys]
        found: dict[Any, Row] = {}
        for start in range(0, len(wanted), _LISTED):
            some = wanted[start : start + _LISTED]
            fields = ("key", "document", "version", "embedded", "dense")
            found |= view.rows.get(view.chunks, some, fields)
        current = {row["key"]: row for row, _ in view.current(found.values()) if row["embedded"]}
        return {key: _vector(current[key]) for key in wanted if key in current}


def _vector(row: Row) -> Vector:
    return np.asarray(row["dense"], np.float32)


class Sought(NamedTuple):
    """What is searched for: a vector, and the field whose vectors it is compared with."""

    field: str
    query: Vector | Sparse


def _search(view: View, sought: Sought, limit: int, among: Keys | None, holding: Where) -> Scores:
    """The best chunks, by score and then by key."""
    if among is None:
        return _best(view, sought, limit, Compiled(holding, ()), ())
    selected = cast("object", among)  # a selection passes for keys
    if isinstance(selected, Selection):
        allowed = selected.compiled
        if allowed.never:
            return []
        both = Compiled(AllOf([allowed.where, holding]), allowed.checked)
        return _best(view, sought, limit, both, selected.conditions)
    found: Scores = []
    for some in _blocks(among):
        named = Compiled(AllOf([In("key", some), holding]), ())
        found += _best(view, sought, min(limit, len(some)), named, ())
    return sorted(found, key=_by_score)[:limit]


def _best(
    view: View, sought: Sought, limit: int, filter_: Compiled, conditions: Sequence[Condition]
) -> Scores:
    count = min(MOST_HITS, limit + _SPARE)
    while True:
        hits = view.rows.nearest(
            view.chunks, *sought, count, where=filter_.where, fields=CHUNK_SCALARS
        )
        if view.was_overtaken(row for row, _ in hits):
            continue
        kept = list(_kept(view, hits, filter_, conditions))
        kept.sort(key=_by_score)
        seen_all = len(hits) < count or count >= MOST_HITS
        # Whatever ties with the last one that fits must have been fetched.
        if seen_all or (len(kept) >= limit and kept[limit - 1][1] > hits[-1][1]):
            return kept[:limit]
        count = min(MOST_HITS, _GROWTH * count)


def _kept(
    view: View,
    hits: Sequence[tuple[Row, float]],
    filter_: Compiled,
    conditions: Sequence[Condition],
) -> Iterator[tuple[ChunkKey, float]]:
    scores = {row["key"]: score for row, score in hits}
    for row, entry in view.current(row for row, _ in hits):
        if passes(view, filter_, conditions, row, entry) is not None:
            yield row["key"], scores[row["key"]]


def _blocks(keys: Keys) -> Iterator[list[ChunkKey]]:
    listed = keys.tolist()
    for start in range(0, len(listed), _LISTED):
        yield listed[start : start + _LISTED]


def _by_score(pair: tuple[ChunkKey, float]) -> tuple[float, ChunkKey]:
    return -pair[1], pair[0]
