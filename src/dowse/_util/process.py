"""This process: its cores and its command, jobs on threads, cancellation and deadlines."""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future


UNNAMED = "a program"
"""What a process is called that runs no command of dowse."""

_command = UNNAMED


def cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_running(process: int) -> bool:
    """Say whether a process with this number runs, of whatever user."""
    if process <= 0:
        return False
    if sys.platform == "win32":  # where os.kill ends the process, whatever the signal
        import ctypes  # noqa: PLC0415  it takes milliseconds to load

        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel.OpenProcess.restype = ctypes.c_void_p
        synchronize, access_denied, wait_timeout = 0x100000, 5, 0x102
        handle = kernel.OpenProcess(synchronize, False, ctypes.c_uint32(process))
        if not handle:
            return ctypes.get_last_error() == access_denied  # somebody else's
        waited = kernel.WaitForSingleObject(ctypes.c_void_p(handle), 0)
        kernel.CloseHandle(ctypes.c_void_p(handle))
        return bool(waited == wait_timeout)
    try:
        os.kill(process, 0)
    except PermissionError:
        return True  # somebody else's
    except (OSError, OverflowError):
        return False
    return True


def name_command(command: str) -> None:
    """Note the command that this process runs, such as `dowse serve`; never its arguments."""
    global _command  # noqa: PLW0603  one process runs one command
    _command = command


def command_name() -> str:
    """Return the command that this process runs."""
    return _command


# ── Jobs on several threads ────────────────────────────────────────────────────

Job = TypeVar("Job")
Result = TypeVar("Result")


def run_parallel(
    run: Callable[[Job], Result], jobs: Iterable[Job], workers: int
) -> Iterator[Result]:
    """Yield the results of jobs, in the order in which they are done.

    Few jobs are taken up ahead of the caller, so that stopping loses little work. An error, an
    interrupt or a caller that stops asking starts no others; those that run are waited for, except
    after an interrupt. Results that were ready before an error are still handed over.
    """
    # Loading it takes longer than most commands work, and few of them embed anything.
    from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait  # noqa: PLC0415

    remaining = iter(jobs)
    pool = ThreadPoolExecutor(workers, thread_name_prefix="dowse-embed")
    patient = True

    def start(most: int) -> list[Future[Result]]:
        return [pool.submit(run, job) for job in itertools.islice(remaining, most)]

    try:
        running = start(2 * workers)  # one waits for each that runs, so that no thread idles
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            ready = [future for future in running if future in done]
            running = [future for future in running if future not in done] + start(len(ready))
            for future in sorted(ready, key=lambda one: one.exception() is not None):
                yield future.result()
    except KeyboardInterrupt:
        patient = False  # after Ctrl-C nobody waits for a slow endpoint
        raise
    finally:
        pool.shutdown(wait=patient, cancel_futures=True)


# ── Cooperative cancellation, and how long work takes ───────────────────────────

# A thread cannot be ended from outside. Who gives up on an answer says so here, and the stages of
# the work look.

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
        self._end = clock() + seconds

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
