"""The file of an export: a ZIP file with a manifest and three files of JSON Lines.

The manifest names every other file with its size and its SHA-256. Bytes, which is to say vectors,
are base64 in JSON: half floats, little end first. docs/export.md explains it.

`export_project` writes it: the same index always gives the same bytes. `open_archive` looks through
all of it before anything of it is believed.
"""

from __future__ import annotations

import hashlib
import io
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import groupby
from pathlib import Path
from typing import IO, Annotated, TypeVar, cast

import msgspec
from msgspec import Struct, field
from msgspec.structs import asdict

from dowse import __version__
from dowse._embed.models import KNOWN_MODELS, full_name
from dowse._embed.options import EmbedOptions
from dowse._model import (
    Announce,
    Chunk,
    Event,
    FileState,
    Stamp,
    StoredDocument,
    Vector,
    context_of,
    embedding_text,
    silent,
    text_key,
)
from dowse._model.ports import IndexReader
from dowse._project.engine import takes_vectors
from dowse._project.outputs import check_output, output_file
from dowse._project.registry import Project
from dowse._project.workspace import Workspace
from dowse.errors import Damaged, NotFound, Refused, StampMismatch, UsageError

FORMAT = "dowse-export"
"""What the manifest of every export says it is."""

VERSION = 1
"""Raised when older versions of dowse could not make sense of an export any more."""

MANIFEST, DOCUMENTS, CHUNKS, WORDS = (
    "manifest.json",
    "documents.jsonl",
    "chunks.jsonl",
    "vocabulary.jsonl",
)
"""The files of an export."""

Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
"""How many; never fewer than none, and no more than a disk could hold."""


class FormatClaim(Struct, frozen=True):
    """What a manifest says of itself first, in every version."""

    format: str = ""
    version: Annotated[int, msgspec.Meta(ge=0, le=2**31)] = 0


class Part(Struct, frozen=True):
    """A file of an export, unpacked."""

    bytes: Count
    sha256: str  # hex


class Manifest(Struct, frozen=True):
    """What an export says about itself."""

    format: str
    version: int
    dowse: str  # the version of dowse that wrote it
    project: str  # the name it had
    # Names only, never paths; the first is "", see `Root`.
    roots: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=1000)]
    stamp: Stamp  # what the index was built with
    embed: dict[str, str]  # settings of a model that everybody can have; else empty
    documents: Count
    chunks: Count
    vectors: Count  # of chunks
    words: Count  # of the vocabulary that have a vector
    parts: dict[str, Part]  # by name: every file but the manifest


class DocumentLine(Struct, frozen=True):
    """A document."""

    id: str
    fields: msgspec.Raw  # for readers: an import reads them from the text again
    modified: float
    file: FileState
    text: str
    community: Count | None = None


class ChunkLine(Chunk, frozen=True, kw_only=True):
    """A chunk with its vector; those of a document follow each other, in its order."""

    document: str
    text: str
    vector: bytes | None = None


class WordLine(Struct, frozen=True):
    """A word of the vocabulary with its vector."""

    word: str
    vector: bytes = b""


# ── Writing ───────────────────────────────────────────────────────────────

_WORDS_AT_ONCE = 1000


class ExportRecord(Struct, frozen=True):
    """What `dowse export` wrote."""

    project: Annotated[str, "Name of the project."]
    file: Annotated[str, "The file, absolute."]
    bytes: Annotated[int, "Its size."]
    documents: Annotated[int, "How many it holds."]
    chunks: Annotated[int, "How many it holds."]
    vectors: Annotated[int, "Chunks that have one."]
    notices: Annotated[tuple[str, ...], "What is missing, and how to change that."]


def export_project(
    workspace: Workspace,
    project: Project,
    file: Path,
    *,
    overwrite: bool = False,
    announce: Announce = silent,
) -> ExportRecord:
    """Write a project's index into one file, whole or not at all, outside of all roots."""
    file = check_output(workspace, file, force=overwrite)  # before anything takes long
    settings = workspace.settings(project).settings
    parts = workspace.parts(project, settings, announce)
    with (
        closing(parts.store),
        parts.store.read() as reader,
        output_file(workspace, file, force=overwrite) as target,
    ):
        stamp = reader.catalogue.stamp()
        if stamp is None:
            raise NotFound(
                f"The project {project.name!r} has not been indexed yet.",
                f"Index it with: dowse index -p {project.typed}",
            )
        manifest = pack(
            reader,
            stamp,
            target,
            announce,
            project=project.name,
            roots=tuple(root.name for root in project.named_roots),
            embed=_embed(stamp, settings.embed),
            vocabulary=settings.learned_words,
        )
    notices: tuple[str, ...] = ()
    if takes_vectors(stamp) and (missing := manifest.chunks - manifest.vectors):
        why = f"{missing:,} of {manifest.chunks:,} chunks have no vectors."
        notices = (f"{why} Make them first with: dowse index -p {project.typed}",)
    return ExportRecord(
        project=project.name,
        file=str(file),
        bytes=file.stat().st_size,
        documents=manifest.documents,
        chunks=manifest.chunks,
        vectors=manifest.vectors,
        notices=notices,
    )


def _embed(stamp: Stamp, options: EmbedOptions) -> dict[str, str]:
    """Read the settings of the model, if it is one that dowse knows by heart.

    Folders and endpoints mean something else on another machine, and nobody should be made to send
    texts to an address that a file names.
    """
    name = full_name(options.model)
    if not takes_vectors(stamp) or options.provider != "local" or name not in KNOWN_MODELS:
        return {}
    return {"model": name, "precision": options.precision}


def pack(
    reader: IndexReader,
    stamp: Stamp,
    target: IO[bytes],
    announce: Announce,
    *,
    project: str,
    roots: tuple[str, ...],
    embed: dict[str, str],
    vocabulary: int,
) -> Manifest:
    """Write everything that an index holds into a file, with at most so many words.

    What the index does not know of its project goes into the manifest as it is.
    """
    with zipfile.ZipFile(target, "w") as file:
        packing = _Packing(reader, file, announce)
        ids = packing.ids()
        manifest = Manifest(
            format=FORMAT,
            version=VERSION,
            dowse=__version__,
            project=project,
            roots=roots,
            stamp=stamp,
            embed=embed,
            documents=packing.write(DOCUMENTS, packing.documents(ids)),
            chunks=packing.write(CHUNKS, packing.chunks(ids)),
            words=packing.write(WORDS, packing.words(vocabulary)),
            vectors=packing.vectors,
            parts=packing.parts,
        )
        file.writestr(_member(MANIFEST), msgspec.json.format(msgspec.json.encode(manifest)))
    return manifest


class _Packing(Struct):
    """An export that is being written."""

    reader: IndexReader
    file: zipfile.ZipFile
    announce: Announce
    parts: dict[str, Part] = field(default_factory=dict)
    vectors: int = 0  # of chunks, so far

    def write(self, name: str, lines: Iterable[object]) -> int:
        """Write one file of JSON Lines; return how many there were."""
        encode, digest = msgspec.json.Encoder().encode, hashlib.sha256()
        size = count = 0
        with self.file.open(_member(name), "w", force_zip64=True) as part:
            for line in lines:
                data = encode(line) + b"\n"
                digest.update(data)
                part.write(data)
                size, count = size + len(data), count + 1
        self.parts[name] = Part(size, digest.hexdigest())
        return count

    def ids(self) -> list[str]:
        """List the documents as their chunks are numbered, which decides between equal scores."""

        def place(document_id: str) -> tuple[int, str]:
            keys = self.reader.catalogue.keys_of([document_id])
            return int(keys[0]) if len(keys) else -1, document_id

        return sorted((entry.id for entry in self.reader.catalogue.documents()), key=place)

    def documents(self, ids: Sequence[str]) -> Iterator[DocumentLine]:
        """Make the lines of the documents."""
        files, communities = self.reader.catalogue.files(), self.reader.links.communities()
        for document in self._stored(ids, 0):
            entry = document.entry
            yield DocumentLine(
                id=entry.id,
                fields=msgspec.Raw(msgspec.json.encode(entry.fields)),
                modified=entry.modified,
                file=files[entry.id],
                text=document.text,
                community=communities.get(entry.id),
            )

    def chunks(self, ids: Sequence[str]) -> Iterator[ChunkLine]:
        """Make the lines of the chunks, and count their vectors."""
        context = context_of(self.reader.catalogue.stamp())
        for document in self._stored(ids, 1):
            title = document.entry.fields.title
            texts = [document.text[chunk.start : chunk.end] for chunk in document.chunks]
            keys = [
                text_key(embedding_text(title, chunk.header_path, text, context))
                for chunk, text in zip(document.chunks, texts, strict=True)
            ]
            known = self.reader.text_vectors.known(keys)
            for chunk, text, key in zip(document.chunks, texts, keys, strict=True):
                self.vectors += key in known
                yield ChunkLine(
                    **asdict(chunk),
                    document=document.entry.id,
                    text=text,
                    vector=_half_floats(known[key]) if key in known else None,
                )

    def words(self, size: int) -> Iterator[WordLine]:
        """Make the lines of the most frequent words that have a vector."""
        words = self.reader.vocabulary.most_frequent(size)
        for start in range(0, len(words), _WORDS_AT_ONCE):
            keys = {text_key(word): word for word in words[start : start + _WORDS_AT_ONCE]}
            known = self.reader.text_vectors.known(list(keys))
            yield from (
                WordLine(keys[key], _half_floats(known[key])) for key in keys if key in known
            )

    def _stored(self, ids: Sequence[str], step: int) -> Iterator[StoredDocument]:
        """Read the documents, whole; they are gone through twice, so each pass is half the work."""
        for place, document_id in enumerate(ids):
            document = self.reader.catalogue.document(document_id)
            if document is not None:
                yield document
            self.announce(Event("export", (step * len(ids) + place + 1) // 2, len(ids)))


def _half_floats(vector: Vector) -> bytes:
    return vector.astype("<f2").tobytes()


def _member(name: str) -> zipfile.ZipInfo:
    """Describe a file of the archive whose bytes depend on nothing but its content."""
    member = zipfile.ZipInfo(name)  # of 1980, the first date that a ZIP file can hold
    member.compress_type = zipfile.ZIP_DEFLATED
    member.create_system = 3  # otherwise it would tell the systems apart
    member.external_attr = 0o644 << 16
    return member


# ── Reading ───────────────────────────────────────────────────────────────

_LONGEST_HEAD = 1_000_000  # bytes of the list of files, and of the manifest: there are four files
_PIECE = 1 << 18  # bytes that are read at once, fewer than that
# Bytes of a line. JSON takes up to six bytes for a character, and a document repeats its fields.
_LONGEST_LINES = {DOCUMENTS: 128_000_000, CHUNKS: 16_000_000, WORDS: 1_000_000}
# Text shrinks to a third or a tenth, vectors hardly at all; a bomb shrinks to a thousandth.
_HARMLESS = 100_000_000  # bytes that may be packed as densely as they like
_DENSEST = 200
_SHOWN = 200  # characters of what another library says

# What the decoder says to JSON that is wrong, is no text, or is nested without end.
_UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)

# What the ZIP library says to files that are wrong.
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
)

_AGAIN = "Export it once more, and copy it whole."

_Line = TypeVar("_Line", DocumentLine, ChunkLine, WordLine)


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open an export; raise an error that says why when it is not whole, or none at all."""
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise UsageError(f"{path} cannot be read: it is no file.", "Name a file.")
        source = _InPieces(path)
    except FileNotFoundError:
        raise NotFound(f"{path} does not exist.", "Name a file that `dowse export` made.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", "Name a file.") from error
    with source, ExitStack() as opened:
        try:
            file = opened.enter_context(zipfile.ZipFile(source))
        except (*_BROKEN, ValueError) as error:
            raise _foreign(
                path, f"it is no ZIP file, or its end is missing ({_short(error)})"
            ) from error
        yield Archive(path, file, opened)


class _InPieces(io.FileIO):
    """A file that is never read in one large piece, as the list of files of a bomb would be."""

    def read(self, size: int | None = -1) -> bytes:
        """Read so many bytes; all that are left are at most as many as the list may have."""
        if size is not None and size > _LONGEST_HEAD:
            raise zipfile.BadZipFile("its list of files is too long")
        return super().read(_LONGEST_HEAD if size is None or size < 0 else size) or b""


class Archive:
    """An export that is whole, and is what it says it is."""

    def __init__(self, path: Path, file: zipfile.ZipFile, opened: ExitStack) -> None:
        self._path = path
        self._file = file
        self._opened = opened
        self._check_members()
        self.manifest = self._read_manifest()
        self._check_parts()

    def documents(self) -> Iterator[tuple[DocumentLine, Iterator[ChunkLine]]]:
        """Read all documents, each with its chunks, which must be read before the next document."""
        groups = groupby(self._lines(CHUNKS, ChunkLine), key=lambda chunk: chunk.document)
        owner, chunks = next(groups, (None, iter(())))
        for document in self._lines(DOCUMENTS, DocumentLine):
            if owner != document.id:
                yield document, iter(())
                continue
            yield document, chunks
            owner, chunks = next(groups, (None, iter(())))
        if owner is not None:
            raise self._damaged(f"{CHUNKS} has chunks where none belong")

    def words(self) -> Iterator[WordLine]:
        """Read the words of the vocabulary."""
        return self._lines(WORDS, WordLine)

    def _lines(self, name: str, kind: type[_Line]) -> Iterator[_Line]:
        decode = msgspec.json.Decoder(kind).decode
        with self._damage():
            # Closed with the archive, also when nobody reads on.
            # By itself a member reads lines of a given length byte by byte.
            lines = io.BufferedReader(
                cast("io.RawIOBase", self._opened.enter_context(self._file.open(name))), _PIECE
            )
            number = 0
            while line := lines.readline(_LONGEST_LINES[name]):
                number += 1
                try:
                    yield decode(line)
                except _UNREADABLE as error:
                    raise self._damaged(f"line {number} of {name}: {_short(error)}") from error

    def _check_members(self) -> None:
        """Refuse what no export holds, before a byte is unpacked."""
        members = self._file.infolist()
        names = [member.filename for member in members]
        if MANIFEST not in names:
            raise _foreign(self._path, f"it holds no {MANIFEST}")
        if len(set(names)) < len(names):
            raise Refused(f"{self._path} holds two files of the same name.", _AGAIN)
        for member in members:
            is_encrypted = member.flag_bits & 0x1
            if is_encrypted or member.compress_type not in {
                zipfile.ZIP_STORED,
                zipfile.ZIP_DEFLATED,
            }:
                raise Refused(
                    f"{self._path} is packed or encrypted in a way that dowse does not use.", _AGAIN
                )
        unpacked = sum(member.file_size for member in members)
        if unpacked > max(_HARMLESS, _DENSEST * self._path.stat().st_size):
            raise Refused(
                f"{self._path} would unpack to {unpacked // 1_000_000:,} MB,"
                " more than an export does.",
                "Import only files from people whom you trust.",
            )

    def _read_manifest(self) -> Manifest:
        if self._file.getinfo(MANIFEST).file_size > _LONGEST_HEAD:
            raise _foreign(self._path, f"its {MANIFEST} is too long")
        with self._damage():
            data = self._file.read(MANIFEST)
        try:
            claim = msgspec.json.decode(data, type=FormatClaim)
        except _UNREADABLE as error:
            raise _foreign(self._path, f"its {MANIFEST} cannot be read") from error
        if claim.format != FORMAT:
            raise _foreign(self._path, f"its {MANIFEST} is of something else")
        if claim.version != VERSION:
            raise StampMismatch(
                f"{self._path} has version {claim.version} of the format,"
                f" this dowse reads {VERSION}.",
                "Update dowse." if claim.version > VERSION else "Export it once more.",
            )
        try:
            manifest = msgspec.json.decode(data, type=Manifest)
        except _UNREADABLE as error:
            raise self._damaged(f"{MANIFEST}: {_short(error)}") from error
        parts = {DOCUMENTS, CHUNKS, WORDS}
        if manifest.parts.keys() != parts or {*self._file.namelist()} != {MANIFEST, *parts}:
            raise Refused(f"{self._path} does not hold the files that an export holds.", _AGAIN)
        return manifest

    def _check_parts(self) -> None:
        for name, part in self.manifest.parts.items():
            if self._file.getinfo(name).file_size != part.bytes:
                raise self._damaged(f"{name} has not the size that it should have")
            digest = hashlib.sha256()
            with self._damage(), self._file.open(name) as file:
                while piece := file.read(_PIECE):
                    digest.update(piece)
            if digest.hexdigest() != part.sha256:
                raise self._damaged(f"{name} is not what was written")

    @contextmanager
    def _damage(self) -> Iterator[None]:
        """Say what the ZIP library says of broken files as dowse says it."""
        try:
            yield
        except _BROKEN as error:
            raise self._damaged(_short(error)) from error

    def _damaged(self, what: str) -> Damaged:
        return Damaged(f"{self._path} is damaged: {what}.", _AGAIN)


def _foreign(path: Path, why: str) -> UsageError:
    return UsageError(
        f"{path} is no export of dowse, or only a part of one: {why}.",
        "Name a file that `dowse export` made.",
    )


def _short(error: Exception) -> str:
    """Quote an error without the whole of a long name or value that it repeats."""
    return str(error)[:_SHOWN]
