"""How far an indexing run is, noted with the project, so that other processes can say it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from dowse._model import Announce, Event
from dowse._util.decoding import read_small
from dowse._util.files import replace_file
from dowse._util.process import is_running

_FILE = "run.json"
_UNITS = ("files", "chunks")
_FEW = 20  # of them: a run of fewer is over before anybody asks
_SECONDS = 0.5  # between two notes
_ENDED = 0  # instead of the number of a process


class UnfinishedRun(Struct, frozen=True):
    """An indexing run that has not come to its end."""

    done: int
    total: int
    is_running: bool  # False: it was stopped, or failed
    unit: str = "files"  # or "chunks": all files are stored, and get their vectors

    def sentence(self, project: str) -> str:
        """It, in a sentence; `project` as a shell takes it."""
        so_far = f"{self.done:,} of {self.total:,} {self.unit}"
        if self.is_running and self.unit == "chunks":
            return f"Words find everything; meaning follows: {so_far} have their vector so far."
        if self.is_running:
            return f"The index is being built: {so_far} so far, so results may be incomplete."
        return f"The last run ended after {so_far}. Continue it with: dowse index -p {project}"


@contextmanager
def noted(folder: Path, announce: Announce) -> Iterator[Announce]:
    """Notes in a project's folder how far a run is; the note goes when the run is complete."""
    note = _Note(folder / _FILE, announce)
    try:
        yield note.take
    except BaseException:
        note.end()
        raise
    with suppress(OSError):
        note.file.unlink(missing_ok=True)


def unfinished_run(folder: Path) -> UnfinishedRun | None:
    """The run that is noted in a project's folder; None when the last one was complete."""
    try:
        record = json.loads(read_small(folder / _FILE))
        process, done, total = int(record["process"]), int(record["done"]), int(record["total"])
        unit = "chunks" if record.get("unit") == "chunks" else "files"
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None
    return UnfinishedRun(done, total, is_running(process), unit)


class _Note:
    def __init__(self, file: Path, announce: Announce) -> None:
        self.file = file
        self._announce = announce
        self._last: tuple[int, int, str] | None = None
        self._next = 0.0

    def take(self, event: Event) -> None:
        """Notes an event that counts files or chunks, and passes every one on."""
        if event.unit in _UNITS and event.total is not None and event.total >= _FEW:
            is_new = self._last is None or self._last[2] != event.unit
            self._last = event.done, event.total, event.unit
            if is_new or time.monotonic() >= self._next:
                self._write(os.getpid())
                self._next = time.monotonic() + _SECONDS
        self._announce(event)

    def end(self) -> None:
        """Notes that the run has ended before its time."""
        if self._last is not None:
            self._write(_ENDED)

    def _write(self, process: int) -> None:
        done, total, unit = self._last or (0, 0, "files")
        record = {"process": process, "done": done, "total": total, "unit": unit}
        with suppress(OSError):
            replace_file(self.file, json.dumps(record).encode())
