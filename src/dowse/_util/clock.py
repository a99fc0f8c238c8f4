"""Time: how long stages took, and how long the work on one file may take.

Python cannot interrupt a thread from outside, and a signal reaches only the main thread. So the
loops that read a document ask a `Deadline`, often enough, whether they should go on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import inf


class Clock:
    """Adds up how long each stage took, over all the times it ran."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timing(self, stage: str) -> Iterator[None]:
        """Times what happens inside."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.add({stage: time.perf_counter() - start})

    def add(self, seconds: Mapping[str, float]) -> None:
        """Adds what stages took elsewhere."""
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
        """Raises `TookTooLong` once the time is over."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + self._pause
        if self._clock() > self._end:
            raise TookTooLong(self._seconds)

    def pause(self) -> None:
        """Stops the clock until `resume`: what happens in between is other work."""
        self._left = self._end - self._clock()

    def resume(self) -> None:
        """Goes on with the time that was left."""
        self._end = self._clock() + self._left
