"""What a store keeps between readings: counts that are costly to ask for, and no documents."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dowse.store.remote.coding import decode_any, encode, joined, parts_of
from dowse.store.remote.documents import record
from dowse.store.remote.rows import HasAny, In, Row, RowCollection, Rows
from dowse.store.remote.tokens import OVERFLOW, token

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
        self._counts: dict[int, int] = {}
        self._words: tuple[tuple[str, int], Counter[str]] | None = None

    def forget(self) -> None:
        """Forgets all counts: this process has changed the index."""
        with self._lock:
            self._of, self._counts, self._words = ("", -1), {}, None

    def size(self, rows: Rows, chunks: RowCollection, generation: int) -> int:
        """How many chunks there are."""
        return self._count(rows, chunks, generation, 0)

    def frequencies(
        self, rows: Rows, chunks: RowCollection, generation: int, field: str, terms: Sequence[str]
    ) -> dict[str, int]:
        """In how many chunks each term occurs."""
        return {term: self._count(rows, chunks, generation, token(field, term)) for term in terms}

    def _count(self, rows: Rows, chunks: RowCollection, generation: int, what: int) -> int:
        with self._lock:
            self._renew(chunks.name, generation)
            known = self._counts.get(what)
        if known is not None:
            return known
        where = HasAny([what, OVERFLOW]) if what else In("embedded", [0, 1])
        found = rows.count(chunks, where)
        with self._lock:
            self._counts[what] = found
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
