"""The documents and their chunks, read from an engine."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Sequence
from typing import get_args

import numpy as np

from dowse._model import (
    ChunkKey,
    Counts,
    DocumentEntry,
    FileState,
    Keys,
    Name,
    NameKind,
    Sizes,
    Stamp,
    StoredChunk,
    StoredDocument,
    short_id,
)
from dowse._store.remote.coding import decode
from dowse._store.remote.documents import Entry, FoundChunk, read_entry
from dowse._store.remote.links import all_edges
from dowse._store.remote.rows import AllOf, AnyOf, Between, HasAny, In
from dowse._store.remote.schema import CHUNK_SCALARS
from dowse._store.remote.tokens import OVERFLOW, id_number, token
from dowse._store.remote.view import View
from dowse._text.fold import fold_name

_KINDS = get_args(NameKind)
_AT_ONCE = 500  # chunks that are asked for in one call


class RemoteCatalogue:
    """The documents and their chunks."""

    def __init__(self, of: Viewing) -> None:
        self._of = of

    @property
    def generation(self) -> int:
        """How many batches the index has taken."""
        return self._of.view.head.generation

    def stamp(self) -> Stamp | None:
        """What the index was built with; None while it is new."""
        return copy.deepcopy(self._of.view.head.stamp)

    def roots(self) -> list[str]:
        """The folders that the index was made of, as far as it knows."""
        return list(self._of.view.head.roots)

    def counts(self) -> Counts:
        """How much the index holds."""
        view = self._of.view
        if view.is_new:
            return Counts(0, 0, 0, 0, 0, 0, 0, 0, 0)
        entries, edges = list(view.entries().values()), all_edges(view)
        words = view.shared.words(view.rows, view.head.epoch, view.head.generation)
        return Counts(
            documents=len(entries),
            sections=sum(entry.sections for entry in entries),
            chunks=sum(entry.chunks for entry in entries),
            code_blocks=sum(entry.code_blocks for entry in entries),
            links=len(edges),
            dangling=sum(edge.target is None for edge in edges),
            embedded=view.rows.count(view.chunks, In("embedded", [1])),
            terms=len(words),
            communities=len({entry.community for entry in entries} - {-1}),
        )

    def sizes(self) -> Sizes:
        """How much the index holds, in numbers that the engine counts."""
        view = self._of.view
        return Sizes(0, 0, 0) if view.is_new else view.shared.sizes(view)

    def has_more_than(self, documents: int) -> bool:
        """Whether there are more documents than so many."""
        return self.sizes().documents > documents

    def files(self, beginnings: Sequence[str] = ("",)) -> dict[str, FileState]:
        """What is known of the files whose document ids begin in one of these ways, by id."""
        begin = tuple(beginnings)
        return {id_: one for id_, one in self._of.view.files().items() if id_.startswith(begin)}

    def documents(self) -> list[DocumentEntry]:
        """All documents, by id."""
        entries = self._of.view.entries().values()
        return sorted((entry.listed for entry in entries), key=lambda entry: entry.id)

    def document(self, document_id: str) -> StoredDocument | None:
        """One document, whole."""
        view = self._of.view
        for entry in view.named([document_id]).values():
            body = view.body(entry)
            if body is not None:
                chunked, document = body.chunked, body.chunked.document
                return StoredDocument(
                    entry.listed, document.text, document.body, chunked.sections, chunked.chunks
                )
        return None

    def find(self, short: str) -> list[tuple[str, int, int]]:
        """What an abbreviated id can mean: document id, first and last line."""
        start, end = id_number(short)
        if start == end or self._of.view.is_new:
            return []
        return sorted({*self._whole(short, start, end), *self._parts(short, start, end)})

    def _whole(self, short: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
        view = self._of.view
        where = AllOf([view.kind("entry"), Between("number", start, end)])
        for entry in map(read_entry, view.rows.scan(view.records, where, ["data"])):
            stored = self.document(entry.id) if short_id(entry.id).startswith(short) else None
            if stored:
                yield entry.id, 1, stored.text.count("\n") + 1

    def _parts(self, short: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
        view = self._of.view
        where = AnyOf([Between("number", start, end), Between("section", start, end)])
        rows = view.rows.scan(view.chunks, where, CHUNK_SCALARS)
        sections: dict[str, Entry] = {}
        for row, entry in view.current(rows):
            chunk = decode(row["data"], FoundChunk).chunk
            if chunk.id.startswith(short):
                yield entry.id, chunk.first_line, chunk.last_line
            if chunk.section.startswith(short):
                sections[chunk.section] = entry
        for section_id, entry in sections.items():
            stored = self.document(entry.id)
            for section in stored.sections if stored else ():
                if section.id == section_id:
                    yield entry.id, section.first_line, section.last_line

    def chunks(self, keys: Sequence[ChunkKey]) -> list[StoredChunk]:
        """Chunks by key, in the order asked for; unknown keys are passed over."""
        view = self._of.view
        wanted = list(dict.fromkeys(int(key) for key in keys))
        unknown = [key for key in wanted if view.remembered(key) is None]
        for start in range(0, 0 if view.is_new else len(unknown), _AT_ONCE):
            some = [key for key in unknown[start : start + _AT_ONCE] if key > 0]
            rows = view.rows.get(view.chunks, some, CHUNK_SCALARS)
            for row, entry in view.current(rows.values()):
                view.stored(row, entry)
        found = (view.remembered(int(key)) for key in keys)
        return [one for one in found if one is not None]

    def named(self, name: str, limit: int) -> list[tuple[ChunkKey, Name]]:
        """The chunks that are called so, titles first, then aliases, then headings; by key."""
        view, wanted = self._of.view, fold_name(name)
        if view.is_new or not wanted:
            return []
        where = HasAny([token("called", wanted), OVERFLOW])
        found = []
        for row, entry in view.current(view.rows.scan(view.chunks, where, CHUNK_SCALARS)):
            decoded = decode(row["data"], FoundChunk)
            view.stored(row, entry, decoded)
            found += [(row["key"], one) for folded, one in decoded.names if folded == wanted]
        found.sort(key=lambda pair: (_KINDS.index(pair[1].kind), pair[0], pair[1].start))
        return found[: max(0, limit)]

    def keys_of(self, document_ids: Collection[str]) -> Keys:
        """The chunks of these documents."""
        view = self._of.view
        found = view.named(document_ids).values()
        keys = [key for entry in found for key in entry.chunk_keys(view.head.epoch)]
        return np.array(sorted(keys), np.int64)


class Viewing:
    """Holds the view that is asked; a writer puts another one in it with every change."""

    def __init__(self, view: View) -> None:
        self.view = view
