"""Checksums find what SQLite does not, and an index from before they existed gets them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from documents import STAMP, PlainAnalyzer, batch, link, make_document, vector_of
from dowse._model import text_key
from dowse._store.store import EmbeddedStore
from dowse.errors import Damaged
from index_content import content

_REBUILD = "dowse index --rebuild"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "index"
    store = EmbeddedStore(folder, PlainAnalyzer())
    with store.write() as writing:
        writing.start(STAMP)
        documents = [
            make_document(f"{n}.md", f"# Head\n\ntext {n}\n\n```\ncode\n```", links=[link("1")])
            for n in range(5)
        ]
        writing.apply(batch(*documents))
        writing.set_communities({"1.md": 0, "2.md": 0})
    store.close()
    return folder


@pytest.fixture
def store(folder: Path) -> Iterator[EmbeddedStore]:
    store = EmbeddedStore(folder, PlainAnalyzer())
    yield store
    store.close()


def _change(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / "index.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE documents SET text = replace(text, 'text', 'tent') WHERE key = 2",
        "UPDATE documents SET body = body + 1 WHERE key = 2",
        "UPDATE documents SET fields = json_set(fields, '$.title', 'x') WHERE key = 2",
        "UPDATE chunks SET start = start + 1 WHERE key = 3",
        "UPDATE chunks SET last_line = last_line + 1 WHERE key = 3",
        'UPDATE sections SET "end" = "end" - 1 WHERE key = 2',
        "UPDATE code_blocks SET text = 'c0de' WHERE rowid = 1",
        "UPDATE links SET line = 7 WHERE key = 1",
        "UPDATE links SET target = '2' WHERE key = 1",
        "UPDATE names SET spelled = 'x' WHERE rowid = 1",
        "UPDATE facets SET value = 'x' WHERE rowid = 1",
        "UPDATE communities SET community = 4 WHERE document = 2",
        "UPDATE embeddings SET vector = zeroblob(32) WHERE rowid = 1",
        "UPDATE embeddings SET vector = 7 WHERE rowid = 1",
        "UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', 'NOT  NULL') WHERE name = 'links'",
    ],
)
def test_check_notices_what_sqlite_finds_sound(
    folder: Path, store: EmbeddedStore, statement: str
) -> None:
    assert store.check() == []
    _change(folder, statement)
    assert {finding.repair for finding in store.check()} == {_REBUILD}


def test_a_damaged_vector_is_not_used_again(folder: Path, store: EmbeddedStore) -> None:
    unknown = text_key("nobody knows this")
    document = make_document("0.md", "# Head\n\ntext 0")
    key = text_key(document.chunked.embedding_text(document.chunked.chunks[0]))
    with store.write() as writing:
        assert writing.text_vectors.missing([key, unknown]) == [unknown]
    _change(folder, "UPDATE embeddings SET vector = zeroblob(32)")
    with store.write() as writing:
        assert writing.text_vectors.missing([key]) == [key]
        writing.remember({key: vector_of("x")})
        assert writing.text_vectors.missing([key]) == []


def test_a_database_that_fails_its_own_check_is_not_started_again(
    folder: Path, store: EmbeddedStore
) -> None:
    _change(folder, "UPDATE sqlite_master SET sql = replace(sql, 'text_key)', 'id)')")
    with pytest.raises(Damaged), store.write() as writing:
        writing.start(STAMP)
    store.discard()
    with store.write() as writing:
        writing.start(STAMP)
    assert store.check() == []


def test_an_index_from_before_checksums_is_read_and_gets_them(
    folder: Path, store: EmbeddedStore
) -> None:
    with store.read() as reading:
        before = content(reading)
    store.close()
    _change(
        folder,
        "DROP TABLE chunk_names",
        "ALTER TABLE documents DROP COLUMN checksum",
        "ALTER TABLE embeddings DROP COLUMN checksum",
        "UPDATE meta SET value = '1' WHERE name = 'format'",
        "DELETE FROM meta WHERE name IN ('owed', 'communities')",
    )
    with store.read() as reading:
        assert content(reading) == before
    assert store.check() == []
    with store.write() as writing:
        assert writing.pending() == {"communities", "tidy"}
    with store.read() as reading:
        assert content(reading) == before
    assert store.check() == []
    _change(folder, "UPDATE embeddings SET vector = zeroblob(32) WHERE rowid = 1")
    assert store.check() != []
