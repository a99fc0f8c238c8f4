"""Changed files → batches ready to be stored: read, parsed, cut and embedded."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from dowse.chunk import ChunkOptions, chunk
from dowse.deadline import Deadline, TookTooLong
from dowse.flow.scan import Changes
from dowse.flow.stages import Clock
from dowse.flow.vectors import VectorMaker
from dowse.parse import parse
from dowse.read import ReadOptions, Unreadable, load
from dowse.types import (
    Announce,
    Batch,
    ChunkedDocument,
    Event,
    FileState,
    IndexedDocument,
    LeftOut,
    SourceFile,
    SourceText,
    Vector,
)

_FILES = 64
_BYTES = 400_000  # about 500 chunks: some seconds of embedding
# A file changed so shortly before it was read may change again unseen: within a tick of the clock
# that stamps it. Some file systems count only seconds, or pairs of them.
_FINE_NS = 10_000_000
_COARSE_NS = 2_000_000_000


@dataclass(slots=True)
class Done:
    """A batch, and what is to be said about it."""

    batch: Batch
    added: int = 0  # of the documents put, how many are new
    left_out: list[LeftOut] = field(default_factory=list)
    secrets: int = 0  # that were replaced in the documents put


class Batches:
    """Works through the changes of a scan, a few files at a time."""

    def __init__(
        self,
        changes: Changes,
        *,
        read: ReadOptions,
        chunk: ChunkOptions,
        vectors: VectorMaker,
        clock: Clock,
        announce: Announce,
    ) -> None:
        self._changes = changes
        self._read_options = read
        self._chunk_options = chunk
        self._vectors = vectors
        self._clock = clock
        self._announce = announce
        self._files_done = 0
        # A file that moved keeps its size and time: its old id goes when its new one comes.
        arriving = {(source.size, source.mtime_ns) for source in changes.pending}
        left = {(known.size, known.mtime_ns): id_ for id_, known in changes.gone.items()}
        self._moved = {state: left[state] for state in arriving & left.keys()}

    def __iter__(self) -> Iterator[Done]:
        """Yields batches; each must be stored before the next is asked for."""
        moved = set(self._moved.values())
        gone = tuple(id_ for id_ in self._changes.gone if id_ not in moved)
        if gone:
            yield Done(Batch(gone=gone))
        self._progress(0, 0)
        for group in _groups(self._changes.pending):
            yield self._make(group)
            self._files_done += len(group)
            self._progress(0, 0)

    def _make(self, group: list[SourceFile]) -> Done:
        done = Done(Batch())
        put, gone, touched = [], [], []
        for source in group:
            gone += self._moved_from(source)
            known = self._changes.known.get(source.id)
            try:
                with self._clock.timing("read"):
                    text, state = self._read(source)
                if known and known.digest == state.digest:
                    touched.append((source.id, state))
                    continue
                document = self._cut(source, text)
            except Unreadable as error:
                done.left_out.append(LeftOut(source.id, error.reason))
                gone += [source.id] if known else []
                continue
            if text.secrets:
                done.secrets += text.secrets
                done.left_out.append(_without_secrets(source, text.secrets))
            done.left_out += document.document.problems
            done.added += known is None
            put.append(IndexedDocument(document, state))
        with self._clock.timing("embed"):
            vectors = self._embed([indexed.chunked for indexed in put], len(group))
        done.batch = Batch(tuple(put), tuple(gone), tuple(touched), vectors)
        return done

    def _moved_from(self, source: SourceFile) -> list[str]:
        former = self._moved.pop((source.size, source.mtime_ns), None)
        return [] if former is None else [former]

    def _read(self, source: SourceFile) -> tuple[SourceText, FileState]:
        now = time.time_ns()
        text = load(source, self._read_options)
        settled = now - source.mtime_ns > (_COARSE_NS if source.mtime_ns % 10**9 == 0 else _FINE_NS)
        return text, FileState(source.size, source.mtime_ns, text.digest, settled)

    def _cut(self, source: SourceFile, text: SourceText) -> ChunkedDocument:
        deadline = Deadline(self._read_options.file_seconds)
        try:
            with self._clock.timing("parse"):
                document = parse(source.id, text.text, deadline)
            with self._clock.timing("chunk"):
                return chunk(document, self._chunk_options, deadline)
        except TookTooLong as error:
            raise Unreadable(_too_slow(error)) from error

    def _embed(self, documents: list[ChunkedDocument], files: int) -> dict[bytes, Vector]:
        texts = [one.embedding_text(part) for one in documents for part in one.chunks]
        new = self._vectors.unknown(texts)
        return self._vectors.make(new, lambda part: self._progress(part, files))

    def _progress(self, part: float, files: int) -> None:
        done = self._files_done + int(part * files)
        self._announce(Event("index", done, len(self._changes.pending)))


def _too_slow(error: TookTooLong) -> str:
    return (
        f"It takes longer than {error.seconds:g} seconds to parse and cut; split it, or raise "
        "read.file_seconds in the settings."
    )


def _without_secrets(source: SourceFile, count: int) -> LeftOut:
    secrets = "1 secret was" if count == 1 else f"{count} secrets were"
    return LeftOut(source.id, f"{secrets} left out (read.redact).", whole=False)


def _groups(sources: list[SourceFile]) -> Iterator[list[SourceFile]]:
    group: list[SourceFile] = []
    size = 0
    for source in sources:
        if group and (len(group) >= _FILES or size + source.size > _BYTES):
            yield group
            group, size = [], 0
        group.append(source)
        size += source.size
    if group:
        yield group
