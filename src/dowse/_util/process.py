"""This process: its cores, and its command."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future


UNNAMED = "a program"
"""What a process is called that runs no command of dowse."""

_command = UNNAMED


def cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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
