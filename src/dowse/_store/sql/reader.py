"""Conditions: the facets of a document that they compare, and the chunks that they cover.

Values are bound to statements, never written into them.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dowse._model import (
    Chunk,
    ChunkKey,
    Condition,
    Counts,
    Document,
    DocumentEntry,
    Edge,
    Fields,
    FileState,
    Keys,
    Link,
    LinkKind,
    Name,
    NameKind,
    Section,
    Sizes,
    Stamp,
    StoredChunk,
    StoredDocument,
    Vector,
)
from dowse._model.ports import KeywordField
from dowse._store.files import content_errors, database_damaged
from dowse._store.sql.database import (
    ROOTS,
    Statements,
    decode_vector,
    decoded_roots,
    headings,
    is_sound,
)
from dowse._text.matching import fold, fold_name, fold_word, matcher
from dowse._util.arrays import members, np

if TYPE_CHECKING:
    from numpy.typing import NDArray


# ── What conditions compare ───────────────────────────────────────────────

Facet = tuple[str, str]
"""A kind of condition and a folded value that it can be compared with."""


SECRETS = "secrets"
"""The kind of the facet that keeps how many secrets were left out; no condition asks for it."""


def facets_of(document: Document) -> list[Facet]:
    """List the facets of a document, each once."""
    return sorted({(kind, fold(value)) for kind, value in _facets(document)})


def _facets(document: Document) -> Iterator[Facet]:
    fields = document.fields
    yield "title", fields.title
    yield "category", fields.category
    yield "path", document.id
    yield "file", posixpath.basename(document.id)
    yield "source", posixpath.splitext(document.id)[1].removeprefix(".")
    yield from (("author", author) for author in fields.author)
    for tag in fields.tags:
        yield "tag", tag
        yield from (("tag", tag[:place]) for place, sign in enumerate(tag) if sign == "/")
    if document.secrets:
        yield SECRETS, str(document.secrets)
    for name, values in fields.properties:
        yield from ((field_facet(name), value) for value in values or ("",))


def field_facet(name: str) -> str:
    """Name the kind of the facets that keep a field of the frontmatter."""
    return f"field:{fold(name)}"


# ── Which chunks conditions cover ─────────────────────────────────────────

Phrase = Callable[[KeywordField, Sequence[str]], Keys]
"""Finds the chunks in which some terms follow each other."""

Met: TypeAlias = "NDArray[np.bool_]"
"""Whether a condition covers each chunk."""

_REMEMBERED = 16  # conditions; each takes a byte for every chunk
_ANSWERED = 4  # combinations of conditions; each takes eight bytes for every chunk that meets them
_EQUAL = {"category", "tag", "source"}
_BEGINS = {"under": "path"}
_DATED = {"after": ">=", "before": "<"}


class ConditionCache:
    """What conditions cover in one generation: each of the last ones, and the last combinations.

    A page asks the same with every key that is pressed. Threads may share it: what two of them find
    at once is the same.
    """

    def __init__(self) -> None:
        self._owners: tuple[Keys, Keys] | None = None  # the chunks, ascending; the document of each
        self._met: dict[Condition, Met] = {}
        self._answers: dict[tuple[Condition, ...], Keys] = {}

    def matching(self, sql: Statements, phrase: Phrase, conditions: Sequence[Condition]) -> Keys:
        """Find the chunks for which every condition holds, ascending."""
        plain = tuple(replace(condition, written="") for condition in conditions)
        answer = self._answers.get(plain)
        if answer is None:
            if self._owners is None:
                # By document, so that SQLite reads an index and not the chunks themselves.
                chunks, documents = sql.columns(
                    ("key", "document"), "SELECT key, document FROM chunks ORDER BY document, key"
                )
                order = np.argsort(chunks, kind="stable")
                self._owners = chunks[order], documents[order]
            keys, documents = self._owners
            kept = np.ones(len(keys), dtype=bool)
            for condition in plain:
                positive = replace(condition, negated=False)
                met = self._met.get(positive)
                if met is None:
                    met = _met(sql, phrase, keys, documents, condition)
                    _remember(self._met, positive, met, _REMEMBERED)
                kept &= met != condition.negated
            answer = keys[kept]
            answer.flags.writeable = False
            _remember(self._answers, plain, answer, _ANSWERED)
        return answer

    def asked(self, answer: Keys) -> tuple[Condition, ...] | None:
        """Return the conditions that these very keys were found for, if they are remembered."""
        return next((asked for asked, keys in list(self._answers.items()) if keys is answer), None)


def _remember(memory: dict[Any, Any], key: object, found: object, most: int) -> None:
    # The oldest goes first. What another thread removes in the same moment is not needed.
    for oldest in list(memory)[: len(memory) + 1 - most]:
        memory.pop(oldest, None)
    memory[key] = found


def _met(sql: Statements, phrase: Phrase, keys: Keys, documents: Keys, condition: Condition) -> Met:
    if condition.kind == "phrase":
        return members(keys, phrase("body", condition.values))
    if condition.kind == "language":
        values = _folded(condition)
        marks = ", ".join("?" * len(values))
        return members(
            keys, sql.keys(f"SELECT chunk FROM code_blocks WHERE language IN ({marks})", *values)
        )
    if sign := _DATED.get(condition.kind):
        return members(
            documents,
            sql.keys(f"SELECT key FROM documents WHERE modified {sign} ?", condition.bound),
        )
    where, values = _facets_with(sql, condition)
    return members(documents, sql.keys(f"SELECT document FROM facets WHERE {where}", *values))


def facets_asked(sql: Statements, condition: Condition, most: int) -> list[Facet] | None:
    """List the facets of which a condition asks for any.

    None when there are more than `most`, or when it asks for something else.
    """
    if condition.kind in {"phrase", "language", *_DATED}:
        return None
    where, values = _facets_with(sql, condition)
    query = f"SELECT DISTINCT kind, value FROM facets WHERE {where} LIMIT ?"
    found = sql.rows(tuple[str, str], query, *values, most + 1)
    return None if len(found) > most else found


def _facets_with(sql: Statements, condition: Condition) -> tuple[str, tuple[str, ...]]:
    """Return how a statement chooses the facets that meet a condition, and its values."""
    values = _folded(condition)
    if condition.kind == "field":
        # Each value is compared once, however many documents have it.
        kind, meets = field_facet(condition.name), matcher(condition.sign, values)
        known = sql.rows(tuple[str], "SELECT DISTINCT value FROM facets WHERE kind = ?", kind)
        met = json.dumps([value for (value,) in known if meets(value)])
        return "kind = ? AND value IN (SELECT value FROM json_each(?))", (kind, met)
    if condition.kind in _EQUAL:
        compared = f"value IN ({', '.join('?' * len(values))})"
    else:
        place = "= 1" if condition.kind in _BEGINS else "> 0"
        compared = " OR ".join([f"instr(value, ?) {place}"] * len(values)) or "FALSE"
    return f"kind = ? AND ({compared})", (_BEGINS.get(condition.kind, condition.kind), *values)


def _folded(condition: Condition) -> tuple[str, ...]:
    return tuple(fold(value) for value in condition.values)


# ── Rows and the records that they stand for ──────────────────────────────

Moment = Annotated[float, msgspec.Meta(ge=-1e19, le=1e19)]
"""Seconds since 1970, as far from it as a file system can say."""

ENTRY = """d.id, d.short, d.fields, d.modified, d.size, d.mtime_ns,
  (SELECT count(*) FROM chunks c WHERE c.document = d.key)"""
"""The columns of a `DocumentEntry`."""

EntryRow = tuple[str, str, str, Moment, int, int, int]
"""The values in `ENTRY`."""

CHUNK = """c.id, c.header_path, c.start, c."end", c.first_line, c.last_line, c.section, c.overlap"""
"""The columns of a `Chunk`."""

ChunkRow = tuple[str, str, int, int, int, int, str, int]
"""The values in `CHUNK`."""

EDGES = """SELECT s.id, l.kind, l.target, l.anchor, l.label, l.line, t.id FROM edges l
  JOIN documents s ON s.key = l.source LEFT JOIN documents t ON t.key = l.leads"""
"""The rows of `Edge`."""

EdgeRow = tuple[str, LinkKind, str, str, str, int, str | None]
"""The values in a row of `EDGES`."""

EDGE_ORDER = "ORDER BY s.id, l.line, l.key"
"""By source and line."""

NamedRow = tuple[int, NameKind, str, int, int]
"""The values in a row of chunk_names: chunk, kind, path, start, line."""


def entry_of(row: EntryRow) -> DocumentEntry:
    """Make a document as the index lists it."""
    document_id, short, fields, modified, size, mtime_ns, chunks = row
    decoded = msgspec.json.decode(fields, type=Fields)
    return DocumentEntry(document_id, short, decoded, modified, size, mtime_ns, chunks)


def section_of(row: tuple[str, str, int, int, int, int]) -> Section:
    """Make a section."""
    return Section(row[0], headings(row[1]), *row[2:])


def chunk_of(row: ChunkRow) -> Chunk:
    """Make a chunk."""
    return Chunk(row[0], headings(row[1]), *row[2:])


def edge_of(row: EdgeRow) -> Edge:
    """Make a link and say where it leads."""
    return Edge(row[0], Link(*row[1:6]), row[6])


def name_of(row: NamedRow) -> tuple[ChunkKey, Name]:
    """Read the key of a chunk and what it is called."""
    key, kind, path, start, line = row
    return key, Name(kind, headings(path), start, line)


_AT_ONCE = 500  # values bound to one statement: old builds of SQLite take 999
_MOST_LABELS = 500  # links to one document whose texts are looked at: an index page has thousands
_AFTER_ALL = "\U0010ffff"  # sorts behind every letter
_SEPARATOR = "\x1f"  # between words that are handed over as one string; no word holds it
_LAST = "CAST(x'ff' AS TEXT)"  # comes after every character
_TextRow = tuple[int, str, str, str, str, Moment, int, int, int]
"""The key of a document, its text, and what the index lists of it."""


class SqlTables(Struct, frozen=True):
    """The documents and their chunks, their links, their words, and the vectors of texts."""

    _sql: Statements

    @property
    def generation(self) -> int:
        """How many batches the index has taken."""
        return self._sql.generation()

    def stamp(self) -> Stamp | None:
        """Read what the index was built with; None while it is new."""
        return self._sql.stamp()

    def roots(self) -> list[str]:
        """List the folders that the index was made of, as far as it knows."""
        return decoded_roots(self._sql.meta(ROOTS))

    def counts(self) -> Counts:
        """Count what the index holds."""
        return Counts(
            *self._sql.rows(
                tuple[int, int, int, int, int, int, int, int, int, int],
                "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM sections),"
                " (SELECT count(*) FROM chunks), (SELECT count(*) FROM code_blocks),"
                " (SELECT count(*) FROM edges), (SELECT count(*) FROM edges WHERE leads IS NULL),"
                " (SELECT count(*) FROM chunks c JOIN embeddings e USING (text_key)"
                " WHERE e.model = ?), (SELECT count(*) FROM terms),"
                " (SELECT count(DISTINCT community) FROM communities),"
                " (SELECT coalesce(sum(CAST(value AS INTEGER)), 0) FROM facets WHERE kind = ?)",
                self._sql.model()[0],
                SECRETS,
            )[0]
        )

    def sizes(self) -> Sizes:
        """Count what the index holds, in a few numbers."""
        query = (
            "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM chunks),"
            " (SELECT count(*) FROM chunks c JOIN embeddings e USING (text_key) WHERE e.model = ?)"
        )
        return Sizes(*self._sql.rows(tuple[int, int, int], query, self._sql.model()[0])[0])

    def is_finished(self) -> bool:
        """Tell whether the last run that changed documents has come to its end."""
        return not self._sql.meta("owed")

    def has_more_than(self, documents: int) -> bool:
        """Tell whether there are more documents than so many."""
        return bool(
            self._sql.rows(tuple[int], "SELECT 1 FROM documents LIMIT 1 OFFSET ?", documents)
        )

    def files(self, beginnings: Sequence[str] = ("",)) -> dict[str, FileState]:
        """Read what is known of the files whose document ids begin in one of these ways, by id."""
        every = "SELECT d.id, size, mtime_ns, digest, settled FROM documents d"
        some = f"{every} JOIN json_each(?) ON d.id >= value AND d.id < value || {_LAST}"
        query, values = (every, ()) if "" in beginnings else (some, (json.dumps([*beginnings]),))
        return {
            name: FileState(size, mtime_ns, digest, bool(settled))
            for name, size, mtime_ns, digest, settled in self._sql.rows(
                tuple[str, int, int, str, int], query, *values
            )
        }

    def documents(self) -> list[DocumentEntry]:
        """List all documents, by id."""
        return self._sql.made(entry_of, EntryRow, f"SELECT {ENTRY} FROM documents d ORDER BY id")

    def document(self, document_id: str) -> StoredDocument | None:
        """Return one document, whole."""
        row = self._sql.row(
            tuple[int, int, str], "SELECT key, body, text FROM documents WHERE id = ?", document_id
        )
        if row is None:
            return None
        key, body, text = row
        columns = f"SELECT {ENTRY} FROM documents d WHERE key = ?"
        sections = (
            'SELECT id, header_path, start, "end", first_line, last_line FROM sections'
            " WHERE document = ? ORDER BY key"
        )
        chunks = f"SELECT {CHUNK} FROM chunks c WHERE document = ? ORDER BY key"
        found = StoredDocument(
            self._sql.made(entry_of, EntryRow, columns, key)[0],
            text,
            body,
            tuple(self._sql.made(section_of, tuple[str, str, int, int, int, int], sections, key)),
            tuple(self._sql.made(chunk_of, ChunkRow, chunks, key)),
        )
        if {chunk.section for chunk in found.chunks} - {one.id for one in found.sections}:
            raise database_damaged(f"{document_id} has chunks outside any section.")
        return found

    def find(self, short: str) -> list[tuple[str, int, int]]:
        """Find what an abbreviated id can mean: document id, first and last line."""
        ends = (short, short + "g")  # after every hex digit
        whole = self._sql.rows(
            tuple[str, str], "SELECT id, text FROM documents WHERE short >= ? AND short < ?", *ends
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
        """Read chunks by key, in the order asked for; unknown keys are passed over."""
        listed = " IN (SELECT CAST(value AS INTEGER) FROM json_each(?))"
        wanted: dict[int, list[tuple[ChunkKey, Chunk]]] = {}
        rows = self._sql.rows(
            tuple[int, int, str, str, int, int, int, int, str, int],
            f"SELECT c.key, c.document, {CHUNK} FROM chunks c WHERE c.key{listed}",
            json.dumps([int(key) for key in keys]),
        )
        with content_errors():
            for row in rows:
                wanted.setdefault(row[1], []).append((row[0], chunk_of(row[2:])))

        def cut(row: _TextRow) -> list[StoredChunk]:
            document, text, entry = row[0], row[1], entry_of(row[2:])
            return [
                StoredChunk(key, chunk, text[chunk.start : chunk.end], entry)
                for key, chunk in wanted[document]
            ]

        query = f"SELECT d.key, d.text, {ENTRY} FROM documents d WHERE d.key{listed}"
        stored = self._sql.made(cut, _TextRow, query, json.dumps(list(wanted)), hold=4)
        found = {one.key: one for some in stored for one in some}
        return [found[key] for key in keys if key in found]

    def named(self, name: str, limit: int) -> list[tuple[ChunkKey, Name]]:
        """Find the chunks that are called so, titles first, then aliases, then headings; by key."""
        return self._sql.made(
            name_of,
            NamedRow,
            "SELECT chunk, kind, path, start, line FROM chunk_names WHERE folded = ?"
            " ORDER BY kind = 'heading', kind = 'alias', chunk, start LIMIT ?",
            fold_name(name),
            limit,
        )

    def keys_of(self, document_ids: Collection[str]) -> Keys:
        """List the chunks of these documents."""
        return self._sql.keys(
            "SELECT key FROM chunks WHERE document IN (SELECT key FROM documents WHERE id IN"
            " (SELECT value FROM json_each(?)))",
            json.dumps(list(document_ids)),
        )

    # ── Links ──

    def all(self) -> list[Edge]:
        """List all links, by source and line."""
        return self._sql.made(edge_of, EdgeRow, f"{EDGES} {EDGE_ORDER}")

    def of(self, document_ids: Collection[str]) -> list[Edge]:
        """List the links that begin or end at any of these documents, by source and line."""
        return self._sql.made(
            edge_of,
            EdgeRow,
            "WITH wanted AS (SELECT key FROM documents WHERE id IN"
            f" (SELECT value FROM json_each(?))) {EDGES} WHERE l.key IN"
            " (SELECT key FROM links WHERE source IN (SELECT key FROM wanted)"
            f" UNION SELECT key FROM links WHERE leads IN (SELECT key FROM wanted)) {EDGE_ORDER}",
            json.dumps(list(document_ids)),
        )

    def labels(self, document_ids: Collection[str]) -> list[tuple[str, str]]:
        """List the texts of links that lead to these documents, each once."""
        return self._sql.rows(
            tuple[str, str],
            "SELECT DISTINCT id, label FROM (SELECT d.id, l.label,"
            " row_number() OVER (PARTITION BY l.leads ORDER BY l.key) AS number"
            " FROM documents d JOIN links l ON l.leads = d.key WHERE l.label != '' AND d.id IN"
            f" (SELECT value FROM json_each(?))) AS led WHERE number <= {_MOST_LABELS}"
            " ORDER BY id, label",
            json.dumps(list(document_ids)),
        )

    def communities(self) -> dict[str, int]:
        """Read the community of each document that has one, by id."""
        query = "SELECT d.id, c.community FROM communities c JOIN documents d ON d.key = c.document"
        return dict(self._sql.rows(tuple[str, int], query))

    # ── Words ──

    def most_frequent(self, size: int) -> list[str]:
        """List the most frequent words, most frequent first."""
        query = "SELECT term FROM terms ORDER BY count DESC, term LIMIT ?"
        return [term for (term,) in self._sql.rows(tuple[str], query, max(0, size))]

    def beginning(self, prefix: str, limit: int) -> list[str]:
        """List words of the documents that begin so, most frequent first."""
        begin = fold_word(prefix)
        return [
            term
            for (term,) in self._sql.rows(
                tuple[str],
                "SELECT term FROM terms WHERE term >= ? AND term < ?"
                " ORDER BY count DESC, term LIMIT ?",
                begin,
                begin + _AFTER_ALL,
                max(0, limit),
            )
        ]

    def spelled_like(self, word: str, limit: int) -> list[str]:
        """List words that are spelled nearly so, nearest first, then most frequent."""
        folded = fold_word(word)
        slips = (len(folded) >= 4) + (len(folded) >= 8)
        if not slips:
            return []
        # Loaded when a word is misspelled, which most commands never meet.
        from rapidfuzz import distance, process  # noqa: PLC0415

        # As one string: to hand over a hundred thousand rows takes longer than to compare them.
        ((together,),) = self._sql.rows(
            tuple[str | None],
            f"SELECT group_concat(term, '{_SEPARATOR}') FROM terms"
            " WHERE length(term) BETWEEN ? AND ?",
            len(folded) - slips,
            len(folded) + slips,
        )
        known = (together or "").split(_SEPARATOR)
        near = process.extract(
            folded, known, scorer=distance.OSA.distance, score_cutoff=slips, limit=None
        )
        distances = {other: int(apart) for other, apart, _ in near if other != folded}
        counted = self._sql.rows(
            tuple[str, int],
            "SELECT term, count FROM terms WHERE term IN (SELECT value FROM json_each(?))",
            json.dumps(list(distances)),
        )
        counted.sort(key=lambda row: (distances[row[0]], -row[1], row[0]))
        return [term for term, _ in counted[: max(0, limit)]]

    # ── Vectors of texts ──

    def known(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """Read the vectors of these text keys, as far as there are any."""
        query = "SELECT vector FROM embeddings WHERE model = ? AND text_key = ?"
        model, dimensions = self._sql.model()
        found = {}
        for key in keys:
            row = self._sql.row(tuple[bytes], query, model, key)
            if row is not None and len(row[0]) != 2 * dimensions:
                raise database_damaged("A vector is not as it was written.")
            if row is not None:
                found[key] = decode_vector(row[0])
        return found

    def missing(self, keys: Sequence[bytes]) -> list[bytes]:
        """List those of these text keys that have no vector, or a damaged one, in their order."""
        model, sound = self._sql.model()[0], set[bytes]()
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            rows = self._sql.rows(
                tuple[bytes, Any, Any],  # a damaged vector is made again
                "SELECT text_key, vector, checksum FROM embeddings"
                f" WHERE model = ? AND text_key IN ({', '.join('?' * len(some))})",
                model,
                *some,
            )
            sound.update(key for key, *kept in rows if is_sound(*kept))
        return [key for key in keys if key not in sound]

    def waiting(self) -> dict[ChunkKey, str]:
        """List the chunks without a vector, in the order of the text, with their documents' ids."""
        return dict(
            self._sql.rows(
                tuple[int, str],
                "SELECT c.key, d.id FROM chunks c JOIN documents d ON d.key = c.document"
                " WHERE NOT EXISTS"
                " (SELECT 1 FROM embeddings e WHERE e.model = ? AND e.text_key = c.text_key)"
                " ORDER BY c.key",
                self._sql.model()[0],
            )
        )
