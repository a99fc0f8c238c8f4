"""Looking at an index in an engine, and removing what interrupted writers have left."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator

from dowse._model import Finding
from dowse._store.remote.change import read_intents, words_of
from dowse._store.remote.documents import Entry, body_keys
from dowse._store.remote.rows import In, Key
from dowse._store.remote.shared import count_rows, read_counts, read_words
from dowse._store.remote.view import View

_REPAIR = "dowse doctor --repair"
_REBUILD = "dowse index --rebuild"
_EVERY = In("embedded", [0, 1])


def findings(view: View) -> list[Finding]:
    """What is not as it should be."""
    return [] if view.is_new else [*_unfinished(view), *_incomplete(view)]


def _unfinished(view: View) -> Iterator[Finding]:
    if read_intents(view.rows, view.state, ""):
        yield Finding("A writer was stopped in the middle of a batch, or is at work.", _REPAIR)


def _incomplete(view: View) -> Iterator[Finding]:
    wanted = dict(_wanted(view))
    found = {
        (row["document"], row["version"], row["key"])
        for row in view.rows.scan(view.chunks, _EVERY, ("key", "document", "version"))
    }
    present = {key for _, _, key in found}
    lost = [entry for entry, keys in wanted.items() if not set(keys) <= present]
    if lost:
        yield Finding(f"{len(lost)} documents miss chunks, such as {lost[0]}.", _REBUILD)
    orphans = len(present - {key for keys in wanted.values() for key in keys})
    if orphans:
        yield Finding(f"There are {orphans} chunks that belong to no document.", _REPAIR)
    bodies = {row["key"] for row in view.rows.scan(view.records, view.kind("body"), ["kind"])}
    known = {key for entry in view.entries().values() for key in _bodies(view, entry)}
    if known - bodies:
        yield Finding(f"{len(known - bodies)} parts of documents are missing.", _REBUILD)
    if bodies - known:
        yield Finding(f"There are {len(bodies - known)} parts of no document.", _REPAIR)


def _wanted(view: View) -> Iterator[tuple[str, list[int]]]:
    for entry in view.entries().values():
        yield entry.id, entry.chunk_keys(view.head.epoch)


def _bodies(view: View, entry: Entry) -> list[str]:
    return body_keys(view.head.epoch, entry.key, entry.version, entry.parts)


def sweep(view: View) -> None:
    """Removes chunks and bodies of versions that do not count, and counts words again."""
    if view.is_new:
        return
    known = {key for entry in view.entries().values() for key in entry.chunk_keys(view.head.epoch)}
    rows = view.rows.scan(view.chunks, _EVERY, ["key"])
    _remove(view, "chunks", [row["key"] for row in rows if row["key"] not in known])
    bodies = {key for entry in view.entries().values() for key in _bodies(view, entry)}
    parts = view.rows.scan(view.records, view.kind("body"), ["kind"])
    _remove(view, "records", [row["key"] for row in parts if row["key"] not in bodies])
    _count_again(view)


def _remove(view: View, which: str, keys: list[Key]) -> None:
    collection = view.chunks if which == "chunks" else view.records
    for start in range(0, len(keys), 1000):
        view.rows.remove(collection, keys[start : start + 1000])


def _count_again(view: View) -> None:
    words: Counter[str] = Counter()
    for entry in view.entries().values():
        body = view.body(entry)
        words.update(words_of(body, view.analyzer) if body else ())
    epoch = view.head.epoch
    if words == read_words(view.rows, view.records, epoch):
        return
    merged = list(read_counts(view.rows, view.records, epoch))
    name = f"{epoch}/words/{uuid.uuid4().hex}"
    view.rows.put(view.records, count_rows(name, epoch, words, merged))
