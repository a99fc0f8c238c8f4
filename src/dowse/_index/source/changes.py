"""From the raw events of a file system to the paths that are worth looking at again."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Sequence
from pathlib import Path

from dowse._index.source.ignore import RULE_FILES
from dowse._index.source.options import ReadOptions
from dowse._index.source.roots import Root
from dowse._index.source.rules import Gate, is_inside
from dowse._index.source.walk import walk

MASS = 1000
"""So many changes at once are cheaper to meet with one walk over the whole root."""

FLOOD = 4000
"""So many events at once, whatever they are of, may be more than the system has kept for us."""

_GIT_EXCLUDE = ".git/info/exclude"
_SETTINGS = "dowse.toml"

# Only names that are gone again need this: what exists and is no source is known by its ending.
_PASSING = re.compile(
    r".*~|4913|sed\w{6}|#.*#|\.#.*|~\$.*|\.~lock\..*|\.goutputstream-.*|"
    r".*\.(?:sw[a-z]|swpx|tmp|temp|part|partial|crdownload|lock|bak|orig)(?:[.\-]\w+)?",
    re.IGNORECASE | re.DOTALL,
)


class EventFilter:
    """Sifts events: what cannot concern a source is dropped, what changes the rules widens."""

    def __init__(self, roots: Sequence[Root], options: ReadOptions) -> None:
        self._roots = roots
        self._options = options
        self._linked: tuple[str, ...] | None = None

    def sift(self, events: Collection[str]) -> set[Path]:
        """The paths to look at again; a root itself when all of it is concerned."""
        if len(events) > FLOOD:
            return {root.path for root in self._roots}
        gates = {root: Gate(str(root.path), self._options) for root in self._roots}
        paths: set[Path] = set()
        for event in events:
            for root in self._roots:
                if is_inside(event, str(root.path)):
                    paths |= self._judge(event, root, gates[root])
        for root in self._roots:
            inside = {path for path in paths if path.is_relative_to(root.path)}
            if root.path in inside or len(inside) > MASS:
                paths = paths - inside | {root.path}
        return paths

    def _judge(self, event: str, root: Root, gate: Gate) -> set[Path]:
        path = Path(event)
        below = path.relative_to(root.path).as_posix()
        if below == ".":
            return set()  # a root that comes or goes is noticed by looking at it
        if _changes_rules(below, gate) or self._is_linked(event):
            return {root.path}
        return {path} if self._matters(path, below, gate) else set()

    def _matters(self, path: Path, below: str, gate: Gate) -> bool:
        is_source = gate.reaches(below, is_folder=False)
        try:
            mode = path.lstat().st_mode
        except OSError:  # a source, or a folder that may have held some, is gone
            passing = _PASSING.fullmatch(path.name) is not None
            return is_source or (not passing and gate.reaches(below, is_folder=True))
        if stat.S_ISLNK(mode):
            self._linked = None
        may_lead_on = stat.S_ISLNK(mode) or stat.S_ISDIR(mode)
        return is_source or (may_lead_on and gate.reaches(below, is_folder=True))

    def _is_linked(self, event: str) -> bool:
        """Whether the event is in a place that is hidden but reached by a link."""
        if self._linked is None:
            self._linked = tuple(map(os.fspath, walk(self._roots, self._options).linked))
        return any(is_inside(event, target) for target in self._linked)


def _changes_rules(below: str, gate: Gate) -> bool:
    folder, _, name = below.rpartition("/")
    if below in {_SETTINGS, _GIT_EXCLUDE}:
        return True
    return name in RULE_FILES and (not folder or gate.reaches(folder, is_folder=True))
