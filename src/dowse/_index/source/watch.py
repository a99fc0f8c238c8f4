"""Tells of changes in a project's roots as they happen."""

from __future__ import annotations

import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from dowse._index.source.changes import EventFilter
from dowse._index.source.options import ReadOptions
from dowse._index.source.roots import Root
from dowse._model import Announce, Event, silent
from dowse.errors import DowseError

_TICK = 0.25  # seconds between two looks at the roots themselves
_POLL = 2.0  # seconds between two looks at everything, where the system reports no changes
_LONGEST = 10  # a batch is handed over after so many quiet periods even if it is never quiet

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
    """Calls `changed` with the paths to walk again, until `stop` is set.

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
        """Hands over changes until a root comes, goes or is replaced."""
        folders = [root for root, state in states.items() if _is_folder(state)]
        changes = EventFilter(folders, self._options)
        begun = False
        for events in self._batches([root.path for root in folders]):
            now = {root: state for root in self._roots if (state := _state(root))}
            if now.keys() != states.keys() or _replaced(states, now):
                return
            paths = changes.sift(events)
            paths |= {root.path for root in now if now[root] != states[root]}
            states = now
            if not begun:
                begun, paths = True, {root.path for root in states}
            if paths and not self._stop.is_set():
                self._changed(frozenset(paths))

    def _batches(self, folders: Sequence[Path]) -> Iterator[set[str]]:
        """The paths of events, batch by batch, with an empty batch now and then."""
        while folders:
            try:
                yield from self._events(folders)
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

    def _events(self, folders: Sequence[Path]) -> Iterator[set[str]]:
        import watchfiles  # noqa: PLC0415  only watching needs it

        quiet = max(1, round(self._debounce * 1000))
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


def _replaced(before: dict[Root, _State], now: dict[Root, _State]) -> bool:
    """Whether another folder is where a root was; that of a file is an ordinary change."""
    return any(
        state != now[root] and (_is_folder(state) or _is_folder(now[root]))
        for root, state in before.items()
    )


def _is_folder(state: _State) -> bool:
    return len(state) == 2
