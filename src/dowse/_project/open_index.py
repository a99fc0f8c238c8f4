"""The index of one open project: reading it, and whether it fits the settings."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from shlex import quote

from dowse._config.schema import Settings
from dowse._model import Stamp
from dowse._model.ports import IndexReader
from dowse._project.registry import Project
from dowse._project.run_note import unfinished_run
from dowse._project.stamp import WantedStamp, takes_vectors, wanted_stamp
from dowse._project.wiring import Parts
from dowse.errors import NotFound, StampMismatch


class OpenIndex:
    """What a searcher, an indexer and a caretaker of a project share; safe from several threads."""

    def __init__(self, project: Project, settings: Settings, parts: Parts) -> None:
        self.project = project
        self.settings = settings
        self.parts = parts
        self.roots = project.named_roots
        self._held = threading.local()
        self._fitting: Stamp | None = None  # the last stamp that was found to fit

    @contextmanager
    def hold(self) -> Iterator[None]:
        """All that this thread reads inside comes from one generation, which is opened once."""
        with self.read() as reading:
            before = getattr(self._held, "reading", None)
            self._held.reading = reading
            try:
                yield
            finally:
                self._held.reading = before

    @contextmanager
    def read(self) -> Iterator[IndexReader]:
        """The newest generation of the index, or the one that is held."""
        held = getattr(self._held, "reading", None)
        if held is not None:
            yield held
            return
        with self.parts.store.read() as reading:
            yield reading

    @contextmanager
    def read_usable(self) -> Iterator[tuple[IndexReader, bool]]:
        """A reading that fits the settings, and whether it has vectors."""
        with self.read() as reading:
            stamp = reading.catalogue.stamp()
            if stamp is None:
                raise NotFound(
                    f"The project {self.project.name!r} has not been indexed yet.",
                    f"Index it with: dowse index -p {self.project.typed}",
                )
            if stamp != self._fitting:
                wanted = self.wanted()
                self.check_stamp(stamp, wanted)
                # A model that cannot be had yet may turn out to be another one.
                self._fitting = None if wanted.why_no_model else stamp
            yield reading, takes_vectors(stamp)

    def unfinished(self, reading: IndexReader) -> str:
        """Says that a run has not come to its end, here or on another machine; or nothing."""
        if run := unfinished_run(self.project.folder):
            return run.sentence(self.project.typed)
        # The note of a run is on the machine where it runs; all machines can count the vectors.
        stamp = reading.catalogue.stamp()
        if stamp is None or not takes_vectors(stamp) or self.parts.store.isolation != "document":
            return ""
        sizes = reading.catalogue.sizes()
        if sizes.embedded >= sizes.chunks:
            return ""
        return (
            f"Words find everything; meaning follows: {sizes.embedded:,} of {sizes.chunks:,} chunks"
            " have their vector so far. If no run makes the rest: dowse index -p"
            f" {self.project.typed}"
        )

    def wanted(self) -> WantedStamp:
        """What the index must have been built with for these settings."""
        settings, parts = self.settings, self.parts
        return wanted_stamp(settings.read, settings.chunk, parts.analyzer, parts.embedder)

    def check_stamp(self, stamp: Stamp, wanted: WantedStamp) -> None:
        """Raises `StampMismatch` when the index was built with other settings."""
        if mismatches := wanted.mismatches(stamp):
            raise StampMismatch(
                "The index was built with other settings. " + " ".join(mismatches), self.rebuild
            )

    def closed(self) -> list[str]:
        """Say which folders may not be entered, and what to do about it."""
        return [
            f"{root.path} cannot be entered, so its documents are shown as they were indexed."
            f" Allow yourself to enter it with: chmod u+rwx {quote(str(root.path))}"
            for root in self.roots
            if root.is_closed
        ]

    @property
    def rebuild(self) -> str:
        """The command that builds the index again, in a sentence."""
        return f"Rebuild it with: dowse index --rebuild -p {self.project.typed}"
