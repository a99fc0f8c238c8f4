"""What is done after documents have changed: merging counts, weighing terms, removing rests."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from dowse._model import text_key
from dowse._store.remote.change import zero_vector
from dowse._store.remote.documents import DocumentRows, Entry
from dowse._store.remote.head import epoch_row
from dowse._store.remote.rows import In, Row
from dowse._store.remote.shared import count_rows, read_counts
from dowse._store.remote.texts import KIND, read_vectors, vector_keys
from dowse._store.remote.view import View
from dowse._store.remote.weights import Averages, averages_of

# Shares by which the average lengths may move before all weights are made again. They change the
# weights of all chunks alike, so that a small difference hardly changes their order. How much code
# there is differs more from folder to folder, and fewer searches ask for it.
_DRIFTS = Averages(0.2, 0.5)
_EXACT = 1e-9
_MERGED = 8  # counts of words that may lie next to each other


def merge_counts(view: View, part: str) -> None:
    """Adds up the counts of words that many batches have left; only the writer of all may."""
    if part or view.is_new:
        return
    epoch = view.head.epoch
    counts = read_counts(view.rows, view.records, epoch)
    if len(counts) <= _MERGED:
        return
    words: Counter[str] = Counter()
    for count in counts.values():
        words.update(count["words"])
    name = f"{epoch}/words/{uuid.uuid4().hex}"
    kept = {word: often for word, often in words.items() if often}
    view.rows.put(view.records, count_rows(name, epoch, kept, list(counts)))
    merged = set(counts)
    old = [
        row["key"]
        for row in view.rows.scan(view.records, view.kind("words"), ["kind"])
        if row["key"].rpartition("/")[0] in merged
    ]
    view.rows.remove(view.records, old)


def unused_vectors(view: View, words: Sequence[str]) -> None:
    """Forgets vectors of texts that nothing has any more, once they outnumber the used ones."""
    if view.is_new:
        return
    kept = view.rows.count(view.records, In("kind", [KIND]))
    if kept <= 2 * (sum(entry.chunks for entry in view.entries().values()) + len(words)):
        return
    texts = {row["text_key"] for row in view.rows.scan(view.chunks, _EMBEDDED, ["text_key"])}
    used = {bytes.fromhex(one) for one in texts} | {text_key(word) for word in words}
    names = set(vector_keys(view.head.model[0], sorted(used)))
    rows = view.rows.scan(view.records, In("kind", [KIND]), ["kind"])
    idle = [row["key"] for row in rows if row["key"] not in names]
    for start in range(0, len(idle), 1000):
        view.rows.remove(view.records, idle[start : start + 1000])


_EMBEDDED = In("embedded", [0, 1])


def reweigh(view: View, put: Callable[[Row], None], *, thorough: bool) -> None:
    """Makes the weights of terms again that were not made with the averages that hold now.

    `put` changes the state of the index. Each document says what it was weighed with, so that a
    run that was killed goes on where it was, and writers that began at the same time agree.
    """
    head, entries = view.head, list(view.entries().values())
    averages = averages_of(entry.lengths for entry in entries)
    if not averages.body:
        return
    drifts = Averages(_EXACT, _EXACT) if thorough else _DRIFTS
    if any(map(_has_moved, head.averages, averages, drifts)):
        put(epoch_row(head.number, head.epoch, head.stamp, averages))
    else:
        averages = head.averages
    for entry in entries:
        if entry.weighed != averages:
            _weigh(view, entry, averages)


def _weigh(view: View, entry: Entry, averages: Averages) -> None:
    head, body = view.head, view.body(entry)
    if body is None:
        return
    made = DocumentRows(body, entry, head.epoch, view.analyzer)
    known = read_vectors(view.rows, view.records, head.model[0], made.text_keys())
    fresh = made.chunk_rows(averages, known, zero_vector(view.chunks))
    for row, key in zip(fresh, entry.chunk_keys(head.epoch), strict=True):
        row |= {"key": key, "version": entry.version}
    view.rows.put(view.chunks, fresh)
    weighed = msgspec.structs.replace(entry, weighed=averages)
    view.rows.put(view.records, [weighed.row(head.epoch, body.chunked.document.links)])


def _has_moved(before: float, now: float, share: float) -> bool:
    return abs(now - before) > share * before
