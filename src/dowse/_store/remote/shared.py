"""What a store keeps between readings: counts that are costly to ask for, and no documents."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dowse._model import Sizes
from dowse._store.remote.coding import decode_any, encode, joined, parts_of
from dowse._store.remote.documents import record
from dowse._store.remote.rows import HasAny, In, Row, RowCollection, Rows
from dowse._store.remote.tokens import OVERFLOW, token

if TYPE_CHECKING:
    from dowse._store.remote.view import View

_CHUNKS, _EMBEDDED = In("embedded", (0, 1)), In("embedded", (1,))

AGE = 5.0
"""Seconds for which counts of terms may be older than the newest batch of another process."""


class SharedCounts:
    """Counts of chunks, terms and words, shared by all readings of a store; safe from threads."""

    def __init__(self, records: RowCollection, clock: Callable[[], float] = time.monotonic) -> None:
        self.records = records
        self._clock = clock
        self._lock = threading.RLock()
        self._of: tuple[str, int] = ("", -1)
        self._since = 0.0
        self._counts: dict[HasAny | In, int] = {}  # by the condition of the rows
        self._words: tuple[tuple[str, int], Counter[str]] | None = None

    def forget(self) -> None:
        """Forgets all counts: this process has changed the index."""
        with self._lock:
            self._of, self._counts, self._words = ("", -1), {}, None

    def size(self, view: View) -> int:
        """How many chunks there are."""
        return self._count(view, view.chunks, _CHUNKS)

    def sizes(self, view: View) -> Sizes:
        """How many documents, chunks and chunks with a vector there are."""
        documents = self._count(view, view.records, view.kind("entry"))
        return Sizes(documents, self.size(view), self._count(view, view.chunks, _EMBEDDED))

    def frequencies(self, view: View, field: str, terms: Sequence[str]) -> dict[str, int]:
        """In how many chunks each term occurs."""
        tokens = {term: token(field, term) for term in terms}
        return {
            term: self._count(view, view.chunks, HasAny((one, OVERFLOW)))
            for term, one in tokens.items()
        }

    def _count(self, view: View, collection: RowCollection, where: HasAny | In) -> int:
        with self._lock:
            self._renew(view.chunks.name, view.head.generation)
            known = self._counts.get(where)
        if known is not None:
            return known
        found = view.rows.count(collection, where)
        with self._lock:
            self._counts[where] = found
        return found

    def _renew(self, chunks: str, generation: int) -> None:
        same = self._of == (chunks, generation)
        if not same and (self._of[0] != chunks or self._clock() - self._since >= AGE):
            self._of, self._counts, self._since = (chunks, generation), {}, self._clock()

    def words(self, rows: Rows, epoch: str, generation: int) -> Counter[str]:
        """The words of all documents, with how often they occur."""
        with self._lock:
            if self._words is None or self._words[0] != (epoch, generation):
                self._words = (epoch, generation), read_words(rows, self.records, epoch)
            return self._words[1]


def read_words(rows: Rows, records: RowCollection, epoch: str) -> Counter[str]:
    """The words of all documents, from the counts that each batch has left.

    Counts that were added up name those that they are made of, so that a crash between adding up
    and removing the single ones counts nothing twice.
    """
    words: Counter[str] = Counter()
    for count in read_counts(rows, records, epoch).values():
        words.update(count["words"])
    return Counter({word: often for word, often in words.items() if often > 0})


def read_counts(rows: Rows, records: RowCollection, epoch: str) -> dict[str, dict[str, Any]]:
    """The counts that are not part of others, by name; half written ones are left out."""
    parts: dict[str, dict[int, str]] = {}
    totals: dict[str, int] = {}
    where = In("kind", [f"{epoch}/words"])
    for row in rows.scan(records, where, ["data", "number", "document"]):
        name = row["key"].rpartition("/")[0]
        parts.setdefault(name, {})[row["number"]] = row["data"]
        totals[name] = int(row["document"])
    counts = {
        name: decode_any(joined([some[place] for place in sorted(some)]))
        for name, some in parts.items()
        if len(some) == totals[name]
    }
    merged = {one for count in counts.values() for one in count["merged"]}
    return {name: count for name, count in counts.items() if name not in merged}


def count_rows(name: str, epoch: str, words: Mapping[str, int], merged: Sequence[str]) -> list[Row]:
    """Counts of words as rows; `merged` names those that they are the sum of."""
    parts = parts_of(encode({"words": dict(words), "merged": list(merged)}))
    rows = []
    for place, data in enumerate(parts):
        row = record(f"{name}/{place}", f"{epoch}/words", data, document=str(len(parts)))
        rows.append(row | {"number": place})
    return rows
