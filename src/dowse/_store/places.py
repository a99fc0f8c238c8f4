"""The indexes of projects, wherever they are: in the folder of the project, or in a database."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from dowse._model import Announce, silent
from dowse._model.ports import Analyzer, IndexPlaces, Store
from dowse._model.store_options import StoreOptions
from dowse._store.lock import writer_lock
from dowse._store.replicas import OpenVectors, Replica
from dowse._store.sql.sqlite import noted_roots
from dowse._store.store import DATABASE, EmbeddedStore
from dowse._store.vectors.replica import VectorReplica

if TYPE_CHECKING:
    from dowse._store.shared.places import SharedPlaces

INDEX = "index"
"""The folder of the index in that of the project."""

_NOTE = "remote.json"  # as the shared places call it; without one nothing of them is loaded


class EmbeddedPlaces(Struct, frozen=True):
    """The indexes of projects, each in a folder of this machine."""

    vectors: Callable[[Path], Replica[OpenVectors]] = VectorReplica  # what finds vectors

    def store(
        self, project: Path, analyzer: Analyzer, announce: Announce = silent
    ) -> EmbeddedStore:
        """The store of the project in a folder; nothing is opened yet."""
        return EmbeddedStore(project / INDEX, analyzer, announce, self.vectors)

    def holding(self, projects: Path) -> list[str]:
        """The names of those folders among the projects that hold an index."""
        return [path.parent.parent.name for path in projects.glob(f"*/{INDEX}/{DATABASE}")]

    def roots(self, project: Path) -> list[str]:
        """The folders that an index was made of; nothing when it cannot be read."""
        return noted_roots(project / INDEX / DATABASE)

    def undisturbed(self, project: Path) -> AbstractContextManager[None]:
        """Keeps writers away from an index, if there is one; raises `Locked` while one works."""
        index = project / INDEX
        lock = writer_lock(index, wait=0) if index.is_dir() else nullcontext()
        if os.name != "nt":
            return lock
        # Windows moves no folder in which a file is open, such as the lock. For the same reason, a
        # writer that comes after this look keeps the folder in its place.
        with lock:
            return nullcontext()

    def carry(self, project: Path, to: Path) -> None:
        """Does nothing: all of the index is in the folder of its project."""

    def remove(self, project: Path) -> None:
        """Removes nothing: all of the index is in the folder of its project."""


class AllPlaces:
    """Embedded indexes, and those that the folder of a project has a note of."""

    def __init__(self, embedded: IndexPlaces) -> None:
        self._embedded = embedded

    def store(self, project: Path, analyzer: Analyzer, announce: Announce) -> Store:
        """The embedded store of the project in a folder; nothing is opened yet."""
        return self._embedded.store(project, analyzer, announce)

    def shared(
        self, project: Path, options: StoreOptions, analyzer: Analyzer, announce: Announce
    ) -> Store:
        """The store of a project in the database of the settings; nothing is opened yet."""
        return _shared().store(project, options, analyzer, announce)

    def holding(self, projects: Path) -> list[str]:
        """The names of those folders among the projects that hold an index, or a note of one."""
        noted = [path.parent.name for path in projects.glob(f"*/{_NOTE}")]
        return list(dict.fromkeys([*self._embedded.holding(projects), *noted]))

    def roots(self, project: Path) -> list[str]:
        """The folders that an index was made of; nothing when it cannot be read."""
        found = self._embedded.roots(project)
        return found or (_shared().roots(project) if _is_noted(project) else [])

    @contextmanager
    def undisturbed(self, project: Path) -> Iterator[None]:
        """Keeps writers away from an index, if there is one; raises `Locked` while one works."""
        with self._embedded.undisturbed(project):
            if not _is_noted(project):
                yield
                return
            with _shared().undisturbed(project):
                yield

    def carry(self, project: Path, to: Path) -> None:
        """Lets another folder know where the index of a project is, if a database has it."""
        if _is_noted(project):
            _shared().carry(project, to)

    def remove(self, project: Path) -> None:
        """Removes what an index has outside the folder of its project; the folder stays."""
        self._embedded.remove(project)
        if _is_noted(project):
            _shared().remove(project)

    def made_here(self, project: Path, url: str) -> bool:
        """Whether the project made the index that it has in a database."""
        return _is_noted(project) and _shared().made_here(project, url)

    def knows(self, project: Path, options: StoreOptions) -> bool:
        """Whether the project has written into the index that these options name."""
        return _is_noted(project) and _shared().knows(project, options)

    def forget(self, project: Path, url: str) -> None:
        """Forgets that a project has an index in a database."""
        if _is_noted(project):
            _shared().forget(project, url)


def _is_noted(project: Path) -> bool:
    return (project / _NOTE).is_file()


def _shared() -> SharedPlaces:
    # Most people never use a database, and reading its rules takes time.
    from dowse._store.shared.places import SharedPlaces  # noqa: PLC0415

    return SharedPlaces()
