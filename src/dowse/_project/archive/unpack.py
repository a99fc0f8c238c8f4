"""An export → an index: documents are read and cut again, vectors are found by their text.

So nothing that a file claims about its chunks has to be believed, and an export of a version of
dowse that cut differently still brings the vectors of all that stayed the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from msgspec import Struct, field

from dowse._config.schema import Settings
from dowse._index.chunk.chunker import chunk
from dowse._index.markdown.document import parse
from dowse._index.source.load import Unreadable
from dowse._index.source.options import ReadOptions
from dowse._index.source.secrets import redact
from dowse._model import (
    Announce,
    Batch,
    ChunkedDocument,
    Event,
    IndexedDocument,
    Stamp,
    Vector,
    embedding_text,
    text_key,
)
from dowse._model.ports import IndexWriter
from dowse._project.archive.archive import Archive
from dowse._project.archive.records import ImportedChunk, ImportedDocument
from dowse.errors import Damaged, Refused

_DOCUMENTS = 256
_CHARACTERS = 2_000_000
_NUMBERS = 1 << 22  # in the vectors of a batch: four bytes each
_NUMBERS_OF_DOCUMENT = 1 << 25
_LONGEST_ID = 4096  # bytes, as for any path
_LONGEST_NAME = 255  # bytes of a file's name
_LONGEST_DIGEST = 200
_ROUNDING = 0.05  # how far half floats may take a vector from unit length
_SHOWN = 100  # characters of a wrong name
_LARGEST = 2**63 - 1  # what a store must be able to hold: sizes and times


class _Batch(Struct):
    """Documents on their way into the index, together."""

    put: list[IndexedDocument] = field(default_factory=list)
    vectors: dict[bytes, Vector] = field(default_factory=dict)
    characters: int = 0
    numbers: int = 0  # of all vectors

    @property
    def is_full(self) -> bool:
        """Whether it is time to store it."""
        return (
            len(self.put) >= _DOCUMENTS
            or self.characters >= _CHARACTERS
            or self.numbers >= _NUMBERS
        )

    def take(self, vectors: Mapping[bytes, Vector], dimensions: int) -> None:
        """Adds vectors, by the text that they are of."""
        self.vectors.update(vectors)
        self.numbers = len(self.vectors) * dimensions


def fill(
    writing: IndexWriter,
    archive: Archive,
    stamp: Stamp,
    settings: Settings,
    announce: Announce,
    *,
    keep_vectors: bool,
) -> None:
    """Starts an index and fills it, with the vectors of the export or without them."""
    writing.start(stamp)
    dimensions = int(archive.manifest.stamp["dimensions"])
    writing.expect(chunked for _, _, chunked in _documents(archive, settings))
    communities: dict[str, int] = {}
    done = 0
    for batch in _batches(archive, settings, communities, dimensions):
        vectors = batch.vectors if keep_vectors else {}
        writing.apply(Batch(put=tuple(batch.put), vectors=vectors))
        done += len(batch.put)
        announce(Event("import", done, archive.manifest.documents))
    for words in _words(archive, dimensions):
        if keep_vectors:
            writing.remember(words)
    writing.set_communities(communities)


def _batches(
    archive: Archive, settings: Settings, communities: dict[str, int], dimensions: int
) -> Iterator[_Batch]:
    batch = _Batch()
    for line, chunks, chunked in _documents(archive, settings):
        batch.put.append(IndexedDocument(chunked, line.file))
        batch.characters += len(line.text)
        batch.take(_vectors(chunks, chunked, dimensions), dimensions)
        if line.community is not None:
            communities[line.id] = line.community
        if batch.is_full:
            yield batch
            batch = _Batch()
    if batch.put:
        yield batch


def _documents(
    archive: Archive, settings: Settings
) -> Iterator[tuple[ImportedDocument, Iterator[ImportedChunk], ChunkedDocument]]:
    """All documents as lines, each with the lines of its chunks, and cut by the rules of here."""
    seen = set[str]()
    for line, chunks in archive.documents():
        _check(line, seen, settings.read.max_bytes)
        document = parse(line.id, _without_secrets(line, settings.read))
        yield line, chunks, chunk(document, settings.chunk)
        for _ in chunks:  # those that nobody has read: the next document has others
            pass


def _without_secrets(line: ImportedDocument, read: ReadOptions) -> str:
    """The text of a document as it would be read here from its file."""
    try:
        return redact(line.text, read.redact)[0]
    except Unreadable as error:
        raise _wrong(f"{line.id!r} cannot be used: {error.reason}") from error


def _words(archive: Archive, dimensions: int) -> Iterator[Mapping[bytes, Vector]]:
    vectors: dict[bytes, Vector] = {}
    for line in archive.words():
        vectors[text_key(line.word)] = _vector(line.vector, dimensions)
        if len(vectors) * dimensions >= _NUMBERS:
            yield vectors
            vectors = {}
    if vectors:
        yield vectors


def _vectors(
    chunks: Iterator[ImportedChunk], chunked: ChunkedDocument, dimensions: int
) -> dict[bytes, Vector]:
    """The vectors of the chunks that the document has here; there may be more in the file."""
    title, context = chunked.document.fields.title, chunked.context
    wanted = {text_key(chunked.embedding_text(one)) for one in chunked.chunks}
    found: dict[bytes, Vector] = {}
    for one in chunks:
        if one.vector is None:
            continue
        key, vector = (
            text_key(embedding_text(title, one.header_path, one.text, context)),
            _vector(one.vector, dimensions),
        )
        # Those of a document that are too many for memory can be made again.
        if key in wanted and len(found) * dimensions < _NUMBERS_OF_DOCUMENT:
            found[key] = vector
    return found


def _vector(kept: bytes, dimensions: int) -> Vector:
    if len(kept) != 2 * dimensions:
        raise _wrong(f"a vector has {len(kept) // 2} dimensions instead of {dimensions}")
    vector: Vector = np.frombuffer(kept, dtype="<f2").astype(np.float32)
    if not abs(float(np.linalg.norm(vector)) - 1) < _ROUNDING:  # not so for what is no number, too
        raise _wrong("a vector is not of unit length")
    return vector


def _check(line: ImportedDocument, seen: set[str], longest: int) -> None:
    """Refuses a document that could not come from a folder."""
    if not _can_be_id(line.id):
        raise _wrong(f"{line.id[:_SHOWN]!r} is not the path of a document")
    if line.id in seen:
        raise _wrong(f"it has {line.id!r} twice")
    seen.add(line.id)
    if "\0" in line.text or "\r" in line.text:
        raise _wrong(f"{line.id!r} holds characters that no text has")
    if len(line.text) > longest:
        raise Refused(
            f"{line.id!r} has {len(line.text):,} characters, the limit is {longest:,}.",
            "Raise the limit with: dowse config set read.max_bytes NUMBER",
        )
    state = line.file
    numbers = (state.size, state.mtime_ns, line.community or 0)
    if state.size < 0 or any(abs(one) > _LARGEST for one in numbers):
        raise _wrong(f"{line.id!r} has a size or a time that no file has")
    if len(state.digest) > _LONGEST_DIGEST:
        raise _wrong(f"{line.id!r} has a checksum that no file has")


def _can_be_id(name: str) -> bool:
    parts = name.split("/")
    return (
        "\0" not in name
        and len(name.encode()) <= _LONGEST_ID
        and all(part not in {"", ".", ".."} for part in parts)
        and all(len(part.encode()) <= _LONGEST_NAME for part in parts)
    )


def _wrong(what: str) -> Damaged:
    return Damaged(f"The export is inconsistent: {what}.", "Ask its author for another one.")
