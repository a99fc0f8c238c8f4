"""Prepare files for the index: read, parse and cut them, here or ahead in worker processes.

This needs nothing but the files. A run over many of them does it on several cores; the batches and
their contents are the same as on one.

A worker reads requests from its standard input and answers on its standard output, both pickled:
only these two processes have the pipes.
"""

from __future__ import annotations

import gc
import pickle
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, Literal, NamedTuple, Self

from msgspec import Struct, field
from msgspec.structs import replace

from dowse._index.child import Child, begin
from dowse._index.chunk import chunk
from dowse._index.markdown.document import parse
from dowse._index.options import ChunkOptions, ReadOptions
from dowse._index.source.files import Unreadable
from dowse._index.source.load import load
from dowse._model import (
    Document,
    FileState,
    IndexedDocument,
    LeftOut,
    SourceFile,
    SourceText,
    Vector,
)
from dowse._model.ports import Analyzer
from dowse._text.analyzer import terms_of
from dowse._text.file_names import ALWAYS, TEXT, kind_of
from dowse._util.process import Clock, Deadline, TookTooLong, cores

# A file changed so shortly before it was read may change again unseen: within a tick of the clock
# that stamps it. Some file systems count only seconds, or pairs of them.
_FINE_NS = 10_000_000
_COARSE_NS = 2_000_000_000

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


class ReadFile(NamedTuple):
    """A file whose text is not the one that the index has."""

    source: SourceFile
    text: SourceText
    state: FileState


class FileBatch(Struct):
    """A few files on their way into the index; every stage adds what it makes of them."""

    read: ReadOptions
    chunk: ChunkOptions
    sources: Sequence[SourceFile] = ()
    known: Mapping[str, FileState] = field(default_factory=dict)  # what the index has, by id
    gone: list[str] = field(default_factory=list)  # ids of documents that are no more
    touched: list[tuple[str, FileState]] = field(default_factory=list)  # only their time is new
    texts: list[ReadFile] = field(default_factory=list)
    documents: list[tuple[ReadFile, Document, Deadline]] = field(default_factory=list)
    put: list[IndexedDocument] = field(default_factory=list)
    vectors: dict[bytes, Vector] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    secrets: int = 0
    counts: dict[str, int] = field(default_factory=dict)  # what each stage has worked on
    clock: Clock = field(default_factory=Clock)

    @contextmanager
    def or_left_out(self, source: SourceFile) -> Iterator[None]:
        """Note why a file cannot be indexed, if what happens inside fails; it leaves the index."""
        try:
            yield
        except Unreadable as error:
            left_out = LeftOut(source.id, error.reason, lost=error.lost)
        except TookTooLong as error:
            left_out = LeftOut(
                source.id,
                f"It takes longer than {error.seconds:g} seconds to parse and cut; split it, or "
                "raise read.file_seconds in the settings.",
            )
        else:
            return
        self.left_out.append(left_out)
        if source.id in self.known:
            self.gone.append(source.id)

    def take(self, part: FileBatch) -> None:
        """Take what was made of the next of its files."""
        self.put += part.put
        self.touched += part.touched
        self.gone += part.gone
        self.left_out += part.left_out
        self.secrets += part.secrets
        for name, count in part.counts.items():
            self.counts[name] = self.counts.get(name, 0) + count
        self.clock.add(part.clock.seconds)


class IndexStage(Struct, frozen=True):
    """One named step of indexing: it changes the work, and returns how much it worked on.

    A step over `files` gets a `FileBatch`, and workers run it ahead of storing; one over the
    `folder`, a `batch` or the `index` gets the state of the run. No shard has the whole index.
    """

    name: str
    run: Callable[[Any], int]
    over: Literal["folder", "files", "batch", "index"] = "index"


def prepare(
    batch: FileBatch,
    stages: Sequence[IndexStage],
    announce: Callable[[str, int], None] = lambda _stage, _files: None,
) -> None:
    """Run the stages on a batch; each is announced, counted and timed."""
    for stage in stages:
        announce(stage.name, 0)
        with batch.clock.timing(stage.name):
            batch.counts[stage.name] = stage.run(batch)


def read_files(batch: FileBatch) -> int:
    """Read the files; one with the bytes that the index knows needs no more work."""
    for source in batch.sources:
        with batch.or_left_out(source):
            now = time.time_ns()
            text = load(source, batch.read)
            tick = _COARSE_NS if source.mtime_ns % 10**9 == 0 else _FINE_NS
            state = FileState(
                source.size, source.mtime_ns, text.digest, now - source.mtime_ns > tick
            )
            known = batch.known.get(source.id)
            if known and known.digest == text.digest:
                batch.touched.append((source.id, state))
            else:
                batch.texts.append(ReadFile(source, text, state))
    return len(batch.sources)


def parse_files(batch: FileBatch) -> int:
    """Parse the texts."""
    for file in batch.texts:
        with batch.or_left_out(file.source):
            deadline = Deadline(batch.read.file_seconds)
            document = parse(file.source.id, file.text.text, deadline)
            deadline.pause()
            batch.documents.append((file, replace(document, secrets=file.text.secrets), deadline))
    return len(batch.texts)


def chunk_files(batch: FileBatch) -> int:
    """Cut the documents, and note which of them are indexed in part."""
    for (source, text, state), document, deadline in batch.documents:
        with batch.or_left_out(source):
            deadline.resume()
            chunked = chunk(document, batch.chunk, deadline)
            secrets = "1 secret was" if text.secrets == 1 else f"{text.secrets} secrets were"
            read_as = f"It is not UTF-8 and was read as {text.encoding}"
            reasons = {
                f"{secrets} left out (read.redact).": text.secrets,
                f"{read_as}; save it as UTF-8 to be sure.": text.encoding,
            }
            batch.left_out += [
                LeftOut(source.id, reason, whole=False)
                for reason, is_so in reasons.items()
                if is_so
            ]
            batch.left_out += document.problems
            batch.secrets += text.secrets
            batch.put.append(IndexedDocument(chunked, state))
    return sum(len(put.chunked.chunks) for put in batch.put)


FILE_STAGES = (
    IndexStage("read", read_files, over="files"),
    IndexStage("parse", parse_files, over="files"),
    IndexStage("chunk", chunk_files, over="files"),
)


# ── In worker processes ──────────────────────────────────────────────────────


class Worker:
    """A worker process, as the one sees it that has started it; one thread uses it at a time."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._greeted = False
        self.process: Child | None = None
        with suppress(OSError):
            self.process = Child(*_WORKER)

    def prepare(self, files: FileBatch) -> FileBatch | None:
        """Return some files prepared; None when the process cannot do it."""
        process = self.process
        if process is None or process.poll() is not None:
            return None
        try:
            # A process that is stopped, or waits for a disk, neither answers nor ends.
            with process.killed_after(_PATIENCE + files.read.file_seconds):
                if not self._greeted:
                    if process.answers.readline() != _GREETING:
                        raise EOFError("it is no worker")
                    _send(self._analyzer, process.requests)
                    self._greeted = True
                _send(files, process.requests)
                prepared: FileBatch = pickle.load(process.answers)  # noqa: S301  started above
                return prepared
        except _FAILURES:
            process.kill()  # half an answer may be on its way
            return None


class WorkerPool:
    """The workers for so many files, each of which prepares a few of them at a time."""

    def __init__(self, files: int, analyzer: Analyzer) -> None:
        count = 0 if files < _MANY else min(cores() - 1, _MOST_WORKERS)
        self._workers = [Worker(analyzer) for _ in range(count)]
        self._idle: SimpleQueue[Worker] = SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(max(1, count), "dowse-worker")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        processes = [worker.process for worker in self._workers if worker.process]
        for process in processes:
            process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in processes:
            process.end()

    def prepared(
        self,
        batches: Iterable[FileBatch],
        stages: Sequence[IndexStage],
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
        for kind, group in groupby(
            batch.sources, lambda one: kind_of(one.id.rpartition("/")[2]) or TEXT
        ):
            sources = list(group)
            for start in range(0, len(sources), _FILES):
                some = sources[start : start + _FILES]
                known = {one.id: batch.known[one.id] for one in some if one.id in batch.known}
                part = _Part(FileBatch(batch.read, batch.chunk, some, known), Future())
                if kind not in ALWAYS:  # one process converts, and it belongs to this one
                    part.future.cancel()
                else:
                    part = part._replace(future=self._threads.submit(self._prepare, part.files))
                yield part

    def _prepare(self, files: FileBatch) -> FileBatch | None:
        worker = self._idle.get()
        try:
            return worker.prepare(files)
        finally:
            self._idle.put(worker)


class _Part(NamedTuple):
    """A few files of a batch: a worker prepares them, unless they are taken back."""

    files: FileBatch
    future: Future[FileBatch | None]


def _finish(
    batch: FileBatch,
    parts: Sequence[_Part],
    stages: Sequence[IndexStage],
    announce: Callable[[str, int], None],
) -> FileBatch:
    """Take what the workers make of a batch; what none has begun or could do is done here."""
    for number, (files, future) in enumerate(parts):
        announce("parse", int(number / len(parts) * len(batch.sources)))
        while not future.done() and (last := _take_back(parts)):
            prepare(last, stages)
        made = None if future.cancelled() else future.result()
        if made is None and not files.counts:
            prepare(files, stages)
        batch.take(made or files)
    return batch


def _take_back(parts: Sequence[_Part]) -> FileBatch | None:
    """Return the last files that no worker has begun, and that are not done; none will."""
    return next(
        (files for files, future in reversed(parts) if not files.counts and future.cancel()), None
    )


# The module is imported by its name, so that the classes in pickles are the same in both processes.
_WORKER = ("-c", f"from {__name__} import work; work()")


def work() -> None:
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
