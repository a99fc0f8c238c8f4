"""An index in an engine on this machine or on others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar, cast

from dowse import DISTRIBUTION
from dowse._model import Finding, Keys
from dowse._model.ports import Analyzer, IndexReader, Isolation
from dowse._store.remote.catalogue import RemoteCatalogue, Viewing
from dowse._store.remote.head import FORMAT, OLDEST, Head, epochs_of, read_head, take_over
from dowse._store.remote.lease import WHOLE, claimed
from dowse._store.remote.links import RemoteLinks
from dowse._store.remote.repairing import findings, sweep
from dowse._store.remote.rows import Rows
from dowse._store.remote.schema import chunks, records, state
from dowse._store.remote.searching import RemoteKeywords, RemoteVectors, Selection
from dowse._store.remote.shared import SharedCounts
from dowse._store.remote.state import HiddenState, SharedState
from dowse._store.remote.view import View
from dowse._store.remote.vocabulary import RemoteTextVectors, RemoteVocabulary
from dowse._store.remote.writing import RemoteWriting
from dowse.errors import DowseError, StampMismatch

_State = TypeVar("_State", SharedState, HiddenState)

OpenRows = Callable[[], Rows]
"""Opens the connection to an engine; nothing is asked of it yet."""


class RemoteStore:
    """An index that other machines can read and write as well."""

    isolation: Isolation = "document"

    def __init__(
        self,
        open_rows: OpenRows,
        name: str | Callable[[], str],
        analyzer: Analyzer,
        note: Callable[[], None] = lambda: None,
    ) -> None:
        self._naming = name if callable(name) else lambda: name
        self.name = self._naming()
        self.analyzer = analyzer
        self.shared = SharedCounts(records(self.name))
        self._open_rows = open_rows
        self._opened: Rows | None = None
        self._note = note  # writes into the project's folder where its index is

    @property
    def rows(self) -> Rows:
        """The connection to the engine."""
        if self._opened is None:
            self._opened = self._open_rows()
        return self._opened

    @property
    def place(self) -> str:
        """Where the index is kept, for people."""
        return f"{self.rows.place}/{self.name}"

    def bytes(self) -> int:
        """About how many bytes its texts and vectors take; engines do not say what they use."""
        view = self.view()
        if view.is_new:
            return 0
        entries = view.entries().values()
        texts = sum(entry.state.size for entry in entries)
        row = 4 * view.chunks.dimensions + 12 * 200  # a vector, and about 200 weighted terms
        return texts + row * sum(entry.chunks for entry in entries)

    def view(self, head: Head | None = None) -> View:
        """What holds now, or what holds for a writer."""
        self._look_up_name()
        head = self._usable(head or read_head(self.rows, self.name))
        return View(self.rows, self.name, head, self.analyzer, self.shared)

    @contextmanager
    def read(self) -> Iterator[IndexReader]:
        """Opens the index as it is now; a document is seen in the version that is met first."""
        of = Viewing(self.view())
        yield IndexReader(
            RemoteCatalogue(of),
            RemoteLinks(of),
            RemoteVocabulary(of),
            RemoteTextVectors(of),
            RemoteKeywords(of),
            RemoteVectors(of),
            cast("Callable[[Any], Keys]", partial(Selection, of.view)),
        )

    @contextmanager
    def write(self, wait: float = 0.0, part: str = WHOLE) -> Iterator[RemoteWriting]:
        """Becomes the writer of a part; raises `Locked` when another still is after a while."""
        with self._claimed(wait, part):
            yield RemoteWriting(self, part, self._state(SharedState))

    @contextmanager
    def replace(self, wait: float = 0.0) -> Iterator[RemoteWriting]:
        """Becomes the writer of an index that takes the place of this one when the block ends."""
        with self._claimed(wait, WHOLE):
            hidden = self._state(HiddenState)
            try:
                writing = RemoteWriting(self, WHOLE, hidden)
                yield writing
                writing.publish(hidden)
            except BaseException:
                hidden.abandon()
                raise

    @contextmanager
    def _claimed(self, wait: float, part: str) -> Iterator[None]:
        self._look_up_name()
        self.rows.make(self.shared.records)
        self.rows.make(state(self.name))
        with claimed(self.rows, state(self.name), part, wait):
            take_over(self.rows, self.name)
            self._note()
            yield

    def _state(self, kind: type[_State]) -> _State:
        return kind(self.rows, self.name)

    def check(self) -> list[Finding]:
        """Looks at every document; an empty list means that the index is whole."""
        try:
            return findings(self.view())
        except DowseError as error:
            return [Finding(error.message, error.hint)]

    def repair(self, wait: float = 0.0) -> None:
        """Finishes what was interrupted, and removes rows that belong to no document."""
        with self.write(wait):
            sweep(self.view())
            self.shared.forget()

    def discard(self, wait: float = 0.0) -> None:
        """Removes the index, known vectors included."""
        self._look_up_name()
        if self.rows.exists(self.shared.records.name):
            self.rows.make(state(self.name))
            with claimed(self.rows, state(self.name), WHOLE, wait):
                for epoch in epochs_of(self.rows, self.name):
                    self.rows.drop(chunks(self.name, epoch, 0).name)
                self.rows.drop(self.shared.records.name)
            self.rows.drop(state(self.name).name)
        self.shared.forget()

    def close(self) -> None:
        """Closes the connection."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _look_up_name(self) -> None:
        """Another process may have named the index since this store was made."""
        name = self._naming()
        if name != self.name:
            self.name, self.shared = name, SharedCounts(records(name))

    def _usable(self, head: Head) -> Head:
        if head.epoch and head.format < OLDEST:
            raise StampMismatch(
                f"The index in {self.place} was written by an earlier version of dowse.",
                "Rebuild it with: dowse index --rebuild",
            )
        if head.format > FORMAT:
            raise StampMismatch(
                f"The index in {self.place} was written by a later version of dowse.",
                f"Use that version here as well: pip install --upgrade {DISTRIBUTION}",
            )
        return head
