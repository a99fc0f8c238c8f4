"""The documents and their chunks, as one generation of the truth has them."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from dowse._model import (
    Chunk,
    ChunkKey,
    Counts,
    DocumentEntry,
    FileState,
    Keys,
    Name,
    Sizes,
    Stamp,
    StoredChunk,
    StoredDocument,
)
from dowse._store.embedded.failures import truth_damaged
from dowse._store.embedded.sqlite import records
from dowse._store.embedded.sqlite.facets import SECRETS
from dowse._store.embedded.sqlite.records import (
    CHUNK,
    ENTRY,
    SECTION,
    ChunkRow,
    EntryRow,
    FileRow,
    KeyedChunkRow,
    Moment,
    NamedRow,
    SectionRow,
)
from dowse._store.embedded.sqlite.roots import ROOTS, decoded
from dowse._store.embedded.sqlite.statements import Statements
from dowse._text.fold import fold_name

_LAST = "CAST(x'ff' AS TEXT)"  # comes after every character
_TextRow = tuple[int, str, str, str, str, Moment, int, int, int]
"""The key of a document, its text, and what the index lists of it."""


class SqliteCatalogue:
    """The documents and their chunks."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql

    @property
    def generation(self) -> int:
        """How many batches the index has taken."""
        return self._sql.generation()

    def stamp(self) -> Stamp | None:
        """What the index was built with; None while it is new."""
        return self._sql.stamp()

    def roots(self) -> list[str]:
        """The folders that the index was made of, as far as it knows."""
        return decoded(self._sql.meta(ROOTS))

    def counts(self) -> Counts:
        """How much the index holds."""
        counts = self._sql.rows(
            tuple[int, int, int, int, int, int, int, int, int, int],
            "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM sections),"
            " (SELECT count(*) FROM chunks), (SELECT count(*) FROM code_blocks),"
            " (SELECT count(*) FROM edges), (SELECT count(*) FROM edges WHERE leads IS NULL),"
            " (SELECT count(*) FROM chunks c JOIN embeddings e USING (text_key) WHERE e.model = ?),"
            " (SELECT count(*) FROM terms), (SELECT count(DISTINCT community) FROM communities),"
            " (SELECT coalesce(sum(CAST(value AS INTEGER)), 0) FROM facets WHERE kind = ?)",
            self._sql.model()[0],
            SECRETS,
        )
        return Counts(*counts[0])

    def sizes(self) -> Sizes:
        """How much the index holds, in a few numbers."""
        counts = self._sql.rows(
            tuple[int, int, int],
            "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM chunks),"
            " (SELECT count(*) FROM chunks c JOIN embeddings e USING (text_key) WHERE e.model = ?)",
            self._sql.model()[0],
        )
        return Sizes(*counts[0])

    def has_more_than(self, documents: int) -> bool:
        """Whether there are more documents than so many."""
        query = "SELECT 1 FROM documents LIMIT 1 OFFSET ?"
        return self._sql.row(tuple[int], query, documents) is not None

    def files(self, beginnings: Sequence[str] = ("",)) -> dict[str, FileState]:
        """What is known of the files whose document ids begin in one of these ways, by id."""
        every = "SELECT d.id, size, mtime_ns, digest, settled FROM documents d"
        some = f"{every} JOIN json_each(?) ON d.id >= value AND d.id < value || {_LAST}"
        query, values = (every, ()) if "" in beginnings else (some, (json.dumps([*beginnings]),))
        return dict(self._sql.made(records.file, FileRow, query, *values, hold=1000))

    def documents(self) -> list[DocumentEntry]:
        """All documents, by id."""
        query = f"SELECT {ENTRY} FROM documents d ORDER BY id"
        return self._sql.made(records.entry, EntryRow, query)

    def document(self, document_id: str) -> StoredDocument | None:
        """One document, whole."""
        row = self._sql.row(
            tuple[int, int, str], "SELECT key, body, text FROM documents WHERE id = ?", document_id
        )
        if row is None:
            return None
        key, body, text = row
        columns = f"SELECT {ENTRY} FROM documents d WHERE key = ?"
        sections = f"SELECT {SECTION} FROM sections WHERE document = ? ORDER BY key"
        chunks = f"SELECT {CHUNK} FROM chunks c WHERE document = ? ORDER BY key"
        found = StoredDocument(
            self._sql.made(records.entry, EntryRow, columns, key)[0],
            text,
            body,
            tuple(self._sql.made(records.section, SectionRow, sections, key)),
            tuple(self._sql.made(records.chunk, ChunkRow, chunks, key)),
        )
        if {chunk.section for chunk in found.chunks} - {one.id for one in found.sections}:
            raise truth_damaged(f"{document_id} has chunks outside any section.")
        return found

    def find(self, short: str) -> list[tuple[str, int, int]]:
        """What an abbreviated id can mean: document id, first and last line."""
        ends = (short, short + "g")  # after every hex digit
        whole = self._sql.rows(
            tuple[str, str],
            "SELECT id, text FROM documents WHERE short >= ? AND short < ?",
            *ends,
        )
        parts = self._sql.rows(
            tuple[str, int, int],
            "SELECT d.id, p.first_line, p.last_line FROM"
            " (SELECT document, first_line, last_line FROM sections WHERE id >= ? AND id < ?"
            " UNION SELECT document, first_line, last_line FROM chunks WHERE id >= ? AND id < ?) p"
            " JOIN documents d ON d.key = p.document",
            *ends,
            *ends,
        )
        return sorted({*((id_, 1, text.count("\n") + 1) for id_, text in whole), *parts})

    def chunks(self, keys: Sequence[ChunkKey]) -> list[StoredChunk]:
        """Chunks by key, in the order asked for; unknown keys are passed over."""
        wanted: dict[int, list[tuple[ChunkKey, Chunk]]] = {}
        for key, document, chunk in self._sql.made(
            records.keyed_chunk,
            KeyedChunkRow,
            f"SELECT c.key, c.document, {CHUNK} FROM chunks c"
            " WHERE c.key IN (SELECT value FROM json_each(?))",
            json.dumps([int(key) for key in keys]),
        ):
            wanted.setdefault(document, []).append((key, chunk))

        def cut(row: _TextRow) -> list[StoredChunk]:
            document, text, entry = row[0], row[1], records.entry(row[2:])
            return [
                StoredChunk(key, chunk, text[chunk.start : chunk.end], entry)
                for key, chunk in wanted[document]
            ]

        documents = records.of_documents(f"d.key, d.text, {ENTRY}")
        stored = self._sql.made(cut, _TextRow, documents, json.dumps(list(wanted)), hold=1)
        found = {one.key: one for some in stored for one in some}
        return [found[key] for key in keys if key in found]

    def named(self, name: str, limit: int) -> list[tuple[ChunkKey, Name]]:
        """The chunks that are called so, titles first, then aliases, then headings; by key."""
        return self._sql.made(
            records.named,
            NamedRow,
            "SELECT chunk, kind, path, start, line FROM chunk_names WHERE folded = ?"
            " ORDER BY kind = 'heading', kind = 'alias', chunk, start LIMIT ?",
            fold_name(name),
            limit,
        )

    def keys_of(self, document_ids: Collection[str]) -> Keys:
        """The chunks of these documents."""
        return self._sql.keys(
            "SELECT key FROM chunks WHERE document IN (SELECT key FROM documents WHERE id IN"
            " (SELECT value FROM json_each(?)))",
            json.dumps(list(document_ids)),
        )
