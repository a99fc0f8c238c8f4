"""What one reading, or a writer between two changes, knows of the index.

The version of a document is fixed when the view first meets it, so that all of the view's answers
about a document are about one version.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection as Some
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dowse._model import ChunkKey, FileState, IndexedDocument, Link, StoredChunk
from dowse._model.ports import Analyzer
from dowse._store.remote.coding import decode, joined
from dowse._store.remote.documents import (
    Entry,
    FoundChunk,
    body_keys,
    entry_key,
    read_entry,
    read_file,
)
from dowse._store.remote.head import Head
from dowse._store.remote.rows import In, Row, RowCollection, Rows
from dowse._store.remote.schema import state
from dowse._store.remote.tokens import document_key

if TYPE_CHECKING:
    from dowse._store.remote.shared import SharedCounts

_AT_ONCE = 500  # rows that are asked for by key in one call
_DOUBTS = 4  # searches that are made again for one document
_PAUSE = 0.005  # seconds before the first of them; each waits longer


class View:
    """The documents of an index, as far as they were met."""

    def __init__(
        self, rows: Rows, name: str, head: Head, analyzer: Analyzer, shared: SharedCounts
    ) -> None:
        self.rows, self.name, self.head = rows, name, head
        self.analyzer, self.shared = analyzer, shared
        self._met: dict[str, Entry | None] = {}
        self._all: dict[str, Entry] | None = None
        self._found: dict[ChunkKey, StoredChunk] = {}
        self._doubts: Counter[str] = Counter()  # how often a search was made again for a document
        self._handed_out: set[str] = set()  # documents of which a chunk was found

    @property
    def is_new(self) -> bool:
        """Whether the index has never been started."""
        return not self.head.epoch

    @property
    def chunks(self) -> RowCollection:
        """The collection of the chunks."""
        return self.head.chunks(self.name)

    @property
    def records(self) -> RowCollection:
        """The collection of the records."""
        return self.shared.records

    @property
    def state(self) -> RowCollection:
        """The collection of the state."""
        return state(self.name)

    def kind(self, kind: str) -> In:
        """The records of a kind that belong to this epoch."""
        return In("kind", (f"{self.head.epoch}/{kind}",))

    def entries(self) -> dict[str, Entry]:
        """All entries, by the key of the document."""
        if self._all is None:
            rows = () if self.is_new else self.rows.scan(self.records, self.kind("entry"), ["data"])
            scanned = {entry.key: entry for entry in map(read_entry, rows)}
            met = {key: entry for key, entry in self._met.items() if entry is not None}
            gone = {key for key, entry in self._met.items() if entry is None}
            self._all = {k: e for k, e in (scanned | met).items() if k not in gone}
            self._met |= self._all
        return self._all

    def files(self) -> dict[str, FileState]:
        """What is known of every file, by document id; of most documents nothing else is read."""
        if self.is_new or self._all is not None:
            return {entry.id: entry.state for entry in self.entries().values()}
        met = dict(self._met)
        files = dict(map(read_file, self.rows.scan(self.records, self.kind("entry"), ["file"])))
        gone = {key for key, entry in met.items() if entry is None}
        files |= {entry.id: entry.state for entry in met.values() if entry is not None}
        return {id_: one for id_, one in files.items() if not gone or document_key(id_) not in gone}

    def entry(self, key: str) -> Entry | None:
        """The entry of a document by its key."""
        return self.entries_of([key]).get(key)

    def entries_of(self, keys: Some[str]) -> dict[str, Entry]:
        """The entries of some documents by their keys, as far as there are any."""
        if self.is_new:
            return {}
        if self._all is not None:
            return {key: self._all[key] for key in keys if key in self._all}
        unknown = [key for key in dict.fromkeys(keys) if key not in self._met]
        for start in range(0, len(unknown), _AT_ONCE):
            some = unknown[start : start + _AT_ONCE]
            asked = [entry_key(self.head.epoch, key) for key in some]
            found = self.rows.get(self.records, asked, ["data"])
            for key, name in zip(some, asked, strict=True):
                # Another thread of this reading may have met it first; its version counts.
                met = read_entry(found[name]) if name in found else None
                self._met.setdefault(key, met)
        known = {key: self._met.get(key) for key in keys}
        return {key: entry for key, entry in known.items() if entry is not None}

    def named(self, ids: Iterable[str]) -> dict[str, Entry]:
        """The entries of some documents by their keys, asked for by id."""
        return self.entries_of([document_key(one) for one in ids])

    def met(self, entries: Iterable[Entry]) -> list[Entry]:
        """These entries, each in the version that the view met first."""
        return [
            kept
            for entry in entries
            if (kept := self._met.setdefault(entry.key, entry)) is not None
        ]

    def body(self, entry: Entry) -> IndexedDocument | None:
        """A document, whole; None when its version was replaced since the view met it."""
        keys = body_keys(self.head.epoch, entry.key, entry.version, entry.parts)
        found = self.rows.get(self.records, keys, ["data"])
        if len(found) < len(keys):
            return None
        return decode(joined([found[key]["data"] for key in keys]), IndexedDocument)

    def links(self, entry: Entry) -> tuple[Link, ...]:
        """The links of a document as they are written."""
        if entry.links is not None:
            return entry.links
        body = self.body(entry)
        return body.chunked.document.links if body else ()

    def current(self, rows: Iterable[Row]) -> list[tuple[Row, Entry]]:
        """Those rows of chunks whose version counts, with the entry of their document."""
        found = list(rows)
        entries = self.entries_of({row["document"] for row in found})
        return [
            (row, entry)
            for row in found
            if (entry := entries.get(row["document"])) and entry.version == row["version"]
        ]

    def was_overtaken(self, rows: Iterable[Row]) -> bool:
        """Whether a document was replaced between a search and the look at its entry.

        Then all its hits are of a version that does not count, or its entry is just being written:
        Milvus Lite replaces a row by removing and adding it. The search must be made again with the
        version that counts then, unless some of the document was handed out already. A document is
        doubted a few times only: what a killed writer has left looks the same.
        """
        found = list(rows)
        current = {entry.key for _, entry in self.current(found)}
        stale = {row["document"] for row in found} - current
        again = {key for key in stale if self._doubts[key] < _DOUBTS}
        self._doubts.update(again)
        for key in again - self._handed_out:
            self._met.pop(key, None)
        if again:
            time.sleep(_PAUSE * max(self._doubts[key] for key in again))
        return bool(again)

    def stored(self, row: Row, entry: Entry, found: FoundChunk | None = None) -> StoredChunk:
        """The chunk of a row; it is remembered, since its row may be removed before it is shown."""
        found = found or decode(row["data"], FoundChunk)
        text = found.text
        if text is None:
            body = self.body(entry)
            whole = body.chunked.document.text if body else ""
            text = whole[found.chunk.start : found.chunk.end]
        stored = StoredChunk(row["key"], found.chunk, text, entry.listed)
        self._found[stored.key] = stored
        self._handed_out.add(entry.key)
        return stored

    def remembered(self, key: ChunkKey) -> StoredChunk | None:
        """A chunk that was found by this view before."""
        return self._found.get(key)
