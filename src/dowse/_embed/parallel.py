"""Jobs on several threads: results as they are done, and a clean end whenever somebody stops."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

Job = TypeVar("Job")
Result = TypeVar("Result")

_WAITING_PER_WORKER = 1  # jobs in hand beyond those that run, so that no thread idles


def run_parallel(
    run: Callable[[Job], Result], jobs: Iterable[Job], workers: int
) -> Iterator[Result]:
    """The results of jobs, in the order in which they are done.

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
        running = start(workers * (1 + _WAITING_PER_WORKER))
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
