"""How long the work on one file may take.

Python cannot interrupt a thread from outside, and a signal reaches only the main thread. So the
loops that read a document ask themselves, often enough, whether they should go on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf


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
