"""Watch a project's roots, and tell which paths are worth looking at again."""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from dowse._index.options import ReadOptions
from dowse._index.source.roots import Root
from dowse._index.source.rules import RULE_FILES, Gate, is_inside
from dowse._index.source.walk import walk
from dowse._model import Announce, Event, silent
from dowse.errors import DowseError

MASS = 1000
"""So many changes at once are cheaper to meet with one walk over the whole root."""

FLOOD = 4000
"""So many events at once, whatever they are of, may be more than the system has kept for us."""

_TICK = 0.25  # seconds between two looks at the roots themselves
_POLL = 2.0  # seconds between two looks at everything, where the system reports no changes
_LONGEST = 10  # a batch is handed over after so many quiet periods even if it is never quiet

# Only names that are gone again need this: what exists and is no source is known by its ending.
_PASSING = re.compile(
    r".*~|4913|sed\w{6}|#.*#|\.#.*|~\$.*|\.~lock\..*|\.goutputstream-.*|"
    r".*\.(?:sw[a-z]|swpx|tmp|temp|part|partial|crdownload|lock|bak|orig)(?:[.\-]\w+)?",
    re.IGNORECASE | re.DOTALL,
)

_State = tuple[int, ...]
"""What distinguishes a root from another one that took its place; for a file also from its past."""


def watch(
    roots: Sequence[Root],
    options: ReadOptions,
    changed: Callable[[frozenset[Path]], None],
    *,
    stop: threading.Event,
    debounce: float = 0.5,
    announce: Announce = silent,
) -> None:
    """Call `changed` with the paths to walk again, until `stop` is set.

    It is called with the roots themselves once watching has begun, whenever a root comes
    back, and when rules or very many files changed; otherwise with files and folders that
    were made, changed, renamed or removed. Changes are collected until it has been quiet for
    `debounce` seconds. While a root is missing nothing is said about what was in it.
    """
    _Watch(roots, options, changed, stop=stop, debounce=debounce, announce=announce).run()


class _Watch:
    def __init__(
        self,
        roots: Sequence[Root],
        options: ReadOptions,
        changed: Callable[[frozenset[Path]], None],
        *,
        stop: threading.Event,
        debounce: float,
        announce: Announce,
    ) -> None:
        self._roots, self._options, self._changed = roots, options, changed
        self._stop, self._debounce, self._announce = stop, debounce, announce
        self._polls = False

    def run(self) -> None:
        missing: set[Root] = set()
        while not self._stop.is_set():
            states = {root: _state(root) for root in self._roots}
            gone = {root for root, state in states.items() if state is None}
            for root in self._roots:
                if root in gone - missing:
                    self._say(f"{root.path} is gone; waiting for it to come back.", len(gone))
                elif root in missing - gone:
                    self._say(f"{root.path} is back.", len(gone))
            missing = gone
            if len(gone) == len(self._roots):
                self._stop.wait(_TICK)
            else:
                self._listen({root: state for root, state in states.items() if state})

    def _listen(self, states: dict[Root, _State]) -> None:
        """Hand over changes until a root comes, goes or is replaced."""
        folders = [root for root, state in states.items() if _is_folder(state)]
        changes = EventFilter(folders, self._options)
        begun = False
        for events in self._batches([root.path for root in folders]):
            now = {root: state for root in self._roots if (state := _state(root))}
            # Another folder where a root was; a file that is another one is an ordinary change.
            if now.keys() != states.keys() or any(
                state != now[root] and (_is_folder(state) or _is_folder(now[root]))
                for root, state in states.items()
            ):
                return
            paths = changes.sift(events)
            paths |= {root.path for root in now if now[root] != states[root]}
            states = now
            if not begun:
                begun, paths = True, {root.path for root in states}
            if paths and not self._stop.is_set():
                self._changed(frozenset(paths))

    def _batches(self, folders: Sequence[Path]) -> Iterator[set[str]]:
        """Yield the paths of events, batch by batch, with an empty batch now and then."""
        import watchfiles  # noqa: PLC0415  only watching needs it

        quiet = max(1, round(self._debounce * 1000))
        while folders:
            try:
                for batch in watchfiles.watch(
                    *folders,
                    watch_filter=None,
                    debounce=_LONGEST * quiet,
                    step=quiet,
                    stop_event=self._stop,
                    rust_timeout=max(quiet, round(_TICK * 1000)),
                    yield_on_timeout=True,
                    force_polling=True if self._polls else None,
                    poll_delay_ms=round(_POLL * 1000),
                    ignore_permission_denied=True,
                ):
                    yield {path for _, path in batch}
            except FileNotFoundError:
                return
            except (OSError, RuntimeError) as error:  # the latter is what watchfiles raises
                if self._polls:
                    raise DowseError(
                        f"The folders cannot be watched: {error}.",
                        "Run `dowse index` after changes instead.",
                    ) from error
                self._polls = True
                self._say(f"Looking for changes every {_POLL:g} seconds, because: {error}.", 0)
            else:
                return
        while not self._stop.wait(_TICK):
            yield set()

    def _say(self, note: str, gone: int) -> None:
        total = len(self._roots)
        self._announce(Event("watch", total - gone, total, unit="roots", note=note))


def _state(root: Root) -> _State | None:
    try:
        status = root.path.stat()
    except OSError:
        return None
    if stat.S_ISDIR(status.st_mode):
        return status.st_dev, status.st_ino
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size


def _is_folder(state: _State) -> bool:
    return len(state) == 2


class EventFilter:
    """Sifts events: what cannot concern a source is dropped, what changes the rules widens."""

    def __init__(self, roots: Sequence[Root], options: ReadOptions) -> None:
        self._roots = roots
        self._options = options
        self._linked: tuple[str, ...] | None = None

    def sift(self, events: Collection[str]) -> set[Path]:
        """Return the paths to look at again; a root itself when all of it is concerned."""
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
        if self._linked is None:
            self._linked = tuple(map(os.fspath, walk(self._roots, self._options).linked))
        # In a place that is hidden but reached by a link, anything may matter.
        if _changes_rules(below, gate) or any(is_inside(event, real) for real in self._linked):
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


def _changes_rules(below: str, gate: Gate) -> bool:
    if below in {"dowse.toml", ".git/info/exclude"}:
        return True
    folder, _, name = below.rpartition("/")
    return name in RULE_FILES and (not folder or gate.reaches(folder, is_folder=True))
