"""An export → an index: documents are read and cut anew, vectors found by the text they are of.

So nothing that a file claims about its chunks has to be believed, and an export of a version of
dowse that cut differently still brings the vectors of all that stayed the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from dowse.chunk import ChunkOptions, chunk
from dowse.errors import Damaged
from dowse.parse import parse
from dowse.ports import Writing
from dowse.read import ReadOptions, Unreadable, redact
from dowse.transfer.archive import Archive
from dowse.transfer.records import ChunkLine, DocumentLine
from dowse.types import (
    Announce,
    Batch,
    Event,
    IndexedDocument,
    Stamp,
    Vector,
    embedding_text,
    text_key,
)

_DOCUMENTS = 256
_CHARACTERS = 2_000_000
_VECTORS = 5000
_ROUNDING = 0.05  # how far half floats may take a vector from unit length
_LARGEST = 2**63 - 1  # what a store must be able to hold: sizes and times


@dataclass(slots=True)
class _Batch:
    """Documents on their way into the index, together."""

    put: list[IndexedDocument] = field(default_factory=list)
    vectors: dict[bytes, Vector] = field(default_factory=dict)
    characters: int = 0

    @property
    def is_full(self) -> bool:
        """Whether it is time to store it."""
        return len(self.put) >= _DOCUMENTS or self.characters >= _CHARACTERS


def fill(
    writing: Writing,
    archive: Archive,
    stamp: Stamp,
    announce: Announce,
    *,
    read: ReadOptions,
    options: ChunkOptions,
    keep_vectors: bool,
) -> None:
    """Starts an index and fills it, with the vectors of the export or without them."""
    writing.start(stamp)
    dimensions = int(archive.manifest.stamp["dimensions"])
    communities: dict[str, int] = {}
    done = 0
    for batch in _batches(archive, read, options, communities, dimensions):
        vectors = batch.vectors if keep_vectors else {}
        writing.apply(Batch(put=tuple(batch.put), vectors=vectors))
        done += len(batch.put)
        announce(Event("import", done, archive.manifest.documents))
    for words in _words(archive, dimensions):
        if keep_vectors:
            writing.remember(words)
    writing.set_communities(communities)


def _batches(
    archive: Archive,
    read: ReadOptions,
    options: ChunkOptions,
    communities: dict[str, int],
    dimensions: int,
) -> Iterator[_Batch]:
    batch, seen = _Batch(), set[str]()
    for line, chunks in archive.documents():
        _check(line, seen)
        document = parse(line.id, _without_secrets(line, read))
        batch.put.append(IndexedDocument(chunk(document, options), line.file))
        batch.characters += len(line.text)
        batch.vectors |= _vectors(chunks, dimensions)
        if line.community is not None:
            communities[line.id] = line.community
        if batch.is_full:
            yield batch
            batch = _Batch()
    if batch.put:
        yield batch


def _without_secrets(line: DocumentLine, read: ReadOptions) -> str:
    """The text of a document as it would be read here from its file."""
    try:
        return redact(line.text, read.redact)[0]
    except Unreadable as error:
        raise _wrong(f"{line.id!r} cannot be used: {error.reason}") from error


def _words(archive: Archive, dimensions: int) -> Iterator[Mapping[bytes, Vector]]:
    vectors: dict[bytes, Vector] = {}
    for line in archive.words():
        vectors[text_key(line.word)] = _vector(line.vector, dimensions)
        if len(vectors) >= _VECTORS:
            yield vectors
            vectors = {}
    if vectors:
        yield vectors


def _vectors(chunks: list[ChunkLine], dimensions: int) -> dict[bytes, Vector]:
    return {
        text_key(embedding_text(one.header_path, one.text)): _vector(one.vector, dimensions)
        for one in chunks
        if one.vector is not None
    }


def _vector(kept: bytes, dimensions: int) -> Vector:
    if len(kept) != 2 * dimensions:
        raise _wrong(f"a vector has {len(kept) // 2} dimensions instead of {dimensions}")
    vector: Vector = np.frombuffer(kept, dtype="<f2").astype(np.float32)
    if not abs(float(np.linalg.norm(vector)) - 1) < _ROUNDING:  # not so for what is no number, too
        raise _wrong("a vector is not of unit length")
    return vector


def _check(line: DocumentLine, seen: set[str]) -> None:
    """Refuses a document that could not come from a folder."""
    if line.id in seen:
        raise _wrong(f"it has {line.id!r} twice")
    seen.add(line.id)
    parts = line.id.split("/")
    if "\0" in line.id or any(part in {"", ".", ".."} for part in parts):
        raise _wrong(f"{line.id!r} is not the path of a document")
    if "\0" in line.text or "\r" in line.text:
        raise _wrong(f"{line.id!r} holds characters that no text has")
    state = line.file
    numbers = (state.size, state.mtime_ns, line.community or 0)
    if state.size < 0 or any(abs(one) > _LARGEST for one in numbers):
        raise _wrong(f"{line.id!r} has a size or a time that no file has")


def _wrong(what: str) -> Damaged:
    return Damaged(
        f"The export does not hold together: {what}.", "Ask whoever made it for another one."
    )
