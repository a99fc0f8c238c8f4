"""Where embedded indexes are: one folder in that of each project."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from msgspec import Struct

from dowse._model import Announce, silent
from dowse._model.ports import Analyzer
from dowse._store.embedded.lock import writer_lock
from dowse._store.embedded.replica import OpenVectors, Replica
from dowse._store.embedded.sqlite.roots import noted_roots
from dowse._store.embedded.store import DATABASE, EmbeddedStore
from dowse._store.embedded.vectors.replica import VectorReplica

INDEX = "index"
"""The folder of the index in that of the project."""


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
