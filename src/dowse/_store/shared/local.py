"""The indexes of one machine, caught up from the journal of a truth that many machines share."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from dowse._model import Announce, ChunkedDocument, Finding, silent
from dowse._model.ports import Analyzer
from dowse._store import checks
from dowse._store.keyword import KeywordReplica
from dowse._store.lock import writer_lock
from dowse._store.replicas import Indexes, Replicas
from dowse._store.sql.database import Database, SqlConnection
from dowse._store.vectors.replica import VectorReplica

_PATIENCE = 600.0  # seconds for another process of this machine to take what has changed


class LocalIndexes:
    """The keyword and vector index in a folder; every reader brings them up to date."""

    are_shared = False

    def __init__(self, folder: Path, analyzer: Analyzer, announce: Announce = silent) -> None:
        self._folder = folder
        self._analyzer = analyzer
        self._replicas = self._new_replicas(announce)
        self._opening = threading.Lock()
        self._opened: tuple[tuple[str, str], Indexes] | None = None  # with the generation it is of

    def open(self, begin: Callable[[], Database]) -> Indexes:
        """Begin a transaction, and open the replicas at its generation."""
        with self._opening:
            database = begin()
            wanted = database.identity, database.generation_id
            if self._opened and self._opened[0] == wanted and self._opened[1].are_whole:
                return self._opened[1]
            if self._opened and not self._opened[1].are_whole:
                self._replicas.distrust()
            indexes = self._replicas.open(database) if self._folder.is_dir() else None
            if indexes is None:
                # Nobody on this machine may come in between with another generation.
                with writer_lock(self._folder, _PATIENCE):
                    database = begin()
                    self._replicas.catch_up(database, repair=True)
                    indexes = self._replicas.open(database)
            if indexes is None:
                raise AssertionError("replicas that were brought up to date can be opened")
            self._opened = (database.identity, database.generation_id), indexes
            return indexes

    def catch_up(self, database: Database, *, repair: bool) -> None:
        """Bring the replicas to the truth's generation."""
        with writer_lock(self._folder, _PATIENCE):
            self._replicas.catch_up(database, repair=repair)

    def expect(self, documents: Iterable[ChunkedDocument]) -> None:
        """Need nothing: terms are weighed when they are searched for."""

    def rebuild(self, database: Database) -> None:
        """Build both replicas again."""
        with writer_lock(self._folder, _PATIENCE):
            self._opened = None
            self._replicas.rebuild(database)

    def renew(self, database: Database, *, thorough: bool) -> None:
        """Build those replicas again that deleted chunks have worn."""
        with writer_lock(self._folder, _PATIENCE):
            self._replicas.renew(database, thorough=thorough)

    def findings(self, database: Database) -> list[Finding]:
        """Say where the replicas differ from the database."""
        return list(checks.differences(database, self._new_replicas(silent)))

    def discard(self, connection: SqlConnection) -> None:  # noqa: ARG002  (of the port)
        """Remove both replicas."""
        self.close()
        with writer_lock(self._folder, _PATIENCE):
            for path in [*self._folder.glob("keyword*"), *self._folder.glob("vectors*")]:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def close(self) -> None:
        """Close what is open."""
        self._opened = None

    def _new_replicas(self, announce: Announce) -> Replicas:
        keyword, vectors = KeywordReplica(self._folder, self._analyzer), VectorReplica(self._folder)
        return Replicas(self._folder, keyword, vectors, announce)
