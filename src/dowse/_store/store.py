"""The embedded store: SQLite is the truth, the keyword and vector indexes are replicas of it.

A batch is committed to SQLite first; then each replica takes what the journal says has changed and
notes the generation it has reached. A reader takes a generation only when all three agree on it.
Whatever is interrupted, the next writer lets the replicas catch up, or builds them again.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from dowse import DISTRIBUTION
from dowse._model import Announce, Finding, silent
from dowse._model.ports import Analyzer, IndexReader, Store
from dowse._model.store_options import StoreOptions
from dowse._store.files import REPAIR, check_kind, disk_errors, remove, writer_lock
from dowse._store.keyword import KeywordReplica
from dowse._store.replicas import OpenVectors, Replica, Replicas
from dowse._store.sql.database import (
    Database,
    Errors,
    SqlConnection,
    Statements,
    communities_sum,
    document_sum,
    is_sound,
    sum_of,
)
from dowse._store.sql.reader import NamedRow, SqlTables, name_of
from dowse._store.sql.sqlite import (
    FORMAT,
    Connections,
    complaints,
    format_of,
    noted_roots,
    upgrade,
)
from dowse._store.sql.writer import SqlWriter
from dowse._store.vectors import VectorReplica
from dowse._text.analyzer import TextAnalyzer
from dowse._text.options import KeywordOptions
from dowse._util.files import folder_size, make_private_folder, replace_file, sync_folder
from dowse.errors import Damaged, DowseError, EngineFailed, IndexUnusable

if TYPE_CHECKING:
    from dowse._store.shared.engine import EngineIndexes
    from dowse._store.shared.postgresql import PostgresSchema, PostgresStore

_PATIENCE = 5.0  # seconds in which replicas that are being written must agree with the database

DATABASE = "index.db"
"""The file of the truth in the folder of an index."""

REBUILD = "dowse index --rebuild"
"""What builds an index again from the documents."""


class SqlStore:
    """An index whose truth is a database, which replicas follow."""

    database = Database

    def __init__(
        self,
        server: Connections | PostgresSchema,
        indexes: Replicas | EngineIndexes,
        analyzer: Analyzer,
    ) -> None:
        self._server = server
        self._indexes = indexes
        self._analyzer = analyzer

    @contextmanager
    def read(self) -> Iterator[IndexReader]:
        """Open the newest generation; raise `Damaged` when a file of it is not as written."""
        with self._server.errors(), self._server.borrow() as connection:
            yield self._indexes.at(partial(self._begin, connection)).reader(
                Statements(connection, self._server.errors)
            )

    def repair(self, wait: float = 0.0) -> None:
        """Rebuild the replicas from the database."""
        with self._server.writing(wait) as connection:
            self._indexes.rebuild(self.database(connection))

    def close(self) -> None:
        """Close everything that is open; a later call opens it again."""
        self._indexes.close()
        self._server.close()

    def _begin(self, connection: SqlConnection) -> Database:
        connection.rollback()
        connection.execute("BEGIN")
        return self.database(connection)


def replicas_in(
    folder: Path,
    analyzer: Analyzer,
    announce: Announce = silent,
    vectors: Callable[[Path], Replica[OpenVectors]] = VectorReplica,
    *,
    follow: bool = False,
) -> Replicas:
    """Return the keyword and the vector index in a folder."""

    def make(place: Path) -> tuple[KeywordReplica, Replica[OpenVectors]]:
        return KeywordReplica(place, analyzer), vectors(place)

    return Replicas(folder, make, announce, follow=follow)


class EmbeddedStore(SqlStore):
    """An index in one folder of this machine."""

    _server: Connections
    _indexes: Replicas

    def __init__(
        self,
        folder: Path,
        analyzer: Analyzer,
        announce: Announce = silent,
        vectors: Callable[[Path], Replica[OpenVectors]] = VectorReplica,
    ) -> None:
        self._folder = folder
        self._database = folder / DATABASE
        super().__init__(
            Connections(self._database), replicas_in(folder, analyzer, announce, vectors), analyzer
        )

    @property
    def place(self) -> str:
        """Where the index is kept, for people."""
        return str(self._folder)

    def bytes(self) -> int:
        """Count the bytes that it takes there."""
        return folder_size(self._folder)

    @contextmanager
    def write(self, wait: float = 0.0, part: str = "") -> Iterator[SqlWriter]:  # noqa: ARG002
        """Become the writer; raise `Locked` when another still is after `wait` seconds."""
        with self._server.writing(wait) as connection:
            upgrade(connection)
            self._indexes.catch_up(Database(connection), repair=True)
            check = partial(complaints, connection)
            yield SqlWriter(connection, self._server.errors, self._analyzer, self._indexes, check)

    def replace(self, wait: float = 0.0) -> AbstractContextManager[SqlWriter]:
        """Become the writer; what it writes is there at once."""
        return self.write(wait)

    def check(self) -> list[Finding]:
        """Look at every part; an empty list means that the index is whole."""
        if not self._database.exists() and not self._database.is_symlink():
            try:
                check_kind(self._folder, folder=True)
            except Damaged as error:
                return [Finding(error.message, REBUILD)]
            return []
        findings: list[Finding] = []
        try:
            with self._server.errors(), self._server.borrow() as connection:
                findings += [Finding(complaint, REBUILD) for complaint in complaints(connection)]
                findings += check_tables(
                    connection, self._server.errors, is_newest=format_of(connection) == str(FORMAT)
                )
                if not findings:  # otherwise they have to be built again in any case
                    findings = self._check_replicas(connection)
        except DowseError as error:
            findings.append(
                Finding(error.message, REBUILD if isinstance(error, IndexUnusable) else error.hint)
            )
        except _UNREADABLE as error:
            findings.append(_unreadable(error))
        return findings

    def _check_replicas(self, connection: sqlite3.Connection) -> list[Finding]:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                with writer_lock(self._folder, wait=0):
                    return self._compare(connection)
            except DowseError:  # somebody is writing, so a disagreement may be a passing one
                findings = self._compare(connection)
                if not findings or time.monotonic() > deadline:
                    return findings
            time.sleep(0.05)

    def _compare(self, connection: sqlite3.Connection) -> list[Finding]:
        connection.execute("BEGIN")
        try:
            return self._indexes.findings(Database(connection))
        except DowseError as error:
            return [Finding(error.message, REPAIR if error.hint.endswith(REPAIR) else REBUILD)]
        finally:
            connection.rollback()

    def discard(self, wait: float = 0.0) -> None:
        """Remove the index, known vectors included: the way out when the truth is damaged."""
        with disk_errors(self._folder):
            if not self._folder.is_dir():  # a file, or a link that leads nowhere
                self._folder.unlink(missing_ok=True)
        with writer_lock(self._folder, wait), disk_errors(self._folder):
            self.close()
            # First the database: without its log it could be half of one.
            remove(self._database)
            sync_folder(self._folder)
            for path in self._folder.glob(f"{DATABASE}*"):
                remove(path)
            self._indexes.discard()


_UNREADABLE = (TypeError, ValueError, KeyError, OverflowError)  # a value is of another kind

# Each counts rows that must not exist, whatever was interrupted.
_HOLES = {
    "chunks outside any section": (
        "SELECT count(*) FROM chunks c WHERE NOT EXISTS"
        " (SELECT 1 FROM sections s WHERE s.document = c.document AND s.id = c.section)"
    ),
    "documents that links cannot name": (
        "SELECT count(*) FROM documents d WHERE NOT EXISTS"
        " (SELECT 1 FROM names n WHERE n.document = d.key)"
    ),
    "documents that no condition can meet": (
        "SELECT count(*) FROM documents d WHERE NOT EXISTS"
        " (SELECT 1 FROM facets f WHERE f.document = d.key AND f.kind = 'path')"
    ),
    "documents whose fields cannot be read": (
        "SELECT count(*) FROM documents WHERE NOT json_valid(fields)"
    ),
    "chunks whose headings cannot be read": (
        "SELECT count(*) FROM chunks WHERE NOT json_valid(header_path)"
    ),
    "sections whose headings cannot be read": (
        "SELECT count(*) FROM sections WHERE NOT json_valid(header_path)"
    ),
    "words counted less than once": "SELECT count(*) FROM terms WHERE count < 1",
}


def check_tables(
    connection: SqlConnection, errors: Errors, *, is_newest: bool = True
) -> Iterator[Finding]:
    """Look at what the tables hold; an older format has fewer, and no checksums."""
    connection.execute("BEGIN")  # so that all questions are about one generation
    try:
        for what, query in _HOLES.items():
            if count := connection.execute(query).fetchone()[0]:
                yield Finding(f"There are {count} {what}.", REBUILD)
        for document_id, body in connection.execute(
            "SELECT id, substr(text, body + 1) FROM documents d"
            " WHERE NOT EXISTS (SELECT 1 FROM chunks c WHERE c.document = d.key)"
        ):
            if body.strip():
                yield Finding(f"{document_id} has text but no chunks.", REBUILD)
        if is_newest:
            yield from (Finding(complaint, REBUILD) for complaint in _wrong_sums(connection))
            _read_everything(Statements(connection, errors))
    except Damaged as error:
        yield Finding(error.message, REBUILD)
    except _UNREADABLE as error:
        yield _unreadable(error)
    finally:
        connection.rollback()


def _unreadable(error: Exception) -> Finding:
    return Finding(f"The database holds what cannot be read: {error}.", REBUILD)


def _read_everything(sql: Statements) -> None:
    """Read every row as a search would; raise `Damaged` when a value is of another kind."""
    tables = SqlTables(sql)
    for read in (tables.counts, tables.files, tables.all, tables.communities):
        read()
    for entry in tables.documents():
        tables.document(entry.id)
    sql.rows(tuple[str, int], "SELECT term, count FROM terms")
    sql.rows(tuple[int, str], "SELECT document, value FROM facets")
    sql.rows(tuple[int, str], "SELECT chunk, language FROM code_blocks")
    sql.rows(tuple[int, bytes], "SELECT document, text_key FROM chunks")
    sql.rows(tuple[str, bytes], "SELECT model, text_key FROM embeddings")
    sql.made(name_of, NamedRow, "SELECT chunk, kind, path, start, line FROM chunk_names")


def _wrong_sums(connection: SqlConnection) -> Iterator[str]:
    """Say what is not as it was written, although SQLite finds no fault with it."""
    for key, name, checksum in connection.execute("SELECT key, id, checksum FROM documents"):
        if checksum != document_sum(connection, key):
            yield f"{name} is not as it was written."
    if wrong := sum(
        not is_sound(vector, checksum)
        for vector, checksum in connection.execute("SELECT vector, checksum FROM embeddings")
    ):
        yield f"{wrong} vectors are not as they were written."
    meta = dict(connection.execute("SELECT name, value FROM meta").fetchall())
    if "stamp_sum" in meta and str(meta["stamp_sum"]) != str(
        sum_of(str(meta.get("stamp")).encode())
    ):
        yield "What the index was built with is not as it was written."
    communities = dict(
        connection.execute(
            "SELECT d.id, c.community FROM communities c JOIN documents d ON d.key = c.document"
        ).fetchall()
    )
    settled = "communities" in meta and "communities" not in str(meta.get("owed"))
    if settled and str(meta["communities"]) != communities_sum(communities):
        yield "The communities are not as they were written."


# ── Where the indexes of projects are ─────────────────────────────────────

INDEX = "index"
"""The folder of the index in that of the project."""

NOTE = "remote.json"
"""The file in the folder of a project that says in which databases it has an index."""


class Note(Struct, frozen=True):
    """Where the index of a project is, without any secret."""

    url: str
    name: str  # of its schema
    token_env: str = ""
    made: bool = False  # whether this project made the index
    search: str = "local"
    search_token_env: str = ""

    @property
    def options(self) -> StoreOptions:
        """Return what is needed to reach the index."""
        return StoreOptions(
            url=self.url,
            token_env=self.token_env,
            search=self.search,
            search_token_env=self.search_token_env,
        )


class Places:
    """The indexes of projects: each in a folder of this machine, or where a note of it says.

    An index in a database has a name that the project's folder keeps. It is made once, from that of
    the project and some random digits, so that two users of one database never write into the same
    index by accident. Machines that are to share an index all set `store.name`. The project that
    made an index removes it; others only forget it.
    """

    def store(
        self,
        project: Path,
        analyzer: Analyzer,
        announce: Announce = silent,
        options: StoreOptions | None = None,
    ) -> Store:
        """Return the store of a project, in its folder or where `options` say; nothing is open."""
        if not options or not options.url:
            return EmbeddedStore(project / INDEX, analyzer, announce)
        name = self._name(project, options)

        def note_down(is_new: bool) -> None:
            known, place = self.notes(project), (options.url, name)
            others = [note for note in known if (note.url, note.name) != place]
            made = is_new or any(note.made for note in known if note not in others)
            note = Note(*place, options.token_env, made, options.search, options.search_token_env)
            if note not in known:
                _write(project, [*others, note])

        return _in_database(options, name, project, analyzer, announce, note_down)

    def holding(self, projects: Path) -> list[str]:
        """List the names of those folders among the projects that hold an index, or a note."""
        holders = (f"*/{INDEX}/{DATABASE}", f"*/{NOTE}")
        found = [path for pattern in holders for path in projects.glob(pattern)]
        return list(dict.fromkeys(path.relative_to(projects).parts[0] for path in found))

    def notes(self, project: Path) -> list[Note]:
        """List the indexes of the project in databases; two while it is moved."""
        file = project / NOTE
        try:
            return msgspec.json.decode(file.read_bytes(), type=list[Note]) if file.is_file() else []
        except (OSError, msgspec.MsgspecError):
            return []

    def roots(self, project: Path) -> list[str]:
        """List the folders that an index was made of; nothing when it cannot be read."""
        if found := noted_roots(project / INDEX / DATABASE):
            return found
        for note in self.notes(project):
            with suppress(DowseError), _noted(project, note) as store:
                if found := store.roots():
                    return found
        return []

    @contextmanager
    def undisturbed(self, project: Path, wait: float = 0) -> Iterator[None]:
        """Keep writers away from an index, if there is one.

        Raise `Locked` when one still works after `wait` seconds.
        """
        with ExitStack() as held:
            if (index := project / INDEX).is_dir():
                held.enter_context(writer_lock(index, wait))
            if os.name == "nt":
                # Windows moves no folder in which a file is open, such as the lock. For the same
                # reason, a writer that comes after this look keeps the folder in its place.
                held.close()
            for note in self.notes(project):
                if note.made:
                    held.enter_context(held.enter_context(_noted(project, note)).undisturbed())
            yield

    def remove(self, project: Path, url: str = "", keep: StoreOptions | None = None) -> None:
        """Remove what a project made in databases, or in one of them, and forget the rest.

        The index that the options `keep` name stays.
        """
        kept = None if keep is None else (keep.url, self._name(project, keep))
        for note in self.notes(project):
            if url in {"", note.url} and (note.url, note.name) != kept:
                if note.made:
                    with _noted(project, note) as store:
                        store.discard()
                _write(project, [one for one in self.notes(project) if one != note])

    def carry(self, project: Path, to: Path) -> None:
        """Let another folder know where the index of a project is, if a database has it."""
        _write(to, self.notes(project))

    def knows(self, project: Path, options: StoreOptions) -> bool:
        """Tell whether the project has written into the index that these options name."""
        place = options.url, self._name(project, options)
        return any((note.url, note.name) == place for note in self.notes(project))

    def _name(self, project: Path, options: StoreOptions) -> str:
        if options.name:
            return f"{options.prefix}_{options.name}".lower()
        for note in reversed(self.notes(project)):
            if note.url == options.url:
                return note.name
        slug = re.sub(r"[^a-z0-9]+", "_", project.name.lower()).strip("_")[:30] or "index"
        return f"{options.prefix}_{slug}_{uuid.uuid4().hex[:8]}".lower()


def _write(project: Path, notes: Sequence[Note]) -> None:
    if notes:
        make_private_folder(project)
        replace_file(project / NOTE, msgspec.json.encode(notes))
    else:
        (project / NOTE).unlink(missing_ok=True)


def _noted(project: Path, note: Note) -> closing[PostgresStore]:
    analyzer = TextAnalyzer(KeywordOptions())  # nothing is searched
    return closing(_in_database(note.options, note.name, project, analyzer))


def _in_database(  # noqa: PLR0917
    options: StoreOptions,
    name: str,
    project: Path,
    analyzer: Analyzer,
    announce: Announce = silent,
    note_down: Callable[[bool], None] = lambda _: None,
) -> PostgresStore:
    try:
        # Most people never use a database, and loading what opens one takes time.
        from dowse._store.shared.postgresql import open_store  # noqa: PLC0415

        return open_store(options, name, project, analyzer, announce, note_down)
    except ImportError as error:
        raise EngineFailed(
            f"What connects to the database is not installed: {error}.",
            f"Install it with: pip install '{DISTRIBUTION}[scale]'",
        ) from error
