"""Notes in a project's folder, next to the index: small files that may be lost.

`run.json` says how far an indexing run is, so that other processes can say it; `unread.json` which
files could not be read, so that a status does not call them new.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from dowse._model import Announce, Event, SourceFile
from dowse._util.files import UNREADABLE, read_small, replace_file
from dowse._util.process import is_running
from dowse.errors import NotFound

_RUN, _UNREAD = "run.json", "unread.json"
_FEW = 20  # files or chunks: a run of fewer is over before anybody looks
_SECONDS = 0.5  # between two notes

_Note = TypeVar("_Note")


class UnfinishedRun(msgspec.Struct, frozen=True):
    """An indexing run that has not come to its end."""

    process: int  # 0: it was stopped, or failed
    done: int
    total: int
    unit: str = "files"  # or "chunks": all files are stored, and get their vectors

    @property
    def is_running(self) -> bool:
        """Tell whether its process still runs."""
        return is_running(self.process)

    def sentence(self, project: str) -> str:
        """Say how far it is; `project` is its name as a shell takes it."""
        so_far = f"{self.done:,} of {self.total:,} {self.unit}"
        if not self.is_running:
            # Vectors are counted in the index, which may have kept fewer than were made.
            where = (
                "before every chunk had its vector" if self.unit == "chunks" else f"after {so_far}"
            )
            return f"The last run ended {where}. Continue it with: dowse index -p {project}"
        if self.unit == "chunks":
            return f"Keyword search is ready. Embedding: {so_far}."
        return f"The index is being built: {so_far} so far, so results may be incomplete."


@contextmanager
def noted(folder: Path, announce: Announce) -> Iterator[Announce]:
    """Note in a project's folder how far a run is; the note goes when the run is complete.

    Events that count files or chunks are noted now and then; all of them are passed on. A run that
    goes on where another one was stopped counts the files of both.
    """
    last: UnfinishedRun | None = None
    former = unfinished_run(folder)
    file = folder / "project.toml"
    is_project = file.exists()
    stored = 0  # files that the former run has stored
    due = 0.0

    def note(event: Event) -> None:
        nonlocal last, due, stored
        if event.unit == "files" and event.total:
            if last is None and former and former.unit == "files":
                stored = max(0, former.total - event.total)
            event = replace(event, done=event.done + stored, total=event.total + stored)
        if event.unit in {"files", "chunks"} and event.total is not None and event.total >= _FEW:
            is_new = last is None or last.unit != event.unit
            last = UnfinishedRun(os.getpid(), event.done, event.total, event.unit)
            if is_new or time.monotonic() >= due:
                _write(folder / _RUN, last)
                due = time.monotonic() + _SECONDS
                if is_project and not file.exists():
                    raise NotFound("The project has been removed.", "See: dowse project list")
        announce(event)

    try:
        yield note
    except BaseException:
        if last is not None:
            _write(folder / _RUN, replace(last, process=0))
        raise
    _write(folder / _RUN, None)


def unfinished_run(folder: Path) -> UnfinishedRun | None:
    """Read the run that is noted in a project's folder; None when the last one was complete."""
    return _read(folder / _RUN, UnfinishedRun)


def note_unread(folder: Path, ids: Iterable[str], began_ns: int, *, whole: bool) -> None:
    """Note the files that a run, which began then, could not read; a `whole` run saw all files."""
    known = {} if whole else _read(folder / _UNREAD, dict[str, int])
    _write(folder / _UNREAD, (known or {}) | dict.fromkeys(ids, began_ns))


def unread_of(folder: Path, sources: Iterable[SourceFile]) -> set[str]:
    """Return those of some files that could not be read, and have not changed since."""
    unread = _read(folder / _UNREAD, dict[str, int]) or {}
    return {one.id for one in sources if one.mtime_ns < unread.get(one.id, 0)}


def _read(file: Path, kind: type[_Note]) -> _Note | None:
    try:
        return msgspec.json.decode(read_small(file), type=kind)
    except UNREADABLE:
        return None


def _write(file: Path, note: UnfinishedRun | dict[str, int] | None) -> None:
    """Write a note, or remove it when there is nothing to say; if it cannot be, it is only lost."""
    with suppress(OSError):
        if note:
            replace_file(file, msgspec.json.encode(note))
        else:
            file.unlink(missing_ok=True)
