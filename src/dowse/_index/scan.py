"""What has changed in the folder since it was last indexed, from directory entries alone."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from dowse._index.options import ReadOptions
from dowse._index.source.files import Unreadable
from dowse._index.source.load import load
from dowse._index.source.roots import Root
from dowse._index.source.walk import walk
from dowse._model import FileState, LeftOut, Shard, SourceFile
from dowse._util.process import TookTooLong


class Changes(Struct):
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
    shard: Shard | None = None,
) -> Changes:
    """Compare the folder with what the index knows of it; of a shard, only its documents.

    `known` need have no more than what begins as `beginnings` says.
    """
    found = walk(roots, options, within)
    sources = found.sources
    if shard is not None:
        known = {id_: state for id_, state in known.items() if shard.holds(id_)}
        sources = tuple(source for source in sources if shard.holds(source.id))
    pending = [
        source
        for source in sources
        if (state := known.get(source.id)) is None or not state.settled or not _same(state, source)
    ]
    missing = sorted(known.keys() - {source.id for source in sources})
    gone = {id_: known[id_] for id_ in _seen(missing, roots, within, found.left_out)}
    return Changes(pending, gone, len(sources) - len(pending), known, list(found.left_out))


def beginnings(roots: Sequence[Root], within: Sequence[Path]) -> list[str]:
    """Return the beginnings of the ids of all documents that a scan of these paths can meet."""
    return [f"{prefix}{place}" for root in roots for prefix, place in _looked_at(root, within)]


def has_changed(source: SourceFile, state: FileState | None, options: ReadOptions) -> bool:
    """Return whether a pending file has other bytes than the index knows.

    Only a file that was read right after it was written must be read again to tell.
    """
    if state is None or not _same(state, source):
        return True
    try:
        return load(source, options).digest != state.digest
    except (Unreadable, TookTooLong):
        return True


def _same(state: FileState, source: SourceFile) -> bool:
    return state.size == source.size and state.mtime_ns == source.mtime_ns


def _seen(
    ids: Iterable[str],
    roots: Sequence[Root],
    within: Sequence[Path],
    left_out: Sequence[LeftOut],
) -> Iterator[str]:
    """Yield those of some documents where a walk has looked; the others need not be gone.

    A drive that is not mounted or a folder that cannot be opened empties no index.
    """
    hidden = {item.id for item in left_out}
    unseen = tuple(f"{id_}/" for id_ in hidden)
    prefixes = sorted((root.prefix for root in roots), reverse=True)  # "" comes last
    lost = {root.prefix for root in roots if str(root.path) in hidden}
    places = {place for root in roots for place in _looked_at(root, within)}
    for id_ in ids:
        prefix = next((one for one in prefixes if id_.startswith(one)), "")
        below = f"{id_.removeprefix(prefix)}/"
        above = ["", *(below[:at] for at, char in enumerate(below) if char == "/")]
        is_seen = not places.isdisjoint((prefix, place) for place in above)
        if is_seen and prefix not in lost and not id_.startswith(unseen):
            yield id_


def _looked_at(root: Root, within: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Yield the root's prefix and the places below it that paths mean; "" for all of the root."""
    for path in within or [root.path]:
        below = "" if root.path.is_relative_to(path) else root.relative(path)
        if below is not None:
            yield root.prefix, unicodedata.normalize("NFC", below)
