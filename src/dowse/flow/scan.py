"""What has changed in the folder since it was last indexed, from directory entries alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dowse.read import ReadOptions, Root, walk
from dowse.types import FileState, LeftOut, SourceFile


@dataclass(slots=True)
class Changes:
    """The difference between a folder and its index."""

    pending: list[SourceFile] = field(default_factory=list)  # new, or not as they were
    gone: dict[str, FileState] = field(default_factory=dict)  # documents whose file is no more
    unchanged: int = 0
    known: Mapping[str, FileState] = field(default_factory=dict)  # what the index knows, by id
    left_out: list[LeftOut] = field(default_factory=list)


def scan(
    roots: Sequence[Root],
    within: Sequence[Path],
    options: ReadOptions,
    known: Mapping[str, FileState],
) -> Changes:
    """Compares the folder with what the index knows of it."""
    found = walk(roots, options, within)
    changes = Changes(known=known, left_out=list(found.left_out))
    for source in found.sources:
        state = known.get(source.id)
        if state and (state.size, state.mtime_ns) == (source.size, source.mtime_ns):
            changes.unchanged += 1
        else:
            changes.pending.append(source)
    found_ids = {source.id for source in found.sources}
    unseen = _unreachable(roots, found.left_out)
    for id_ in sorted(known.keys() - found_ids):
        if _is_within(id_, roots, within) and not id_.startswith(unseen):
            changes.gone[id_] = known[id_]
    return changes


def _is_within(document_id: str, roots: Sequence[Root], within: Sequence[Path]) -> bool:
    if not within:
        return True
    prefixes = [
        (root.prefix, below)
        for root in roots
        for path in within
        if (below := root.relative(path)) is not None
    ]
    for prefix, below in prefixes:
        place = _below(document_id, prefix)
        if place is not None and (not below or place == below or place.startswith(f"{below}/")):
            return True
    return False


def _unreachable(roots: Sequence[Root], left_out: Sequence[LeftOut]) -> tuple[str, ...]:
    """What the ids of documents start with that cannot be seen now, but need not be gone.

    A drive that is not mounted or a folder that cannot be opened empties no index.
    """
    missing = [root.prefix for root in roots if not root.path.exists()]
    return (*missing, *(f"{item.id}/" for item in left_out if item.id))


def _below(document_id: str, prefix: str) -> str | None:
    if not document_id.startswith(prefix) or (not prefix and document_id.startswith("@")):
        return None
    return document_id.removeprefix(prefix)
