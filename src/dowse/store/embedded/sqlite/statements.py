"""Statements on one connection that several threads may share."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from dowse.store.embedded.failures import content_errors, database_errors
from dowse.store.embedded.sqlite.roots import ROOTS, decoded
from dowse.store.vectors import model_of
from dowse.types import Stamp

_T = TypeVar("_T")


class Statements:
    """Asks the truth, one statement at a time."""

    def __init__(self, connection: sqlite3.Connection, database: Path) -> None:
        self._connection = connection
        self._one_at_a_time = threading.Lock()  # threads may share a reading, not a statement
        self._database = database

    @property
    def generation(self) -> int:
        """How many batches the index has taken."""
        return int(self._meta("generation") or 0)

    def stamp(self) -> Stamp | None:
        """What the index was built with; None while it is new."""
        stamp = self._meta("stamp")
        with content_errors():
            return None if stamp is None else json.loads(stamp)

    def roots(self) -> list[str]:
        """The folders that the index was made of, as far as it knows."""
        return decoded(self._meta(ROOTS))

    @property
    def _model(self) -> tuple[str, int]:
        return model_of(self.stamp())

    def _meta(self, name: str) -> str | None:
        row = self._row("SELECT value FROM meta WHERE name = ?", name)
        return None if row is None else str(row[0])

    def _row(self, query: str, *values: object) -> Any:
        return next(iter(self._rows(query, *values)), None)

    def _rows(self, query: str, *values: object) -> list[Any]:
        with database_errors(self._database), self._one_at_a_time:
            return self._connection.execute(query, values).fetchall()

    def _made(self, make: Callable[[Sequence[Any]], _T], query: str, *values: object) -> list[_T]:
        """What is made of each row, of which only one is held at a time."""
        with database_errors(self._database), self._one_at_a_time, content_errors():
            return [make(row) for row in self._connection.execute(query, values)]
