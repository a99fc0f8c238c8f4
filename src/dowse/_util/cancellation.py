"""Whether somebody still waits for the work at hand: long work asks, and stops when nobody does.

A thread cannot be ended from outside. A door that gives up on an answer says so here, and the
stages of the work look.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf

_given_up: ContextVar[threading.Event | None] = ContextVar("given_up", default=None)


class GivenUp(Exception):
    """Nobody waits for the answer any more; it reaches no user."""


@contextmanager
def until_given_up() -> Iterator[None]:
    """Work that is begun inside, also in other threads with a copy of the context, can be given up.

    It is given up when the body is left, by an answer or by a cancellation.
    """
    event = threading.Event()
    token = _given_up.set(event)
    try:
        yield
    finally:
        event.set()
        _given_up.reset(token)


def raise_if_cancelled() -> None:
    """Raise `GivenUp` when nobody waits for the work at hand any more."""
    event = _given_up.get()
    if event is not None and event.is_set():
        raise GivenUp


class Clock:
    """Adds up how long each stage took, over all the times it ran."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timing(self, stage: str) -> Iterator[None]:
        """Time what happens inside."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.add({stage: time.perf_counter() - start})

    def add(self, seconds: Mapping[str, float]) -> None:
        """Add what stages took elsewhere."""
        for stage, spent in seconds.items():
            self.seconds[stage] = self.seconds.get(stage, 0.0) + spent


# ── How long the work on one file may take ────────────────────────────────


class TookTooLong(Exception):
    """The work on a file took longer than it may."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"{seconds:g} seconds")
        self.seconds = seconds


class Deadline:
    """A limit to the time that this thread computes; waiting for a busy machine does not count."""

    def __init__(
        self,
        seconds: float = inf,
        clock: Callable[[], float] = time.thread_time,
        pause: float = 0.1,  # seconds between two looks at the clock, which takes a system call
    ) -> None:
        self._seconds = seconds
        self._clock = clock
        self._pause = pause
        self._next_look = 0.0
        self._left = seconds
        self.resume()

    def check(self) -> None:
        """Raise `TookTooLong` once the time is over."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + self._pause
        if self._clock() > self._end:
            raise TookTooLong(self._seconds)

    def pause(self) -> None:
        """Stop the clock until `resume`: what happens in between is other work."""
        self._left = self._end - self._clock()

    def resume(self) -> None:
        """Go on with the time that was left."""
        self._end = self._clock() + self._left
