"""Prepare files for the index: read, parse and cut them, in this process or in a worker."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from dowse._index.chunk.chunker import chunk
from dowse._index.chunk.options import ChunkOptions
from dowse._index.markdown.document import parse
from dowse._index.source.files import Unreadable
from dowse._index.source.load import load
from dowse._index.source.options import ReadOptions
from dowse._model import (
    Document,
    FileState,
    IndexedDocument,
    LeftOut,
    SourceFile,
    SourceText,
    Vector,
)
from dowse._util.cancellation import Clock, Deadline, TookTooLong

# A file changed so shortly before it was read may change again unseen: within a tick of the clock
# that stamps it. Some file systems count only seconds, or pairs of them.
_FINE_NS = 10_000_000
_COARSE_NS = 2_000_000_000


class ReadFile(NamedTuple):
    """A file whose text is not the one that the index has."""

    source: SourceFile
    text: SourceText
    state: FileState


class ParsedFile(NamedTuple):
    """A file, understood; `deadline` limits the rest of the work on it."""

    file: ReadFile
    document: Document
    deadline: Deadline


class FileBatch(Struct):
    """A few files on their way into the index; every stage adds what it makes of them."""

    read: ReadOptions
    chunk: ChunkOptions
    sources: Sequence[SourceFile] = ()
    known: Mapping[str, FileState] = field(default_factory=dict)  # what the index has, by id
    gone: list[str] = field(default_factory=list)  # ids of documents that are no more
    touched: list[tuple[str, FileState]] = field(default_factory=list)  # only their time is new
    texts: list[ReadFile] = field(default_factory=list)
    documents: list[ParsedFile] = field(default_factory=list)
    put: list[IndexedDocument] = field(default_factory=list)
    vectors: dict[bytes, Vector] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    secrets: int = 0
    counts: dict[str, int] = field(default_factory=dict)  # what each stage has worked on
    clock: Clock = field(default_factory=Clock)

    def leave_out(self, document: str, reason: str) -> None:
        """Note a file that is indexed, but not all of it."""
        self.left_out.append(LeftOut(document, reason, whole=False))

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


class FileStage(Struct, frozen=True):
    """A step of indexing that needs nothing but files: workers run it ahead of storing."""

    name: str
    run: Callable[[FileBatch], int]
    each_batch: ClassVar[bool] = True
    of_all: ClassVar[bool] = False


def prepare(
    batch: FileBatch,
    stages: Sequence[FileStage],
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
            settled = now - source.mtime_ns > tick
            state = FileState(source.size, source.mtime_ns, text.digest, settled)
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
            parsed = replace(document, secrets=file.text.secrets)
            batch.documents.append(ParsedFile(file, parsed, deadline))
    return len(batch.texts)


def chunk_files(batch: FileBatch) -> int:
    """Cut the documents, and note which of them are indexed in part."""
    for (source, text, state), document, deadline in batch.documents:
        with batch.or_left_out(source):
            deadline.resume()
            chunked = chunk(document, batch.chunk, deadline)
            if text.secrets:
                secrets = "1 secret was" if text.secrets == 1 else f"{text.secrets} secrets were"
                batch.secrets += text.secrets
                batch.leave_out(source.id, f"{secrets} left out (read.redact).")
            if text.encoding:
                batch.leave_out(
                    source.id,
                    f"It is not UTF-8 and was read as {text.encoding}; save it as UTF-8 to be "
                    "sure.",
                )
            batch.left_out += document.problems
            batch.put.append(IndexedDocument(chunked, state))
    return sum(len(put.chunked.chunks) for put in batch.put)


FILE_STAGES = (
    FileStage("read", read_files),
    FileStage("parse", parse_files),
    FileStage("chunk", chunk_files),
)
