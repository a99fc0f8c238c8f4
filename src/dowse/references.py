"""From what a person types to the passage they mean."""

from __future__ import annotations

import difflib
import os.path
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dowse.errors import DowseError, NotFound, UsageError
from dowse.ports import Reading
from dowse.read import Root
from dowse.text.fold import fold
from dowse.types import StoredDocument

_LINES = re.compile(
    r"(?P<name>.+?):(?P<line>\d{1,12})(?::(?P<count>\d{1,12})|-(?P<last>\d{1,12}))?$"
)
_SHORT = re.compile(r"#?(?P<digits>[0-9a-f]{4,16})$")


@dataclass(frozen=True, slots=True)
class Passage:
    """A document, or some lines of it."""

    document: str
    title: str
    first_line: int
    last_line: int
    total_lines: int
    text: str


def find_passage(
    reading: Reading, reference: str, roots: Sequence[Root], here: Path | None = None
) -> Passage:
    """The passage that a reference means; raises `NotFound` with what comes nearest.

    `here` is the folder that paths begin at, by default the current one.
    """
    document = _document(reading, reference, roots, here)
    if document is not None:
        return _lines(document, 1, None)
    match = _LINES.match(reference)
    name = match["name"] if match else reference
    document = _document(reading, name, roots, here) if match else None
    first, last = 1, None
    if document is None:
        short = _SHORT.match(name)
        if short is None:
            raise _not_found(reading, name)
        document, first, last = _by_short_id(reading, short["digits"])
    if match:
        return _lines(document, int(match["line"]), _count(match))
    return _lines(document, first, last and last - first + 1)


def _count(match: re.Match[str]) -> int | None:
    """How many lines are meant; None: all that follow."""
    if match["last"] is None:
        return int(match["count"]) if match["count"] else None
    lines = int(match["last"]) - int(match["line"]) + 1
    if lines < 1:
        raise UsageError(f"{match[0]} ends before it begins.", "Write it as path:first-last.")
    return lines


def _document(
    reading: Reading, name: str, roots: Sequence[Root], here: Path | None
) -> StoredDocument | None:
    by_path = reading.catalogue.document(name) or _by_path(reading, name, roots, here)
    return by_path or _by_ending(reading, name)


def _by_path(
    reading: Reading, name: str, roots: Sequence[Root], here: Path | None
) -> StoredDocument | None:
    """A path as the shell completes it, from the current folder."""
    # Unlike pathlib's, this leaves a ~name that is nobody's home as it is.
    path = Path(here or "", os.path.expanduser(name))  # noqa: PTH111
    for root in roots:
        try:
            found = reading.catalogue.document(root.id_of(path))
        except (DowseError, ValueError):  # the latter for what cannot be a path
            continue
        if found is not None:
            return found
    return None


def _by_ending(reading: Reading, name: str) -> StoredDocument | None:
    """The one document whose path ends like this, with or without its ending."""
    wanted = f"/{fold(name).lstrip('/')}"
    paths = {entry.id: f"/{fold(entry.id)}" for entry in reading.catalogue.documents()}
    ids = [
        id_
        for id_, path in paths.items()
        if path.endswith(wanted) or path.rpartition(".")[0].endswith(wanted)
    ]
    if len(ids) > 1:
        some = ", ".join(ids[:5])
        raise UsageError(f"{name!r} can mean {len(ids)} documents: {some}.", "Give more of it.")
    return reading.catalogue.document(ids[0]) if ids else None


def _by_short_id(reading: Reading, digits: str) -> tuple[StoredDocument, int, int]:
    """The document that a short id means, with the first and last line of what it stands for."""
    found = reading.catalogue.find(digits)
    documents = {place[0] for place in found}
    if not found:
        raise NotFound(f"Nothing has the id {digits!r}.", "List documents with: dowse ls")
    if len(documents) > 1:
        listed = ", ".join(sorted(documents)[:5])
        raise UsageError(f"{digits!r} can mean several: {listed}.", "Give more digits.")
    document = reading.catalogue.document(found[0][0])
    if document is None:
        raise NotFound(f"{found[0][0]} is gone.", "Try again.")
    return document, min(place[1] for place in found), max(place[2] for place in found)


def _lines(document: StoredDocument, first: int, count: int | None) -> Passage:
    lines = document.text.split("\n")
    if lines[-1] == "" and len(lines) > 1:
        lines.pop()  # the end of the last line, not a line of its own
    if not 1 <= first <= len(lines):
        raise UsageError(
            f"{document.entry.id} has {len(lines)} lines, not a line {first}.",
            "Name a line that it has.",
        )
    last = len(lines) if count is None else min(len(lines), first + max(1, count) - 1)
    text = "\n".join(lines[first - 1 : last])
    return Passage(document.entry.id, document.entry.fields.title, first, last, len(lines), text)


def _not_found(reading: Reading, name: str) -> NotFound:
    ids = [entry.id for entry in reading.catalogue.documents()]
    near = [id_ for id_ in ids if fold(name) in fold(id_)][:3]
    near = near or difflib.get_close_matches(name, ids, n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(near)}?" if near else "List documents with: dowse ls"
    return NotFound(f"There is no document {name!r}.", hint)
