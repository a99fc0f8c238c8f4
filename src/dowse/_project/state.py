"""Notes in a project's folder, next to the index: small files that may be lost.

`run.json` says how far an indexing run is, so that other processes can say it; `unread.json` which
files could not be read, so that a status does not call them new.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from dowse._model import Announce, Event, SourceFile
from dowse._util.files import read_small, replace_file
from dowse._util.process import is_running

_RUN, _UNREAD = "run.json", "unread.json"
_UNITS = ("files", "chunks")
_FEW = 20  # of them: a run of fewer is over before anybody looks
_SECONDS = 0.5  # between two notes
_ENDED = 0  # instead of the number of a process


class UnfinishedRun(Struct, frozen=True):
    """An indexing run that has not come to its end."""

    done: int
    total: int
    is_running: bool  # False: it was stopped, or failed
    unit: str = "files"  # or "chunks": all files are stored, and get their vectors

    def sentence(self, project: str) -> str:
        """Say how far it is; `project` is its name as a shell takes it."""
        so_far = f"{self.done:,} of {self.total:,} {self.unit}"
        if self.is_running and self.unit == "chunks":
            return f"Keyword search is ready. Embedding: {so_far}."
        if self.is_running:
            return f"The index is being built: {so_far} so far, so results may be incomplete."
        return f"The last run ended after {so_far}. Continue it with: dowse index -p {project}"


@contextmanager
def noted(folder: Path, announce: Announce) -> Iterator[Announce]:
    """Note in a project's folder how far a run is; the note goes when the run is complete.

    Events that count files or chunks are noted now and then; all of them are passed on.
    """
    file = folder / _RUN
    last: tuple[int, int, str] | None = None
    due = 0.0

    def write(process: int, done: int, total: int, unit: str) -> None:
        record = {"process": process, "done": done, "total": total, "unit": unit}
        with suppress(OSError):
            replace_file(file, json.dumps(record).encode())

    def note(event: Event) -> None:
        nonlocal last, due
        if event.unit in _UNITS and event.total is not None and event.total >= _FEW:
            is_new = last is None or last[2] != event.unit
            last = event.done, event.total, event.unit
            if is_new or time.monotonic() >= due:
                write(os.getpid(), *last)
                due = time.monotonic() + _SECONDS
        announce(event)

    try:
        yield note
    except BaseException:
        if last is not None:
            write(_ENDED, *last)
        raise
    with suppress(OSError):
        file.unlink(missing_ok=True)


def unfinished_run(folder: Path) -> UnfinishedRun | None:
    """Read the run that is noted in a project's folder; None when the last one was complete."""
    try:
        record = json.loads(read_small(folder / _RUN))
        process, done, total = int(record["process"]), int(record["done"]), int(record["total"])
        unit = "chunks" if record.get("unit") == "chunks" else "files"
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None
    return UnfinishedRun(done, total, is_running(process), unit)


def note_unread(folder: Path, ids: Iterable[str], began_ns: int, *, whole: bool) -> None:
    """Note the files that a run, which began then, could not read; a `whole` run saw all files."""
    unread = ({} if whole else _unread(folder)) | dict.fromkeys(ids, began_ns)
    with suppress(OSError):  # a note that is missing only makes a status less precise
        if unread:
            replace_file(folder / _UNREAD, json.dumps(unread).encode())
        else:
            (folder / _UNREAD).unlink(missing_ok=True)


def unread_of(folder: Path, sources: Iterable[SourceFile]) -> set[str]:
    """Return those of some files that could not be read, and have not changed since."""
    unread = _unread(folder)
    return {one.id for one in sources if one.mtime_ns < unread.get(one.id, 0)}


def _unread(folder: Path) -> dict[str, int]:
    try:
        record = json.loads(read_small(folder / _UNREAD))
        return {str(id_): int(since) for id_, since in record.items()}
    except (OSError, ValueError, RecursionError, TypeError, AttributeError):
        return {}
