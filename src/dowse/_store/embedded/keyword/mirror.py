"""Opening a keyword index also where nothing can be written.

tantivy locks a file in the folder of an index even to read it. Where that file cannot be opened for
writing, the index is opened through a temporary folder of links to its files.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tantivy

_NO_LOCK = "Failed to acquire Lockfile"
_PLACES = ("/dev/shm", "/tmp", "/var/tmp")  # noqa: S108  (each holds a private folder)


def open_searcher(folder: Path) -> tuple[tantivy.Schema, tantivy.Searcher]:
    """The schema and a searcher of an index; raises `ValueError` when it cannot be used."""
    try:
        return _open(folder)
    except ValueError as error:
        if _NO_LOCK not in str(error):
            raise
        try:
            with _mirror(folder, error) as mirror:
                return _open(mirror)  # which has every file open once it is done
        except OSError as gone:  # a writer has just removed the folder
            raise error from gone


def _open(folder: Path) -> tuple[tantivy.Schema, tantivy.Searcher]:
    index = tantivy.Index.open(str(folder))
    return index.schema, index.searcher()


@contextmanager
def _mirror(folder: Path, error: ValueError) -> Iterator[Path]:
    """A temporary folder with a link to each file but the locks."""
    with _temporary_folder(error) as name:
        for path in folder.resolve().iterdir():
            if path.suffix != ".lock":
                Path(name, path.name).symlink_to(path)
        yield Path(name)


def _temporary_folder(error: ValueError) -> tempfile.TemporaryDirectory[str]:
    # Links take no space, so a full disk will do. The current folder, which Python falls back to,
    # is the user's own.
    for place in (os.environ.get("TMPDIR"), *_PLACES):
        try:
            if place:
                return tempfile.TemporaryDirectory(prefix="dowse-", dir=place)
        except OSError:
            continue
    raise error
