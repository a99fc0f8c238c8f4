"""An index → an export: the same index always gives the same bytes."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO

import msgspec
from msgspec import Struct, field

from dowse import __version__
from dowse._model import (
    Announce,
    Event,
    Stamp,
    StoredDocument,
    Vector,
    context_of,
    embedding_text,
    text_key,
)
from dowse._model.ports import IndexReader
from dowse._project.archive.records import (
    CHUNKS,
    DOCUMENTS,
    FORMAT,
    MANIFEST,
    VERSION,
    WORDS,
    ChunkLine,
    DocumentLine,
    Manifest,
    Part,
    WordLine,
)

_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the first date that a ZIP file can hold
_READABLE = 0o644 << 16
_WORDS_AT_ONCE = 1000


class About(Struct, frozen=True):
    """What an index does not know of its project."""

    project: str
    roots: tuple[str, ...]  # names, as in `Manifest`
    embed: Mapping[str, str]  # as in `Manifest`
    vocabulary: int  # how many words have a vector at most


class _Packing(Struct):
    """The work that the parts of an export have in common."""

    reading: IndexReader
    stamp: Stamp
    about: About
    archive: zipfile.ZipFile
    announce: Announce
    parts: dict[str, Part] = field(default_factory=dict)
    vectors: int = 0

    def write(self, name: str, lines: Iterable[object]) -> int:
        """Writes one file of JSON Lines; gives how many there were."""
        encode, digest = msgspec.json.Encoder().encode, hashlib.sha256()
        size = count = 0
        with self.archive.open(_member(name), "w", force_zip64=True) as file:
            for line in lines:
                data = encode(line) + b"\n"
                digest.update(data)
                file.write(data)
                size, count = size + len(data), count + 1
        self.parts[name] = Part(size, digest.hexdigest())
        return count


def pack(
    reading: IndexReader, stamp: Stamp, about: About, target: IO[bytes], announce: Announce
) -> Manifest:
    """Writes everything that an index holds into a file."""
    with zipfile.ZipFile(target, "w") as archive:
        work = _Packing(reading, stamp, about, archive, announce)
        ids = _in_order(reading)
        documents = work.write(DOCUMENTS, _documents(work, ids))
        chunks = work.write(CHUNKS, _chunks(work, ids))
        words = work.write(WORDS, _words(work))
        manifest = Manifest(
            format=FORMAT,
            version=VERSION,
            dowse=__version__,
            project=about.project,
            roots=about.roots,
            stamp=stamp,
            embed=dict(about.embed),
            documents=documents,
            chunks=chunks,
            vectors=work.vectors,
            words=words,
            parts=work.parts,
        )
        archive.writestr(_member(MANIFEST), msgspec.json.format(msgspec.json.encode(manifest)))
    return manifest


def _in_order(reading: IndexReader) -> list[str]:
    """Documents as their chunks are numbered, which decides between equal scores."""

    def place(document_id: str) -> tuple[int, str]:
        keys = reading.catalogue.keys_of([document_id])
        return int(keys[0]) if len(keys) else -1, document_id

    return sorted((entry.id for entry in reading.catalogue.documents()), key=place)


def _stored(work: _Packing, ids: Sequence[str], step: int) -> Iterator[StoredDocument]:
    """The documents, whole; they are gone through twice, so each pass is half of the work."""
    for place, document_id in enumerate(ids):
        document = work.reading.catalogue.document(document_id)
        if document is not None:
            yield document
        work.announce(Event("export", (step * len(ids) + place + 1) // 2, len(ids)))


def _documents(work: _Packing, ids: Sequence[str]) -> Iterator[DocumentLine]:
    files, communities = work.reading.catalogue.files(), work.reading.links.communities()
    for document in _stored(work, ids, 0):
        entry = document.entry
        yield DocumentLine(
            id=entry.id,
            fields=entry.fields,
            modified=entry.modified,
            file=files[entry.id],
            text=document.text,
            community=communities.get(entry.id),
        )


def _chunks(work: _Packing, ids: Sequence[str]) -> Iterator[ChunkLine]:
    context = context_of(work.reading.catalogue.stamp())
    for document in _stored(work, ids, 1):
        texts = [document.text[chunk.start : chunk.end] for chunk in document.chunks]
        pairs = list(zip(document.chunks, texts, strict=True))
        title = document.entry.fields.title
        keys = [
            text_key(embedding_text(title, chunk.header_path, text, context))
            for chunk, text in pairs
        ]
        known = work.reading.text_vectors.known(keys)
        for (chunk, text), key in zip(pairs, keys, strict=True):
            vector = known.get(key)
            work.vectors += vector is not None
            yield ChunkLine(
                id=chunk.id,
                document=document.entry.id,
                section=chunk.section,
                header_path=chunk.header_path,
                start=chunk.start,
                end=chunk.end,
                overlap=chunk.overlap,
                first_line=chunk.first_line,
                last_line=chunk.last_line,
                text=text,
                vector=None if vector is None else _kept(vector),
            )


def _words(work: _Packing) -> Iterator[WordLine]:
    words = work.reading.vocabulary.most_frequent(work.about.vocabulary)
    for start in range(0, len(words), _WORDS_AT_ONCE):
        keys = {text_key(word): word for word in words[start : start + _WORDS_AT_ONCE]}
        known = work.reading.text_vectors.known(list(keys))
        yield from (WordLine(keys[key], _kept(known[key])) for key in keys if key in known)


def _kept(vector: Vector) -> bytes:
    return vector.astype("<f2").tobytes()


def _member(name: str) -> zipfile.ZipInfo:
    """A file of the archive whose bytes depend on nothing but its content."""
    member = zipfile.ZipInfo(name, _LONG_AGO)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.create_system = 3  # otherwise it would tell the systems apart
    member.external_attr = _READABLE
    return member
