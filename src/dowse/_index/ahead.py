"""Preparing files in other processes, ahead of the one that stores them.

To read, parse and cut a file and to find its terms needs nothing but the file. A run over many
files does it on several cores; the batches and their contents are the same as on one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import groupby
from queue import SimpleQueue

from msgspec import Struct

from dowse._index.batches import batches, prepare
from dowse._index.file_batch import FileBatch, Prepared
from dowse._index.helper import Helper, Share
from dowse._index.index_state import IndexState
from dowse._model import SourceFile
from dowse._text.file_names import ALWAYS, TEXT, kind_of
from dowse._util.clock import Clock
from dowse._util.process import cores

_MANY = 200  # files: to start helpers takes as long as to prepare some fifty
_MOST_HELPERS = 3  # one process cannot store what more of them prepare
_FILES = 16  # that a helper gets at once
_BATCHES = 1  # that are prepared ahead


@contextmanager
def prepared(work: IndexState, clock: Clock) -> Iterator[Iterable[FileBatch]]:
    """The batches of a run; where there are many files and cores, most come prepared."""
    count = min(cores() - 1, _MOST_HELPERS)
    if count < 1 or len(work.changes.pending) < _MANY or not work.words_first:
        yield batches(work)
        return
    helpers = _Helpers(work, count)
    try:
        yield _take_turns(work, helpers, clock)
    finally:
        helpers.stop()


class _Helpers:
    """The processes, each of which prepares a few files at a time."""

    def __init__(self, work: IndexState, count: int) -> None:
        self._all = [Helper(work.read, work.chunk, work.analyzer) for _ in range(count)]
        self._idle: SimpleQueue[Helper] = SimpleQueue()
        for helper in self._all:
            self._idle.put(helper)
        self._threads = ThreadPoolExecutor(count, "dowse-ahead")

    def begin(self, share: Share) -> Future[Prepared | None]:
        return self._threads.submit(self._prepare, share)

    def stop(self) -> None:
        for helper in self._all:
            helper.kill()
        self._threads.shutdown(cancel_futures=True)
        for helper in self._all:
            helper.close()

    def _prepare(self, share: Share) -> Prepared | None:
        helper = self._idle.get()
        try:
            return helper.prepare(share)
        finally:
            self._idle.put(helper)


class _Part(Struct):
    """A few files of a batch, and what is made of them: by a helper, unless it is taken back."""

    files: FileBatch
    future: Future[Prepared | None]
    made: Prepared | None = None  # here

    def is_taken_back(self) -> bool:
        return self.made is None and self.future.cancel()

    def result(self) -> Prepared | None:
        return self.made if self.future.cancelled() else self.future.result()


def _take_turns(work: IndexState, helpers: _Helpers, clock: Clock) -> Iterator[FileBatch]:
    """Yields a batch to be stored while the helpers prepare the next; the first comes as it is."""
    some = batches(work)
    yield next(some)  # while the helpers start
    begun: deque[tuple[FileBatch, list[_Part]]] = deque()
    for batch in some:
        begun.append((batch, list(_parts(batch, helpers))))
        if len(begun) > _BATCHES:
            yield _finish(work, *begun.popleft(), clock)
    while begun:
        yield _finish(work, *begun.popleft(), clock)


def _parts(batch: FileBatch, helpers: _Helpers) -> Iterator[_Part]:
    for needs_converter, group in groupby(batch.sources, _needs_converter):
        sources = list(group)
        for start in range(0, len(sources), _FILES):
            some = sources[start : start + _FILES]
            known = {one.id: batch.known[one.id] for one in some if one.id in batch.known}
            part = _Part(FileBatch(some, known), Future())
            if needs_converter:  # one process converts, and it belongs to this one
                part.future.cancel()
            else:
                part.future = helpers.begin((some, known))
            yield part


def _needs_converter(source: SourceFile) -> bool:
    return (kind_of(source.id.rpartition("/")[2]) or TEXT) not in ALWAYS


def _finish(work: IndexState, batch: FileBatch, parts: list[_Part], clock: Clock) -> FileBatch:
    """Takes what the helpers make of a batch; what none has begun or could do is done here."""
    work.batch, work.stage = batch, "parse"
    for number, part in enumerate(parts):
        work.progress(number / len(parts))
        while not part.future.done() and (last := _take_back(parts)):
            last.made = _prepare_here(work, last.files)
        made = part.result() or _prepare_here(work, part.files)
        batch.take(made)
        work.counts.update(made.counts)
        clock.add(made.seconds)
    return batch


def _take_back(parts: list[_Part]) -> _Part | None:
    """The last part that no helper has begun; none will."""
    return next((part for part in reversed(parts) if part.is_taken_back()), None)


def _prepare_here(work: IndexState, files: FileBatch) -> Prepared:
    batch, work.batch = work.batch, files
    made = prepare(work)
    work.batch = batch
    return made
