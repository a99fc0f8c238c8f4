"""Very large indexes: the tables of a smaller one, copied in its database with other texts.

To index a million chunks takes an hour. Here the rows of an index are copied by SQL, each document
with another id, other words and other vectors. The keyword and the vector index are then rebuilt
from the database by the store itself, with one short cut: the terms of a chunk are found once, and
each of its copies gets a few terms in addition, so that no two chunks have the same score.
"""

from __future__ import annotations

import hashlib
import random
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from dowse import Dowse
from dowse._model import GAP, short_id
from dowse._model.ports import Analyzer
from dowse._store import keyword as replica
from dowse._store.sql.database import Database, KeywordRow, sum_of

_REPLACED = 0.2  # share of the words that a copy has others for
_ADDED = (5, 40)  # terms that a copy of a chunk has in addition: from, to
_HEAP = 200_000_000  # bytes: larger than the store's own, so that less is merged
_WORD = re.compile(r"(?<= )[a-z]{4,}(?=[ ,.])")
_HEX = "'0123456789abcdef'"
_OTHER_ID = (
    f"substr({_HEX}, (instr({_HEX}, substr(id, 1, 1)) - 1 + :copy) % 16 + 1, 1)||substr(id, 2)"
)
_IN_SECTION = _OTHER_ID.replace("(id", "(section")

_PARTS = {
    "sections": f"key + :sections, document + :documents, {_OTHER_ID}, header_path, start, "
    '"end", first_line, last_line',
    "chunks": f"key + :chunks, document + :documents, {_OTHER_ID}, {_IN_SECTION}, header_path, "
    'start, "end", overlap, first_line, last_line, other_key(text_key, :copy)',
    "code_blocks": "document + :documents, chunk + :chunks, language, text, start, "
    '"end", first_line, last_line',
    "facets": "document + :documents, kind, value",
    "links": "key + :links, source + :documents, kind, target, anchor, label, line, "
    "leads + :documents",
    "link_names": "link + :links, name",
    "communities": "document + :documents, community",
    "names": "document + :documents, name, kind, spelled",
    "chunk_names": "document + :documents, chunk + :chunks, kind, folded, path, start, line",
}

_OWNED = {
    "links": "source <= :last",
    "link_names": "link IN (SELECT key FROM links WHERE source <= :last)",
}


class Copies:
    """Copies of the documents of an open index."""

    def __init__(self, project: Dowse) -> None:
        self._store: Any = project._engine.parts.store  # noqa: SLF001
        self._docs = project.project.roots[0]

    def store(self, chunks: int) -> tuple[int, int]:
        """Copies documents until there are so many chunks; returns the numbers of both."""
        with self._store.write() as writing:
            connection: sqlite3.Connection = writing._connection  # noqa: SLF001
            with writing._change():  # noqa: SLF001
                sizes = _copy_all(connection, self._docs, chunks)
            many = _number(connection, "chunks")
            rows = _rows_of_copies(sizes["chunks"], many)
            with (
                mock.patch.object(Database, "keyword_rows", rows),
                mock.patch.object(replica, "_HEAP", _HEAP),
            ):
                writing._replicas.rebuild(Database(connection))  # noqa: SLF001
            return _number(connection, "documents"), many


def _copy_all(connection: sqlite3.Connection, docs: Path, chunks: int) -> dict[str, int]:
    connection.create_function("other_key", 2, _other_key, deterministic=True)
    connection.create_function("other_vector", 2, _other_vector, deterministic=True)
    connection.create_function("sum_of", 1, sum_of, deterministic=True)
    sizes = {name: _last(connection, name) for name in ("documents", "sections", "chunks", "links")}
    words = _words(connection)
    copies = -(-chunks // sizes["chunks"])
    for copy in range(1, copies):
        left = chunks - copy * sizes["chunks"]
        ((last,),) = connection.execute(
            "SELECT max(document) FROM chunks WHERE key <= ?", (min(left, sizes["chunks"]),)
        )
        row = partial(_document, docs=docs, copy=copy, documents=sizes["documents"], words=words)
        _copy_documents(connection, last, row)
        _copy_rows(connection, copy, last, sizes)
    connection.execute("UPDATE terms SET count = count * ?", (copies,))
    return sizes


def _copy_documents(
    connection: sqlite3.Connection, last: int, row: Callable[[Sequence[Any]], tuple[object, ...]]
) -> None:
    """Copies the documents up to the last one; `row` makes the row of a copy."""
    found = connection.execute(
        "SELECT key, id, modified, fields, body, text FROM documents WHERE key <= ?", (last,)
    ).fetchall()
    connection.executemany(
        "INSERT INTO documents"
        " (key, id, short, size, mtime_ns, digest, settled, modified, fields, body, text)"
        " VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?)",
        map(row, found),
    )


def _copy_rows(
    connection: sqlite3.Connection, copy: int, last: int, sizes: Mapping[str, int]
) -> None:
    """Copies what belongs to the documents up to the last one."""
    bound = {"copy": copy, "last": last} | {name: copy * size for name, size in sizes.items()}
    for table, columns in _PARTS.items():
        owned = _OWNED.get(table, "document <= :last")
        connection.execute(
            f"INSERT INTO {table} SELECT {columns} FROM {table} WHERE {owned}",  # noqa: S608
            bound,
        )
    connection.execute(
        "INSERT OR IGNORE INTO embeddings"
        " SELECT model, key, vector, sum_of(vector) FROM"
        " (SELECT e.model, other_key(e.text_key, :copy) AS key,"
        " other_vector(e.vector, :copy) AS vector FROM embeddings e WHERE e.text_key IN"
        " (SELECT text_key FROM chunks WHERE document <= :last))",
        bound,
    )


def _document(
    row: Sequence[Any], *, docs: Path, copy: int, documents: int, words: dict[int, list[str]]
) -> tuple[object, ...]:
    """The row of a copy, whose file is written."""
    key, id_, modified, fields, body, text = row
    other = f"set-{copy}/{id_}"
    text = text[:body] + _perturbed(text[body:], copy * documents + key, words)
    path = docs / other
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    path.write_bytes(data)
    stat = path.stat()
    state = stat.st_size, stat.st_mtime_ns, hashlib.sha256(data).hexdigest()
    new_key = key + copy * documents
    return new_key, other, short_id(other), *state, modified, fields, body, text


def _perturbed(text: str, seed: int, words: dict[int, list[str]]) -> str:
    """A text with other words of the same lengths; the same seed gives the same text."""
    rng = random.Random(seed)  # noqa: S311  (no cryptography)
    places = [match.span() for match in _WORD.finditer(text)]
    pieces, done = list[str](), 0
    for start, end in sorted(rng.sample(places, int(_REPLACED * len(places)))):
        pieces += [text[done:start], rng.choice(words[end - start])]
        done = end
    return "".join([*pieces, text[done:]])


def _words(connection: sqlite3.Connection) -> dict[int, list[str]]:
    """The words of some documents by their length, each as often as it is written."""
    found: dict[int, list[str]] = {}
    for (text,) in connection.execute("SELECT text FROM documents"):
        for word in _WORD.findall(text):
            found.setdefault(len(word), []).append(word)
    return found


def _rows_of_copies(chunks: int, many: int) -> Any:
    """`Database.keyword_rows`, in which copies have the terms of their original and some more."""
    original = Database.keyword_rows

    def keyword_rows(
        database: Database, analyzer: Analyzer, _: object = None
    ) -> Iterator[KeywordRow]:
        rng = random.Random(1)  # noqa: S311  (no cryptography)
        seen = list[str]()
        for key, body, code in original(database, analyzer, range(1, chunks + 1)):
            seen += body.split()[::20]
            for copy in range(key, many + 1, chunks):
                more = _more(rng, seen) if copy != key else []
                yield copy, " ".join([body, *more]), code

    return keyword_rows


def _more(rng: random.Random, seen: Sequence[str]) -> list[str]:
    return [GAP, *rng.choices(seen, k=rng.randint(*_ADDED))] if seen else []


def _other_key(key: bytes, copy: int) -> bytes:
    return hashlib.blake2b(key, digest_size=16, salt=copy.to_bytes(2, "big")).digest()


def _other_vector(vector: bytes, copy: int) -> bytes:
    """Random vectors stay random when their dimensions change places."""
    cut = 2 * 29 * copy % len(vector)
    return vector[cut:] + vector[:cut]


def _last(connection: sqlite3.Connection, table: str) -> int:
    ((last,),) = connection.execute(f"SELECT coalesce(max(key), 0) FROM {table}")  # noqa: S608
    return int(last)


def _number(connection: sqlite3.Connection, table: str) -> int:
    ((count,),) = connection.execute(f"SELECT count(*) FROM {table}")  # noqa: S608
    return int(count)
