"""An index in an engine on this machine or on others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

from dowse.errors import DowseError, StampMismatch
from dowse.ports import Analyzer, Isolation, Reading
from dowse.store.remote.catalogue import RemoteCatalogue, Viewing
from dowse.store.remote.head import FORMAT, Head, read_head
from dowse.store.remote.lease import WHOLE, claimed
from dowse.store.remote.links import RemoteLinks
from dowse.store.remote.repairing import findings, sweep
from dowse.store.remote.rows import Rows
from dowse.store.remote.schema import records
from dowse.store.remote.searching import RemoteKeywords, RemoteVectors, Selection
from dowse.store.remote.shared import SharedCounts
from dowse.store.remote.view import View
from dowse.store.remote.vocabulary import RemoteTextVectors, RemoteVocabulary
from dowse.store.remote.writing import RemoteWriting
from dowse.types import Finding, Keys

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

    def view(self) -> View:
        """What holds now."""
        self._look_up_name()
        return View(self.rows, self.name, self._head(), self.analyzer, self.shared)

    @contextmanager
    def read(self) -> Iterator[Reading]:
        """Opens the index as it is now; a document is seen in the version that is met first."""
        of = Viewing(self.view())
        yield Reading(
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
        self._look_up_name()
        self.rows.make(self.shared.records)
        with claimed(self.rows, self.shared.records, part, wait):
            self._note()
            yield RemoteWriting(self, part)

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
            with claimed(self.rows, self.shared.records, WHOLE, wait):
                for name in self.rows.names(f"{self.name}_chunks_"):
                    self.rows.drop(name)
            self.rows.drop(self.shared.records.name)
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

    def _head(self) -> Head:
        head = read_head(self.rows, self.shared.records)
        if head.format > FORMAT:
            raise StampMismatch(
                f"The index in {self.place} was written by a later version of dowse.",
                "Use that version here as well: pip install --upgrade dowse",
            )
        return head
