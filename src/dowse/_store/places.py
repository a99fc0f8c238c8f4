"""The indexes of projects, wherever they are: in the folder of the project, or in a database.

An index in a database has a name that the project's folder keeps. It is made once, from that of the
project and some random digits, so that two users of one database never write into the same index by
accident. Machines that are to share an index all set `store.name`. The project that made an index
removes it; others only forget it.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from dowse import DISTRIBUTION
from dowse._model import Announce, silent
from dowse._model.ports import Analyzer, Store
from dowse._model.store_options import StoreOptions
from dowse._store.files import writer_lock
from dowse._store.replicas import OpenVectors, Replica
from dowse._store.sql.sqlite import noted_roots
from dowse._store.store import DATABASE, EmbeddedStore
from dowse._store.vectors import VectorReplica
from dowse._text.analyzer import TextAnalyzer
from dowse._text.options import KeywordOptions
from dowse._util.files import make_private_folder, replace_file
from dowse.errors import DowseError, EngineFailed

if TYPE_CHECKING:
    from dowse._store.shared.postgresql import PostgresStore

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
        ours = {name: value for name, value in asdict(self).items() if name not in {"name", "made"}}
        return StoreOptions(**ours)


class Places(Struct, frozen=True):
    """The indexes of projects: each in a folder of this machine, or where a note of it says."""

    vectors: Callable[[Path], Replica[OpenVectors]] = VectorReplica  # what finds vectors here

    def store(self, project: Path, analyzer: Analyzer, announce: Announce = silent) -> Store:
        """Return the store in the folder of a project; nothing is opened yet."""
        return EmbeddedStore(project / INDEX, analyzer, announce, self.vectors)

    def shared(
        self, project: Path, options: StoreOptions, analyzer: Analyzer, announce: Announce = silent
    ) -> Store:
        """Return the store of a project in the database of the settings; nothing is opened yet."""
        name = self._name(project, options)
        return _open(
            options,
            name,
            project,
            analyzer,
            announce,
            partial(self._note_down, project, options, name),
        )

    def holding(self, projects: Path) -> list[str]:
        """List the names of those folders among the projects that hold an index, or a note."""
        here = [path.parent.parent.name for path in projects.glob(f"*/{INDEX}/{DATABASE}")]
        noted = [path.parent.name for path in projects.glob(f"*/{NOTE}")]
        return list(dict.fromkeys([*here, *noted]))

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
                    store = held.enter_context(_noted(project, note))
                    held.enter_context(store.undisturbed())
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
        name = self._name(project, options)
        return any((note.url, note.name) == (options.url, name) for note in self.notes(project))

    def _name(self, project: Path, options: StoreOptions) -> str:
        if options.name:
            return f"{options.prefix}_{options.name}".lower()
        for note in reversed(self.notes(project)):
            if note.url == options.url:
                return note.name
        slug = re.sub(r"[^a-z0-9]+", "_", project.name.lower()).strip("_")[:30] or "index"
        return f"{options.prefix}_{slug}_{uuid.uuid4().hex[:8]}".lower()

    def _note_down(self, project: Path, options: StoreOptions, name: str, is_new: bool) -> None:
        known = self.notes(project)
        made = is_new or any(
            note.made for note in known if (note.url, note.name) == (options.url, name)
        )
        note = Note(
            options.url, name, options.token_env, made, options.search, options.search_token_env
        )
        if note not in known:
            others = [one for one in known if (one.url, one.name) != (options.url, name)]
            _write(project, [*others, note])


def _write(project: Path, notes: Sequence[Note]) -> None:
    if notes:
        make_private_folder(project)
        replace_file(project / NOTE, msgspec.json.encode(notes))
    else:
        (project / NOTE).unlink(missing_ok=True)


def _noted(project: Path, note: Note) -> closing[PostgresStore]:
    analyzer = TextAnalyzer(KeywordOptions())  # nothing is searched
    return closing(_open(note.options, note.name, project, analyzer))


def _open(  # noqa: PLR0917
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
