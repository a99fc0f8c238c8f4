"""Statements on one connection that several threads may share."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dowse.store.embedded.failures import content_errors, database_errors
from dowse.store.vectors import model_of
from dowse.types import Keys, Stamp

_T = TypeVar("_T")


class Statements:
    """Asks the truth, one statement at a time."""

    def __init__(self, connection: sqlite3.Connection, database: Path) -> None:
        self._connection = connection
        self._one_at_a_time = threading.Lock()  # threads may share a reading, not a statement
        self._database = database

    def meta(self, name: str) -> str | None:
        """What the index says about itself under a name."""
        row = self.row("SELECT value FROM meta WHERE name = ?", name)
        return None if row is None else str(row[0])

    def stamp(self) -> Stamp | None:
        """What the index was built with; None while it is new."""
        stamp = self.meta("stamp")
        with content_errors():
            return None if stamp is None else json.loads(stamp)

    def model(self) -> tuple[str, int]:
        """The key and the dimensions of the model whose vectors the index takes."""
        return model_of(self.stamp())

    def row(self, query: str, *values: object) -> Any:
        """The first row, or None."""
        return next(iter(self.rows(query, *values)), None)

    def rows(self, query: str, *values: object) -> list[Any]:
        """All rows."""
        with database_errors(self._database), self._one_at_a_time:
            return self._connection.execute(query, values).fetchall()

    def keys(self, query: str, *values: object) -> Keys:
        """The keys that the first column lists, ascending."""
        rows = self.rows(query, *values)
        return np.sort(np.fromiter((row[0] for row in rows), np.int64, len(rows)))

    def made(self, make: Callable[[Sequence[Any]], _T], query: str, *values: object) -> list[_T]:
        """What is made of each row, of which only one is held at a time."""
        with database_errors(self._database), self._one_at_a_time, content_errors():
            return [make(row) for row in self._connection.execute(query, values)]
