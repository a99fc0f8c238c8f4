"""Worker processes that prepare files, ahead of the process that stores them.

To read, parse and cut a file and to find its terms needs nothing but the file. A run over many
files does it on several cores; the batches and their contents are the same as on one.

A worker reads requests from its standard input and answers on its standard output, both pickled:
only these two processes have the pipes.
"""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Self, cast

from msgspec import Struct
from msgspec.structs import replace

from dowse._index.prepare import FILE_STAGES, FileBatch, FileStage, prepare
from dowse._model import SourceFile
from dowse._model.ports import Analyzer
from dowse._text.analyzer import terms_of
from dowse._text.file_names import ALWAYS, TEXT, kind_of
from dowse._util.process import begin, cores

_MANY = 200  # files: to start workers takes as long as to prepare some fifty
_MOST_WORKERS = 3  # one process cannot store what more of them prepare
_FILES = 16  # that a worker gets at once
_BATCHES = 1  # that are prepared ahead
# Seconds for some files, to which the time for a slow one is added; without an answer by then, the
# process is ended and its files are prepared elsewhere.
_PATIENCE = 20.0
_GREETING = f"{Path(__file__).parent}\n".encode()  # both processes run the same code
# Of the pipes, and of pickling an analyzer that is not dowse's own.
_FAILURES = (OSError, EOFError, ValueError, TypeError, AttributeError, pickle.PickleError)


def workers_for(files: int) -> int:
    """Say how many workers help to prepare so many files."""
    return 0 if files < _MANY else min(cores() - 1, _MOST_WORKERS)


class Worker:
    """A worker process, as the one sees it that has started it; one thread uses it at a time."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._greeted = False
        self._process: subprocess.Popen[bytes] | None = None
        with suppress(OSError):
            self._process = subprocess.Popen(  # noqa: S603  dowse's own module
                _command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )

    def prepare(self, files: FileBatch) -> FileBatch | None:
        """Return some files prepared; None when the process cannot do it."""
        if self._process is None or self._process.poll() is not None:
            return None
        # A process that is stopped, or waits for a disk, neither answers nor ends.
        overdue = threading.Timer(_PATIENCE + files.read.file_seconds, self.kill)
        overdue.daemon = True
        overdue.start()
        try:
            return self._request(self._process, files)
        except _FAILURES:
            self.kill()  # half an answer may be on its way
            return None
        finally:
            overdue.cancel()

    def _request(self, process: subprocess.Popen[bytes], files: FileBatch) -> FileBatch:
        requests, answers = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        if not self._greeted:
            if answers.readline() != _GREETING:
                raise EOFError("it is no worker")
            _send(self._analyzer, requests)
            self._greeted = True
        _send(files, requests)
        prepared: FileBatch = pickle.load(answers)  # noqa: S301  from the process started above
        return prepared

    def kill(self) -> None:
        """End the process, whatever it does."""
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """Close the pipes to a process that was killed."""
        if self._process is not None:
            with suppress(OSError), self._process:  # leaving it waits, too
                pass


class WorkerPool:
    """Several workers, each of which prepares a few files at a time."""

    def __init__(self, count: int, analyzer: Analyzer) -> None:
        self._workers = [Worker(analyzer) for _ in range(count)]
        self._idle: SimpleQueue[Worker] = SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(max(1, count), "dowse-worker")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.kill()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()

    def prepared(
        self,
        batches: Iterable[FileBatch],
        stages: Sequence[FileStage],
        announce: Callable[[str, int], None],
    ) -> Iterator[FileBatch]:
        """Yield every batch prepared, in their order, with the next one already begun.

        `announce` is told the stage, and how many files of the batch are done.
        """
        begun: deque[tuple[FileBatch, list[_Part]]] = deque()
        for number, batch in enumerate(batches):
            if number == 0 or not self._workers:  # they are still starting
                prepare(batch, stages, announce)
                yield batch
                continue
            begun.append((batch, list(self._parts(batch))))
            if len(begun) > _BATCHES:
                yield _finish(*begun.popleft(), stages, announce)
        while begun:
            yield _finish(*begun.popleft(), stages, announce)

    def _parts(self, batch: FileBatch) -> Iterator[_Part]:
        for needs_converter, group in groupby(batch.sources, _needs_converter):
            sources = list(group)
            for start in range(0, len(sources), _FILES):
                some = sources[start : start + _FILES]
                known = {one.id: batch.known[one.id] for one in some if one.id in batch.known}
                part = _Part(FileBatch(batch.read, batch.chunk, some, known), Future())
                if needs_converter:  # one process converts, and it belongs to this one
                    part.future.cancel()
                else:
                    part.future = self._threads.submit(self._prepare, part.files)
                yield part

    def _prepare(self, files: FileBatch) -> FileBatch | None:
        worker = self._idle.get()
        try:
            return worker.prepare(files)
        finally:
            self._idle.put(worker)


class _Part(Struct):
    """A few files of a batch: a worker prepares them, unless they are taken back."""

    files: FileBatch
    future: Future[FileBatch | None]
    made: FileBatch | None = None  # here

    def is_taken_back(self) -> bool:
        return self.made is None and self.future.cancel()

    def prepare_here(self, stages: Sequence[FileStage]) -> FileBatch:
        prepare(self.files, stages)
        self.made = self.files
        return self.made


def _finish(
    batch: FileBatch,
    parts: Sequence[_Part],
    stages: Sequence[FileStage],
    announce: Callable[[str, int], None],
) -> FileBatch:
    """Take what the workers make of a batch; what none has begun or could do is done here."""
    for number, part in enumerate(parts):
        announce("parse", int(number / len(parts) * len(batch.sources)))
        while not part.future.done() and (last := _take_back(parts)):
            last.prepare_here(stages)
        made = part.made or (None if part.future.cancelled() else part.future.result())
        batch.take(made or part.prepare_here(stages))
    return batch


def _take_back(parts: Sequence[_Part]) -> _Part | None:
    """Return the last part that no worker has begun; none will."""
    return next((part for part in reversed(parts) if part.is_taken_back()), None)


def _needs_converter(source: SourceFile) -> bool:
    return (kind_of(source.id.rpartition("/")[2]) or TEXT) not in ALWAYS


# ── In the worker ────────────────────────────────────────────────────────────


def _command() -> list[str]:
    # -P: the current folder may be anybody's, nothing is imported from it.
    return [sys.executable, "-P", "-m", "dowse._index.workers"]


def main() -> None:
    """Prepare files until there is no request."""
    requests, answers = begin()
    gc.disable()  # what is made of a file has no cycles
    answers.write(_GREETING)
    answers.flush()
    with suppress(EOFError):
        analyzer: Analyzer = pickle.load(requests)  # noqa: S301  from the parent
        while True:
            files: FileBatch = pickle.load(requests)  # noqa: S301  from the parent
            prepare(files, FILE_STAGES)
            with files.clock.timing("store"):  # which would have to find the terms otherwise
                files.put = [
                    replace(one, terms=terms_of(one.chunked, analyzer)) for one in files.put
                ]
            files.texts, files.documents, files.sources, files.known = [], [], (), {}
            _send(files, answers)


def _send(record: object, stream: IO[bytes]) -> None:
    pickle.dump(record, stream, pickle.HIGHEST_PROTOCOL)
    stream.flush()


if __name__ == "__main__":
    main()
