"""The state of an index that a writer changes: the one that all see, or a hidden one."""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

from dowse._model import Stamp
from dowse._store.remote.head import (
    EPOCH,
    Head,
    drop_epoch,
    epoch_name,
    head_of,
    hidden_name,
    read_head,
    read_state,
)
from dowse._store.remote.rows import In, Row, Rows
from dowse._store.remote.schema import state
from dowse._store.remote.view import View
from dowse.errors import Damaged, DowseError


class WriterState(Protocol):
    """What holds for a writer, row by row."""

    def read(self) -> Head:
        """What holds now."""
        ...

    def put(self, row: Row) -> None:
        """Changes a row of the state."""
        ...

    def new_epoch(self, number: int, stamp: Stamp) -> str:
        """The name of an epoch that is about to begin."""
        ...

    def end_epoch(self, epoch: str) -> None:
        """Removes an epoch after another one has begun."""
        ...


class SharedState:
    """The state as all see it: every change holds at once."""

    def __init__(self, rows: Rows, name: str) -> None:
        self._rows, self._name, self._collection = rows, name, state(name)

    def read(self) -> Head:
        """What holds now."""
        return read_head(self._rows, self._name)

    def put(self, row: Row) -> None:
        """Changes a row of the state."""
        self._rows.put(self._collection, [row])

    def new_epoch(self, number: int, stamp: Stamp) -> str:
        """The name of an epoch that is about to begin."""
        return epoch_name(number, stamp)

    def end_epoch(self, epoch: str) -> None:
        """Removes an epoch after another one has begun."""
        drop_epoch(self._rows, self._name, epoch)


class HiddenState:
    """The state of an index that takes the place of another one when it is published.

    It is in memory only, so that a writer that is killed has changed nothing that counts: the next
    writer of the whole index removes the rows of its epoch.
    """

    def __init__(self, rows: Rows, name: str) -> None:
        self._rows, self._name, self._collection = rows, name, state(name)
        self._state = {row["key"]: row for row in read_state(rows, name)}
        self._former = head_of(self._state.values()).epoch
        self._changed: set[str] = set()  # keys of rows that are to be written
        self._may_count = False  # whether others may see the new epoch

    def read(self) -> Head:
        """What holds for this writer."""
        return head_of(self._state.values())

    def put(self, row: Row) -> None:
        """Changes a row of the state, for this writer alone."""
        self._state[row["key"]] = row
        self._changed.add(row["key"])

    def new_epoch(self, number: int, stamp: Stamp) -> str:  # noqa: ARG002  (of the protocol)
        """The name of an epoch that is about to begin."""
        return hidden_name(number)

    def end_epoch(self, epoch: str) -> None:
        """Removes an epoch after another one has begun; the one that others see stays."""
        if epoch != self._former:
            drop_epoch(self._rows, self._name, epoch)

    def publish(self, view: View) -> None:
        """Makes the hidden epoch count, if all of it is there, and removes the former one."""
        epoch = view.head.epoch
        if epoch == self._former:
            return
        wanted = sum(entry.chunks for entry in view.entries().values())
        found = self._rows.count(view.chunks, In("embedded", [0, 1]))
        if found != wanted:
            raise Damaged(
                f"The new index has {found} chunks instead of {wanted}.",
                "Nothing was replaced. Run the same command again.",
            )
        rest = [self._state[key] for key in sorted(self._changed - {EPOCH})]
        self._rows.put(self._collection, rest)
        self._may_count = True  # also when the answer of the engine is lost
        self._rows.put(self._collection, [self._state[EPOCH]])
        if self._former:
            with suppress(DowseError):  # the next writer removes what is left now
                drop_epoch(self._rows, self._name, self._former)

    def abandon(self) -> None:
        """Removes what is hidden; what others may see already stays."""
        epoch = self.read().epoch
        if epoch != self._former and not self._may_count:
            with suppress(DowseError):  # the next writer removes what is left now
                drop_epoch(self._rows, self._name, epoch)
