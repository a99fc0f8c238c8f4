from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from dowse._util.process import run_parallel


def test_every_job_is_done_once_and_few_are_taken_ahead() -> None:
    taken = 0

    def jobs() -> Iterator[int]:
        nonlocal taken
        for number in range(100):
            taken += 1
            yield number

    results = run_parallel(lambda job: job * 2, jobs(), 3)
    done = [next(results)]
    assert taken <= 3 * 2 + 6
    done += results
    assert sorted(done) == [number * 2 for number in range(100)]


def test_one_worker_keeps_the_order() -> None:
    assert list(run_parallel(lambda job: job, range(50), 1)) == list(range(50))


def test_jobs_run_at_the_same_time() -> None:
    barrier = threading.Barrier(4)

    def meet(job: int) -> int:
        barrier.wait(60)
        return job

    assert sorted(run_parallel(meet, range(4), 4)) == [0, 1, 2, 3]


def test_an_error_ends_the_run_after_what_was_ready() -> None:
    def run(job: int) -> int:
        if job == 5:
            raise ValueError("five")
        return job

    done: list[int] = []
    with pytest.raises(ValueError, match="five"):
        done.extend(run_parallel(run, range(1000), 1))
    assert done[:5] == [0, 1, 2, 3, 4]
    assert len(done) < 10


def test_a_caller_that_stops_asking_ends_the_threads() -> None:
    started: list[int] = []
    results = run_parallel(started.append, range(10_000), 2)
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert len(started) < 100
    assert not [thread for thread in threading.enumerate() if "dowse-embed" in thread.name]


def test_no_jobs() -> None:
    assert list(run_parallel(lambda job: job, [], 4)) == []


def test_an_interrupt_does_not_wait_for_a_slow_job() -> None:
    started, released, ended = threading.Event(), threading.Event(), threading.Event()

    def run(job: int) -> int:
        if job:
            started.set()
            released.wait(timeout=30)
            ended.set()
        return job

    results = run_parallel(run, [0, 1], workers=2)
    assert next(results) == 0
    assert started.wait(timeout=30)
    with pytest.raises(KeyboardInterrupt):
        results.throw(KeyboardInterrupt())  # type: ignore[attr-defined]
    assert not ended.is_set()
    released.set()
    assert ended.wait(timeout=30)
