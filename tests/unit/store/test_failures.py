"""What SQLite, tantivy and the file system raise leaves the store as an error that says more."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from documents import STAMP, PlainAnalyzer, batch, make_document, vector_of
from dowse._store.files import Unwritable, database_errors, disk_errors, tantivy_errors
from dowse._store.store import EmbeddedStore
from dowse.errors import Damaged, DowseError, Locked, StampMismatch


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small index that nobody has open."""
    folder = tmp_path / "index"
    store = EmbeddedStore(folder, PlainAnalyzer())
    with store.write() as writing:
        writing.start(STAMP)
        writing.apply(batch(*(make_document(f"{n}.md", f"text {n}\n\nmore") for n in range(50))))
    store.close()
    return folder


@pytest.fixture
def store(folder: Path) -> Iterator[EmbeddedStore]:
    store = EmbeddedStore(folder, PlainAnalyzer())
    yield store
    store.close()


def use(store: EmbeddedStore) -> None:
    """Reads what there is to read."""
    with store.read() as reading:
        for entry in reading.catalogue.documents():
            reading.catalogue.document(entry.id)
        reading.catalogue.chunks(range(1000))
        reading.links.all()
        reading.catalogue.counts()
        reading.keyword.search("body", ["text"], 100)
        reading.vectors.nearest(vector_of("x"), 100)
        reading.vocabulary.most_frequent(100)


# ── A database that cannot be used ───────────────────────────────────────────


def assert_damaged(store: EmbeddedStore) -> None:
    """It is told everywhere, and discarding it is the way out."""
    with pytest.raises(Damaged, match="dowse doctor"):
        use(store)
    with pytest.raises(Damaged, match="dowse doctor"), store.write() as writing:
        writing.start(STAMP)
    with pytest.raises(Damaged):
        store.repair()
    findings = store.check()
    assert findings
    assert {finding.repair for finding in findings} == {"dowse index --rebuild"}
    store.discard()
    with store.write() as writing:
        writing.start(STAMP)
    assert store.check() == []


def test_a_file_that_is_no_database(folder: Path, store: EmbeddedStore) -> None:
    (folder / "index.db").write_text("Not a database, but quite a long text. " * 500)
    assert_damaged(store)


def test_a_database_of_somebody_else(folder: Path, store: EmbeddedStore) -> None:
    (folder / "index.db").unlink()
    with sqlite3.connect(folder / "index.db") as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    assert_damaged(store)


def test_a_truncated_database(folder: Path, store: EmbeddedStore) -> None:
    content = (folder / "index.db").read_bytes()
    (folder / "index.db").write_bytes(content[: len(content) // 3])
    assert_damaged(store)


def test_an_overwritten_database(folder: Path, store: EmbeddedStore) -> None:
    content = bytearray((folder / "index.db").read_bytes())
    content[4096:] = b"\xaa" * len(content[4096:])
    (folder / "index.db").write_bytes(content)
    assert_damaged(store)


def test_every_overwritten_page_is_noticed_by_check_and_raises_nothing_unknown(
    folder: Path, tmp_path: Path
) -> None:
    pages = (folder / "index.db").stat().st_size // 4096
    for page in range(1, pages, 3):
        copy = tmp_path / f"page{page}"
        shutil.copytree(folder, copy)
        with (copy / "index.db").open("r+b") as file:
            file.seek(page * 4096)
            file.write(b"\xaa" * 4096)
        store = EmbeddedStore(copy, PlainAnalyzer())
        assert store.check(), page
        with suppress(Damaged):
            use(store)
        store.close()
        shutil.rmtree(copy)


@pytest.mark.parametrize(
    ("table", "column"), [("documents", "fields"), ("chunks", "header_path"), ("meta", "value")]
)
def test_content_that_nobody_wrote(
    folder: Path, store: EmbeddedStore, table: str, column: str
) -> None:
    where = "WHERE name = 'stamp'" if table == "meta" else "WHERE key = 1"
    with sqlite3.connect(folder / "index.db") as connection:
        connection.execute(f"UPDATE {table} SET {column} = '{{' {where}")  # noqa: S608
    connection.close()
    with pytest.raises(Damaged, match="dowse doctor"):
        use(store)
    assert {finding.repair for finding in store.check()} == {"dowse index --rebuild"}


@pytest.mark.parametrize("version", ["0", "999", "", None])
def test_an_index_of_another_format_is_refused(
    folder: Path, store: EmbeddedStore, version: str | None
) -> None:
    with sqlite3.connect(folder / "index.db") as connection:
        connection.execute("DELETE FROM meta WHERE name = 'format'")
        if version is not None:
            connection.execute("INSERT INTO meta VALUES ('format', ?)", (version,))
    connection.close()
    with pytest.raises(StampMismatch, match="this version of dowse reads format 3") as caught:
        use(store)
    assert caught.value.hint == "Rebuild it with: dowse index --rebuild"
    with pytest.raises(StampMismatch), store.write():
        pass
    assert [finding.repair for finding in store.check()] == ["dowse index --rebuild"]
    store.discard()
    use(store)


def test_a_database_that_is_replaced_while_it_is_open(folder: Path, tmp_path: Path) -> None:
    store = EmbeddedStore(folder, PlainAnalyzer())
    use(store)
    other = EmbeddedStore(tmp_path / "other", PlainAnalyzer())
    with other.write() as writing:
        writing.start(STAMP)
        writing.apply(batch(make_document("other.md", "other")))
    other.close()
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "other", folder)
    with store.read() as reading:  # of the same generation as the one before
        assert [entry.id for entry in reading.catalogue.documents()] == ["other.md"]
        assert len(reading.keyword.search("body", ["other"], 10)) == 1
        assert len(reading.vectors.nearest(vector_of("x"), 100)) == 1
    store.close()


# ── A disk that does not take it ─────────────────────────────────────────────


def test_a_full_disk_loses_nothing(store: EmbeddedStore) -> None:
    with store.write() as writing:
        before = writing.catalogue.generation
        pages = writing._connection.execute("PRAGMA page_count").fetchone()[0]
        writing._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(DowseError, match=r"disk is full.*Free some space") as caught:
            writing.apply(batch(make_document("big.md", "large " * 50_000)))
        assert type(caught.value) is Unwritable
        assert writing.catalogue.generation == before
        writing._connection.execute("PRAGMA max_page_count = 1000000")
        writing.apply(batch(make_document("big.md", "large " * 50_000)))
    use(store)
    assert store.check() == []


@pytest.mark.parametrize(
    "function",
    [
        "dowse._store.vectors.save",
        "dowse._store.replicas.write_manifest",
        "dowse._store.keyword.sum_files",
    ],
)
def test_a_disk_that_is_full_for_the_replicas_loses_nothing(
    store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(function, fail)
        with (
            pytest.raises(DowseError, match=r"disk is full.*Free some space"),
            store.write() as writing,
        ):
            writing.apply(batch(make_document("new.md", "brandnew")))
        with pytest.raises(DowseError, match="disk is full"):
            use(store)
    with store.read() as reading:
        assert len(reading.keyword.search("body", ["brandnew"], 10)) == 1
        assert len(reading.vectors.nearest(vector_of("x"), 1000)) == 101
    assert store.check() == []


@pytest.fixture
def ordinary_user() -> Iterator[Path]:
    """A folder that everybody may look into, and for the test's duration no special rights."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        is_root = os.geteuid() == 0
        if is_root:
            os.seteuid(65534)
        try:
            yield folder
        finally:
            if is_root:
                os.seteuid(0)
            folder.chmod(0o755)


def assert_told(store: EmbeddedStore) -> None:
    for open_ in (store.read, store.write):
        with pytest.raises(DowseError, match="Check its permissions") as caught, open_():
            pass
        assert type(caught.value) is Unwritable


def test_a_folder_that_may_not_be_written(ordinary_user: Path) -> None:
    if os.geteuid() == ordinary_user.stat().st_uid:
        ordinary_user.chmod(0o555)
    assert_told(EmbeddedStore(ordinary_user / "index", PlainAnalyzer()))
    assert_told(EmbeddedStore(ordinary_user, PlainAnalyzer()))


def test_an_index_that_may_not_be_written(folder: Path, ordinary_user: Path) -> None:
    euid = os.geteuid()
    if os.getuid() == 0:
        os.seteuid(0)
    shutil.copytree(folder, ordinary_user / "index")
    for path in [ordinary_user / "index", *(ordinary_user / "index").rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    os.seteuid(euid)
    store = EmbeddedStore(ordinary_user / "index", PlainAnalyzer())
    use(store)
    with pytest.raises(DowseError, match="Check its permissions"), store.write():
        pass
    assert store.check() == []
    for path in [ordinary_user / "index", *(ordinary_user / "index").rglob("*")]:
        if os.geteuid() == path.stat().st_uid:
            path.chmod(0o755)


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("in the way")
    assert_damaged(EmbeddedStore(tmp_path / "index", PlainAnalyzer()))


def test_a_folder_where_the_database_should_be(tmp_path: Path) -> None:
    (tmp_path / "index" / "index.db").mkdir(parents=True)
    assert_damaged(EmbeddedStore(tmp_path / "index", PlainAnalyzer()))


def test_a_database_that_another_program_holds(folder: Path) -> None:
    other = sqlite3.connect(folder / "index.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store = EmbeddedStore(folder, PlainAnalyzer())
    with store.write() as writing:
        writing._connection.execute("PRAGMA busy_timeout = 10")
        with pytest.raises(Locked, match="in use by another program"):
            writing.apply(batch(make_document("new.md", "new")))
        other.close()
        writing.apply(batch(make_document("new.md", "new")))
    store.close()


# ── The translations themselves ──────────────────────────────────────────────


def test_a_broken_disk_is_not_taken_for_a_damaged_index() -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR | (3 << 8)
    with pytest.raises(DowseError, match="Look at the disk") as caught, database_errors(Path("db")):
        raise error
    assert type(caught.value) is DowseError


def test_tantivy_says_why_it_failed() -> None:
    for message in (
        "An IO error occurred: 'No space left on device (os error 28)'",
        'Os { code: 28, kind: StorageFull, message: "No space left on device" }',
    ):
        with pytest.raises(DowseError, match="disk is full"), tantivy_errors(Path("k")):
            raise ValueError(message)
    with pytest.raises(Damaged, match="dowse doctor --repair"), tantivy_errors(Path("k")):
        raise ValueError("Data corrupted")


def test_a_full_disk_is_recognised_where_tantivy_does_not_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": 4096}))
    with pytest.raises(DowseError, match="disk is full"), tantivy_errors(tmp_path):
        raise ValueError("An error occurred in a thread: 'Worker thread failed.'")


def test_only_errors_of_their_own_kind_are_translated() -> None:
    for context in (database_errors(Path("x")), disk_errors(Path("x")), tantivy_errors(Path("x"))):
        with pytest.raises(KeyError), context:
            raise KeyError
