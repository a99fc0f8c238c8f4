"""A process that writes is killed at random moments; the index is always that of a whole batch."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from crash import store_processes
from crash.store_processes import number_in, numbered
from documents import STAMP, PlainAnalyzer
from dowse._store.store import EmbeddedStore
from index_content import content

_TESTS = str(Path(__file__).parents[1])


@contextmanager
def started(what: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, store_processes.__file__, what, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": _TESTS, "OPENBLAS_NUM_THREADS": "1"},
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def write_and_kill(writers: subprocess.Popen[str], moment: float) -> int:
    """Lets a writer work until some time after its first batch; the last batch it has reported."""
    assert writers.stdin
    assert writers.stdout
    print(file=writers.stdin, flush=True)
    pid = last = -1
    while pid < 0 or last < 0:
        word, *rest = writers.stdout.readline().split()
        pid, last = (int(rest[0]), last) if word == "pid" else (pid, int(word))
    time.sleep(moment)
    os.kill(pid, signal.SIGKILL)
    while (line := writers.stdout.readline().strip()) != "killed":
        last = int(line)
    return last


def assert_whole(folder: Path, reported: int) -> None:
    store = EmbeddedStore(folder, PlainAnalyzer())
    with store.read() as reading:
        assert number_in(reading) in {reported, reported + 1}
    assert store.check() == []
    store.close()


def test_an_index_outlives_its_writers(tmp_path: Path, rounds: Callable[[int, int], int]) -> None:
    folder = tmp_path / "index"
    moments = random.Random(20)
    with started("read", folder) as reader:
        with started("write", folder) as writers:
            kills = 0
            while kills < rounds(8, 20) or not list(tmp_path.glob("read-*")):
                assert reader.poll() is None
                kills += 1
                reported = write_and_kill(writers, moments.uniform(0, 0.15))
                assert_whole(folder, reported)
        (tmp_path / "enough").touch()
        generations_seen = int(reader.communicate()[0])
    assert reader.returncode == 0
    assert generations_seen > 1
    assert_equals_one_without_a_kill(folder, tmp_path / "unhurt")


def assert_equals_one_without_a_kill(folder: Path, other: Path) -> None:
    survivor = EmbeddedStore(folder, PlainAnalyzer())
    unhurt = EmbeddedStore(other, PlainAnalyzer())
    with survivor.read() as reading:
        number = number_in(reading)
        assert number is not None
        with unhurt.write() as writing:
            writing.start(STAMP)
            for one in range(number - 1, number + 1):
                writing.apply(numbered(one))
        with unhurt.read() as other_reading:
            assert content(reading) == content(other_reading)
    for store in (survivor, unhurt):
        store.close()
