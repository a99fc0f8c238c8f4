"""Whether a document's file is still there, and still what was indexed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from dowse._index.source.roots import Root, path_of
from dowse._model import DocumentEntry, FileState
from dowse._search.state import SearchState
from dowse.errors import NotFound


def drop_deleted(search: SearchState) -> None:
    """Leave out what has been deleted since it was indexed."""
    documents = {candidate.document for candidate in search.candidates}
    gone = {document for document in documents if is_gone(search.parts.roots, document)}
    if gone:
        places = enumerate(search.candidates)
        search.drop("fresh", {n: "its file is gone" for n, one in places if one.document in gone})


def is_gone(roots: Sequence[Root], document_id: str) -> bool:
    """Tell whether the file has been deleted; not when its whole root is out of reach."""
    root = _owner(roots, document_id)
    if root and not _is_missing(root.path / document_id.removeprefix(root.prefix)):
        return False  # the path as the id spells it is nearly always the right one
    if root and root.leads_to:
        return False  # a link has taken its place, as good as an unmounted disk
    try:
        path = path_of(roots, document_id)
    except NotFound:  # of a root that the project no longer has
        return True
    # An unmounted disk has lost its root with its files; a deleted file has not.
    return root is None or (_is_missing(path) and not _is_missing(root.path))


def is_stale(
    roots: Sequence[Root], entry: DocumentEntry, files: Callable[[], Mapping[str, FileState]]
) -> bool:
    """Tell whether the file says something else than when it was indexed, or is out of reach."""
    root = _owner(roots, entry.id)
    if root is not None and root.is_elsewhere:
        return False  # what was imported is all there is to know
    with suppress(OSError):
        # The path as the id spells it is quicker to find than the real one.
        plain = root and root.path / entry.id.removeprefix(root.prefix)
        if plain and _is_as_indexed(plain, entry):
            return False
    try:
        path = path_of(roots, entry.id)
        if _is_as_indexed(path, entry):
            return False
        if path.stat().st_size != entry.size:
            return True
        return hashlib.sha256(path.read_bytes()).hexdigest() != files()[entry.id].digest
    except (NotFound, OSError):
        return True


def _is_as_indexed(path: Path, entry: DocumentEntry) -> bool:
    """Tell whether a file has the size and the time that it was indexed with."""
    status = path.stat()
    return (status.st_size, status.st_mtime_ns) == (entry.size, entry.mtime_ns)


def _owner(roots: Sequence[Root], document_id: str) -> Root | None:
    """Find the root of a document: of several that fit, the one with the longest name."""
    fitting = [root for root in roots if document_id.startswith(root.prefix)]
    return max(fitting, key=lambda root: len(root.prefix), default=None)


def _is_missing(path: Path) -> bool:
    """Tell whether there is nothing; a folder that may not be looked into could hold it still."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
