"""Statements on one connection that several threads may share."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from dowse._model import Keys, Stamp
from dowse._store.embedded.failures import content_errors, database_errors
from dowse._store.vectors import model_of
from dowse._util.arrays import np

_T = TypeVar("_T")
_R = TypeVar("_R")


def checked(shape: type[_T], rows: Sequence[Any]) -> list[_T]:
    """Rows whose values are of the kinds that a shape names; raises `Damaged` for others.

    SQLite keeps any value in any column, so a damaged file can hold text where a number is meant.
    """
    with content_errors():
        return msgspec.convert(rows, list[shape], builtin_types=(bytes,))  # type: ignore[valid-type]


class Statements:
    """Asks the truth, one statement at a time."""

    def __init__(self, connection: sqlite3.Connection, database: Path) -> None:
        self._connection = connection
        self._one_at_a_time = threading.Lock()  # threads may share a reading, not a statement
        self._database = database

    def meta(self, name: str) -> str | None:
        """What the index says about itself under a name."""
        row = self.row(tuple[str], "SELECT value FROM meta WHERE name = ?", name)
        return None if row is None else row[0]

    def generation(self) -> int:
        """How many batches the index has taken."""
        with content_errors():
            return int(self.meta("generation") or 0)

    def stamp(self) -> Stamp | None:
        """What the index was built with; None while it is new."""
        stamp = self.meta("stamp")
        with content_errors():
            return None if stamp is None else msgspec.json.decode(stamp, type=dict[str, Any])

    def model(self) -> tuple[str, int]:
        """The key and the dimensions of the model whose vectors the index takes."""
        with content_errors():
            return model_of(self.stamp())

    def row(self, shape: type[_T], query: str, *values: object) -> _T | None:
        """The first row, or None."""
        return next(iter(self.rows(shape, query, *values)), None)

    def rows(self, shape: type[_T], query: str, *values: object) -> list[_T]:
        """All rows; raises `Damaged` when one has a value of another kind than its shape."""
        with database_errors(self._database), self._one_at_a_time:
            found = self._connection.execute(query, values).fetchall()
        return checked(shape, found)

    def keys(self, query: str, *values: object) -> Keys:
        """The keys that the first column lists, ascending."""
        rows = self.rows(tuple[int], query, *values)
        return np.sort(np.fromiter((row[0] for row in rows), np.int64, len(rows)))

    def columns(self, names: Sequence[str], query: str, *values: object) -> list[Keys]:
        """Columns of whole numbers, in the order of the rows.

        As one string each: to hand over a million rows takes twice as long.
        """
        joined = ", ".join(f"group_concat({name})" for name in names)
        ((*texts,),) = self.rows(tuple[str | None, ...], f"SELECT {joined} FROM ({query})", *values)
        with content_errors():
            return [_numbers(text or "") for text in texts]

    def made(
        self, make: Callable[[_T], _R], shape: Any, query: str, *values: object, hold: int = 50
    ) -> list[_R]:
        """What is made of each row, which has the shape that `make` takes; few are held at once."""
        made: list[_R] = []
        with database_errors(self._database), self._one_at_a_time, content_errors():
            cursor = self._connection.execute(query, values)
            while rows := cursor.fetchmany(hold):
                made += map(make, checked(shape, rows))
        return made


def _numbers(text: str) -> Keys:
    """The whole numbers that a text lists; raises `ValueError` when it lists anything else."""
    if text.strip("0123456789,"):
        raise ValueError(f"{text[:20]!r} is not a list of whole numbers")
    numbers: Keys = np.fromstring(text, np.int64, sep=",")
    return numbers
