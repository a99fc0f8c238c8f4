"""How documents are replaced: new version, then the entry, then the old version is removed.

A note of what is under way is written before and removed after. After a crash at any moment the
next writer finds it: a document whose entry was changed is finished, the others are as before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection as Some
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np

from dowse._model import ChunkKey, FileState, IndexedDocument, Vector
from dowse._model.ports import Analyzer
from dowse._store.remote.coding import decode, encode, joined, parts_of
from dowse._store.remote.documents import (
    DocumentRows,
    Entry,
    body_keys,
    entry_key,
    record,
    settled_state,
)
from dowse._store.remote.rows import In, Key, Row, RowCollection, Rows
from dowse._store.remote.shared import count_rows
from dowse._store.remote.tokens import chunk_key
from dowse._store.remote.view import View
from dowse._store.remote.weights import Averages

KIND = "intent"
_AT_ONCE = 200  # rows of chunks that are written in one call
_FEW = 1000  # keys that are removed in one call


class DocumentStep(msgspec.Struct, frozen=True):
    """What happens to one document."""

    id: str
    document: str  # key
    old: int  # version; 0 when there is none
    old_chunks: int
    old_parts: int
    new: int  # 0 when the document goes
    new_chunks: int
    new_parts: int

    @property
    def versions(self) -> list[tuple[int, int, int]]:
        """The versions that it is about, each with its chunks and the parts of its body."""
        both = (
            (self.old, self.old_chunks, self.old_parts),
            (self.new, self.new_chunks, self.new_parts),
        )
        return [one for one in both if one[0]]


class Intent(msgspec.Struct, frozen=True):
    """A batch under way."""

    name: str  # of the counts of words that it leaves
    epoch: str
    steps: tuple[DocumentStep, ...]


def zero_vector(chunks: RowCollection) -> Vector:
    """What stands for the vector of a chunk that has none."""
    return np.zeros(chunks.dimensions, np.float32)


class BatchWriter:
    """One batch, for the writer of one part."""

    def __init__(self, view: View, part: str, name: str) -> None:
        self._view = view
        self._rows = view.rows
        self._records = view.records
        self._part = part
        self._name = f"{view.head.epoch}/words/{name}"

    def replace(
        self,
        put: Sequence[DocumentRows],
        gone: Sequence[Entry],
        averages: Averages,
        vectors: Mapping[bytes, Vector],
    ) -> None:
        """Puts documents and removes others."""
        steps = [*map(_step_of, put), *map(_removal_of, gone)]
        if not steps:
            return
        intent = Intent(self._name, self._view.head.epoch, tuple(steps))
        key = write_intent(self._rows, self._view.state, self._part, intent)
        self._write(put, averages, vectors)
        self._rows.put(self._records, [one.entry_row(averages) for one in put])
        flipped = [entry_key(intent.epoch, entry.key) for entry in gone]
        _remove(self._rows, self._records, flipped)
        # What was written is not read again: an engine may show a row a moment after it took it.
        entries = {one.entry.key: one.entry for one in put}
        known = {one.entry.id: one.indexed for one in put}
        self._rows.put(self._records, _counts(self._view, intent, entries, known))
        _remove_other_versions(self._view, intent, entries)
        clear_intent(self._rows, self._view.state, key)

    def _write(
        self, put: Sequence[DocumentRows], averages: Averages, vectors: Mapping[bytes, Vector]
    ) -> None:
        chunks, bodies = self._view.chunks, [row for one in put for row in one.body_rows()]
        _put(self._rows, self._records, bodies)
        zero = zero_vector(chunks)
        rows: list[Row] = []
        for one in put:
            rows += one.chunk_rows(averages, vectors, zero)
            if len(rows) >= _AT_ONCE:
                _put(self._rows, chunks, rows)
                rows = []
        _put(self._rows, chunks, rows)

    def touch(self, touched: Iterable[tuple[str, FileState]]) -> None:
        """Notes new times of files; their chunks are dated again where that changes anything."""
        view = self._view
        for document_id, state in touched:
            for entry in view.named([document_id]).values():
                new = msgspec.structs.replace(entry, state=settled_state(state))
                if new.listed.modified != entry.listed.modified:
                    keys = entry.chunk_keys(view.head.epoch)
                    rewrite(view, keys, {"modified": new.listed.modified})
                self._rows.put(self._records, [new.row(view.head.epoch, view.links(entry))])


def rewrite(view: View, keys: Sequence[ChunkKey], fields: Row) -> None:
    """Changes some fields of chunks."""
    every = list(view.chunks.fields)
    for start in range(0, len(keys), _AT_ONCE):
        rows = view.rows.get(view.chunks, keys[start : start + _AT_ONCE], every)
        _put(view.rows, view.chunks, [row | fields for row in rows.values()])


def spread_vectors(view: View, vectors: Mapping[bytes, Vector], *, waiting: bool) -> None:
    """Gives chunks their vectors by text key: all that have such a text, or those `waiting`."""
    by_text = {key.hex(): vector for key, vector in vectors.items()}
    names, every = list(by_text), list(view.chunks.fields)
    for start in range(0, len(names), _AT_ONCE):
        wanted = In("text_key", names[start : start + _AT_ONCE])
        found = view.rows.scan(view.chunks, wanted, ("key", "text_key", "embedded"))
        keys = [row["key"] for row in found if not (waiting and row["embedded"])]
        for first in range(0, len(keys), _AT_ONCE):
            rows = view.rows.get(view.chunks, keys[first : first + _AT_ONCE], every)
            changed = [
                row | {"dense": by_text[row["text_key"]], "embedded": 1} for row in rows.values()
            ]
            _put(view.rows, view.chunks, changed)


def write_intent(rows: Rows, state: RowCollection, part: str, intent: Intent) -> str:
    """Notes a batch that is about to be written; returns the name of the note."""
    key = f"intent/{part or 'whole'}/{intent.name}"
    parts = parts_of(encode(intent))
    # The first part is written last: a note without it was never begun.
    for place in reversed(range(len(parts))):
        total = str(len(parts))
        row = record(f"{key}/{place}", KIND, parts[place], document=total) | {"number": place}
        rows.put(state, [row])
    return key


def clear_intent(rows: Rows, state: RowCollection, key: str) -> None:
    """Removes the note of a batch, its first part first."""
    total = rows.get(state, [f"{key}/0"], ["document"])
    count = int(total[f"{key}/0"]["document"]) if total else 1
    for place in range(count):
        rows.remove(state, [f"{key}/{place}"])


def read_intents(rows: Rows, state: RowCollection, part: str) -> dict[str, Intent | None]:
    """The batches that were never finished, by name; None for one that was never begun.

    The writer of a part sees its own, the writer of the whole index sees all.
    """
    parts: dict[str, dict[int, Row]] = {}
    prefix = f"intent/{part}/" if part else "intent/"
    for row in rows.scan(state, In("kind", [KIND]), ["data", "number", "document"]):
        if row["key"].startswith(prefix):
            parts.setdefault(row["key"].rpartition("/")[0], {})[row["number"]] = row
    found: dict[str, Intent | None] = {}
    for name, some in parts.items():
        whole = 0 in some and len(some) == int(some[0]["document"])
        text = joined([some[place]["data"] for place in sorted(some)])
        found[name] = decode(text, Intent) if whole else None
        if not whole:
            rows.remove(state, [row["key"] for row in some.values()])
    return found


def recover(view: View, intent: Intent) -> None:
    """Does what is left of a batch whose writer was killed; doing it twice is doing it once."""
    # The entries as they are now, whatever the view met before.
    now = View(view.rows, view.name, view.head, view.analyzer, view.shared)
    entries = now.entries_of([step.document for step in intent.steps])
    lost = [one for one in intent.steps if one.old and one.new and one.document not in entries]
    entries |= _restore(view, intent.epoch, lost)
    if not _is_counted(view, intent):
        view.rows.put(view.records, _counts(view, intent, entries, {}))
    _remove_other_versions(view, intent, entries)


def _restore(view: View, epoch: str, lost: Sequence[DocumentStep]) -> dict[str, Entry]:
    """Writes the entries of documents that have none, although they were only to be replaced.

    Milvus Lite replaces a row by removing and adding it, and can be killed in between. An entry is
    replaced after all rows of the new version were written.
    """
    bodies = _bodies(view, epoch, lost, skipped=())
    entries, rows = {}, []
    for step in lost:
        version = step.new if (step.document, step.new) in bodies else step.old
        if (body := bodies.get((step.document, version))) is None:
            continue
        made = DocumentRows(body, None, epoch, view.analyzer).entry
        entry = msgspec.structs.replace(made, version=version, weighed=view.head.averages)
        entries[entry.key] = entry
        rows.append(entry.row(epoch, body.chunked.document.links))
    _put(view.rows, view.records, rows)
    return entries


def _remove_other_versions(view: View, intent: Intent, entries: Mapping[str, Entry]) -> None:
    """Removes the versions that no entry names; `entries` are those after the change."""
    keys: list[ChunkKey] = []
    bodies: list[str] = []
    for step in intent.steps:
        entry = entries.get(step.document)
        for version, chunks, parts in step.versions:
            if entry is None or entry.version != version:
                places = range(chunks)
                keys += [chunk_key(intent.epoch, step.document, version, at) for at in places]
                bodies += body_keys(intent.epoch, step.document, version, parts)
    _remove(view.rows, view.chunks, keys)
    _remove(view.rows, view.records, bodies)


def _is_counted(view: View, intent: Intent) -> bool:
    """Whether the batch has left its counts of words; afterwards old bodies may be gone."""
    first = view.rows.get(view.records, [f"{intent.name}/0"], ["document"])
    total = int(first[f"{intent.name}/0"]["document"]) if first else 0
    keys = [f"{intent.name}/{place}" for place in range(total)]
    return bool(keys) and len(view.rows.get(view.records, keys, ["kind"])) == total


def _counts(
    view: View, intent: Intent, entries: Mapping[str, Entry], known: Mapping[str, IndexedDocument]
) -> list[Row]:
    """How the batch changes the counts of words."""
    done = [
        step
        for step in intent.steps
        if (found.version if (found := entries.get(step.document)) else 0) == step.new
    ]
    read = _bodies(view, intent.epoch, done, skipped=known.keys())
    words: Counter[str] = Counter()
    for step in done:
        after = known.get(step.id) or read.get((step.document, step.new))
        before = read.get((step.document, step.old))
        words.update(words_of(after, view.analyzer) if after and step.new else ())
        words.subtract(words_of(before, view.analyzer) if before else ())
    changed = {word: count for word, count in words.items() if count}
    return count_rows(intent.name, intent.epoch, changed, ())


def _bodies(
    view: View, epoch: str, steps: Sequence[DocumentStep], skipped: Some[str]
) -> dict[tuple[str, int], IndexedDocument]:
    """The versions of some documents that are still there; no new ones of those skipped."""
    wanted = {
        (step.document, version): body_keys(epoch, step.document, version, parts)
        for step in steps
        for version, _, parts in step.versions
        if not (version == step.new and step.id in skipped)
    }
    keys = [key for some in wanted.values() for key in some]
    found: dict[Key, Row] = {}
    for start in range(0, len(keys), _AT_ONCE):
        found |= view.rows.get(view.records, keys[start : start + _AT_ONCE], ["data"])
    return {
        name: decode(joined([found[key]["data"] for key in some]), IndexedDocument)
        for name, some in wanted.items()
        if all(key in found for key in some)
    }


def words_of(indexed: IndexedDocument, analyzer: Analyzer) -> Counter[str]:
    """The words of a document, with how often they occur."""
    document = indexed.chunked.document
    return analyzer.vocabulary(document.text[document.body :])


def _step_of(rows: DocumentRows) -> DocumentStep:
    old, new = rows.old, rows.entry
    kept = old if old and old.version != new.version else None
    return DocumentStep(
        new.id,
        new.key,
        kept.version if kept else 0,
        kept.chunks if kept else 0,
        kept.parts if kept else 0,
        new.version,
        new.chunks,
        new.parts,
    )


def _removal_of(entry: Entry) -> DocumentStep:
    return DocumentStep(entry.id, entry.key, entry.version, entry.chunks, entry.parts, 0, 0, 0)


def _put(rows: Rows, collection: RowCollection, some: Sequence[Row]) -> None:
    for start in range(0, len(some), _AT_ONCE):
        rows.put(collection, some[start : start + _AT_ONCE])


def _remove(rows: Rows, collection: RowCollection, keys: Sequence[str] | Sequence[int]) -> None:
    for start in range(0, len(keys), _FEW):
        rows.remove(collection, keys[start : start + _FEW])
