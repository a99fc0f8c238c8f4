"""The stages that changed files pass through in batches: read, parse, chunk, embed, store."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dowse._index.chunk.chunker import chunk
from dowse._index.file_batch import FileBatch, ParsedFile, Prepared, Preparing, ReadFile
from dowse._index.markdown.document import parse
from dowse._index.source.load import Unreadable, load
from dowse._index.source.options import ReadOptions
from dowse._model import Batch, FileState, IndexedDocument, LeftOut, SourceFile
from dowse._util.clock import Clock
from dowse._util.deadline import Deadline, TookTooLong

if TYPE_CHECKING:  # a process that only prepares files need not load it
    from dowse._index.index_state import IndexState

_FILES = 64
_BYTES = 400_000  # about 500 chunks: some seconds of embedding
_LARGEST = 8  # times as much, where nothing is embedded: every transaction is synced to the disk
# A file changed so shortly before it was read may change again unseen: within a tick of the clock
# that stamps it. Some file systems count only seconds, or pairs of them.
_FINE_NS = 10_000_000
_COARSE_NS = 2_000_000_000


def batches(state: IndexState) -> Iterator[FileBatch]:
    """The changes of a scan, a few files at a time; the first batch is what is gone."""
    changes = state.changes
    # A file that moved keeps its size and time: its old id goes when its new one comes.
    arriving = {(source.size, source.mtime_ns) for source in changes.pending}
    left = {(known.size, known.mtime_ns): id_ for id_, known in changes.gone.items()}
    moved = {state: left[state] for state in arriving & left.keys()}
    stay_gone = [id_ for id_ in changes.gone if id_ not in set(moved.values())]
    if stay_gone:
        yield FileBatch(gone=stay_gone)
    for group in _groups(changes.pending, _LARGEST if state.words_first else 1):
        former = (moved.pop((source.size, source.mtime_ns), None) for source in group)
        yield FileBatch(group, changes.known, gone=[id_ for id_ in former if id_ is not None])


def _groups(sources: list[SourceFile], largest: int) -> Iterator[list[SourceFile]]:
    """The files in groups, each up to twice as large as the one before: the first is soon there."""
    group: list[SourceFile] = []
    size, times = 0, 1
    for source in sources:
        if group and (len(group) >= times * _FILES or size + source.size > times * _BYTES):
            yield group
            group, size, times = [], 0, min(largest, 2 * times)
        group.append(source)
        size += source.size
    if group:
        yield group


def read_files(state: Preparing) -> int:
    """Reads the files; one with the bytes that the index knows needs no more work."""
    batch = state.batch
    for source in batch.sources:
        with _or_left_out(batch, source):
            file = _read(source, state.read)
            known = batch.known.get(source.id)
            if known and known.digest == file.state.digest:
                batch.touched.append((source.id, file.state))
            else:
                batch.texts.append(file)
    return len(batch.sources)


def _read(source: SourceFile, options: ReadOptions) -> ReadFile:
    now = time.time_ns()
    text = load(source, options)
    settled = now - source.mtime_ns > (_COARSE_NS if source.mtime_ns % 10**9 == 0 else _FINE_NS)
    return ReadFile(source, text, FileState(source.size, source.mtime_ns, text.digest, settled))


def parse_files(state: Preparing) -> int:
    """Understands the texts."""
    batch = state.batch
    for file in batch.texts:
        with _or_left_out(batch, file.source):
            deadline = Deadline(state.read.file_seconds)
            document = parse(file.source.id, file.text.text, deadline)
            deadline.pause()
            parsed = replace(document, secrets=file.text.secrets)
            batch.documents.append(ParsedFile(file, parsed, deadline))
    return len(batch.texts)


def chunk_files(state: Preparing) -> int:
    """Cuts the documents, and notes which of them are indexed in part."""
    batch = state.batch
    for file, document, deadline in batch.documents:
        with _or_left_out(batch, file.source):
            deadline.resume()
            chunked = chunk(document, state.chunk, deadline)
            if file.text.secrets:
                batch.secrets += file.text.secrets
                batch.left_out.append(_without_secrets(file.source, file.text.secrets))
            if file.text.encoding:
                batch.left_out.append(_recognised(file.source, file.text.encoding))
            batch.left_out += document.problems
            batch.put.append(IndexedDocument(chunked, file.state))
    return sum(len(put.chunked.chunks) for put in batch.put)


PREPARING: Mapping[str, Callable[[Preparing], int]] = {
    "read": read_files,
    "parse": parse_files,
    "chunk": chunk_files,
}
"""The stages that need nothing but files: other processes can run them ahead of storing."""


def prepare(work: Preparing) -> Prepared:
    """Runs these stages."""
    clock, counts = Clock(), dict[str, int]()
    for name, run in PREPARING.items():
        with clock.timing(name):
            counts[name] = run(work)
    batch = work.batch
    found = batch.put, batch.touched, batch.gone, batch.left_out
    return Prepared(*found, batch.secrets, counts, clock.seconds)


def embed_chunks(state: IndexState) -> int:
    """Makes the vectors that the index does not have yet, unless words come first."""
    if state.words_first:
        return 0
    documents = [put.chunked for put in state.batch.put]
    texts = [one.embedding_text(part) for one in documents for part in one.chunks]
    state.batch.vectors = state.vectors.make(state.vectors.unknown(texts), state.progress)
    return len(state.batch.vectors)


def store_batch(state: IndexState) -> int:
    """Stores the batch in one transaction."""
    batch = state.batch
    state.writing.apply(
        Batch(tuple(batch.put), tuple(batch.gone), tuple(batch.touched), batch.vectors)
    )
    new = sum(put.chunked.document.id not in state.changes.known for put in batch.put)
    state.added += new
    state.changed += len(batch.put) - new
    state.removed += len(batch.gone)
    state.left_out += batch.left_out
    state.secrets += batch.secrets
    state.files_done += len(batch.sources)
    state.progress()
    return len(batch.put)


@contextmanager
def _or_left_out(batch: FileBatch, source: SourceFile) -> Iterator[None]:
    """What happens inside, or a note of why the file is left out."""
    try:
        yield
    except Unreadable as error:
        batch.leave_out(source.id, error.reason, lost=error.lost)
    except TookTooLong as error:
        batch.leave_out(
            source.id,
            f"It takes longer than {error.seconds:g} seconds to parse and cut; split it, or raise "
            "read.file_seconds in the settings.",
        )


def _without_secrets(source: SourceFile, count: int) -> LeftOut:
    secrets = "1 secret was" if count == 1 else f"{count} secrets were"
    return LeftOut(source.id, f"{secrets} left out (read.redact).", whole=False)


def _recognised(source: SourceFile, encoding: str) -> LeftOut:
    reason = f"It is not UTF-8 and was read as {encoding}; save it as UTF-8 to be sure."
    return LeftOut(source.id, reason, whole=False)
