"""An export, opened: looked through from end to end before anything of it is believed."""

from __future__ import annotations

import hashlib
import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar, cast

import msgspec

from dowse._project.archive.records import (
    CHUNKS,
    DOCUMENTS,
    FORMAT,
    MANIFEST,
    VERSION,
    WORDS,
    FormatClaim,
    ImportedChunk,
    ImportedDocument,
    Manifest,
    WordLine,
)
from dowse.errors import Damaged, NotFound, Refused, StampMismatch, UsageError

_PARTS = {DOCUMENTS, CHUNKS, WORDS}
_MOST_OF_MANIFEST = 1_000_000  # bytes
_MOST_OF_LIST = 1_000_000  # bytes of the list of files: an export has four
_PIECE = 1 << 18  # bytes that are read at once, fewer than that
# Bytes of a line. JSON takes up to six bytes for a character, and a document repeats its fields.
_LONGEST_LINES = {DOCUMENTS: 128_000_000, CHUNKS: 16_000_000, WORDS: 1_000_000}
# Text shrinks to a third or a tenth, vectors hardly at all; a bomb shrinks to a thousandth.
_HARMLESS = 100_000_000  # bytes that may be packed as densely as they like
_DENSEST = 200
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_ENCRYPTED = 0x1
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

_Line = TypeVar("_Line", ImportedDocument, ImportedChunk, WordLine)


class Archive:
    """An export that is whole, and is what it says it is."""

    def __init__(self, path: Path, file: zipfile.ZipFile, opened: ExitStack) -> None:
        self._path = path
        self._file = file
        self._opened = opened
        _check_members(path, file)
        self.manifest = _read_manifest(path, file)
        self._check_parts()

    def documents(self) -> Iterator[tuple[ImportedDocument, Iterator[ImportedChunk]]]:
        """All documents, each with its chunks, which must be read before the next document."""
        chunks = _Peeking(self._lines(CHUNKS, ImportedChunk))
        for document in self._lines(DOCUMENTS, ImportedDocument):
            yield document, chunks.of(document.id)
        if chunks.next is not None:
            raise self._damaged(f"{CHUNKS} has chunks where none belong")

    def words(self) -> Iterator[WordLine]:
        """The words of the vocabulary."""
        return self._lines(WORDS, WordLine)

    def _lines(self, name: str, kind: type[_Line]) -> Iterator[_Line]:
        decode = msgspec.json.Decoder(kind).decode
        with _damage(self._path):
            # Closed with the archive, also when nobody reads on.
            member = self._opened.enter_context(self._file.open(name))
            # By itself a member reads lines of a given length byte by byte.
            lines = io.BufferedReader(cast("io.RawIOBase", member), _PIECE)
            number = 0
            while line := lines.readline(_LONGEST_LINES[name]):
                number += 1
                try:
                    yield decode(line)
                except _UNREADABLE as error:
                    raise self._damaged(f"line {number} of {name}: {_short(error)}") from error

    def _check_parts(self) -> None:
        for name, part in self.manifest.parts.items():
            if self._file.getinfo(name).file_size != part.bytes:
                raise self._damaged(f"{name} has not the size that it should have")
            digest = hashlib.sha256()
            with _damage(self._path), self._file.open(name) as file:
                while piece := file.read(_PIECE):
                    digest.update(piece)
            if digest.hexdigest() != part.sha256:
                raise self._damaged(f"{name} is not what was written")

    def _damaged(self, what: str) -> Damaged:
        return Damaged(f"{self._path} is damaged: {what}.", _AGAIN)


class _Peeking:
    """Chunks in their order, with a look at the next one."""

    def __init__(self, chunks: Iterator[ImportedChunk]) -> None:
        self._chunks = chunks
        self.next = next(chunks, None)

    def of(self, document: str) -> Iterator[ImportedChunk]:
        """The chunks from here on that are of this document."""
        while self.next is not None and self.next.document == document:
            yield self.next
            self.next = next(self._chunks, None)


class _InPieces(io.FileIO):
    """A file that is never read in one large piece, as the list of files of a bomb would be."""

    def read(self, size: int | None = -1) -> bytes:
        """So many bytes; all that are left are at most as many as the list may have."""
        if size is not None and size > _MOST_OF_LIST:
            raise zipfile.BadZipFile("its list of files is too long")
        return super().read(_MOST_OF_LIST if size is None or size < 0 else size) or b""


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Opens an export; raises an error that says why when it is not whole, or none at all."""
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise UsageError(f"{path} cannot be read: it is no file.", "Name a file.")
        source = _InPieces(path)
    except FileNotFoundError:
        raise NotFound(f"{path} does not exist.", "Name a file that `dowse export` made.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", "Name a file.") from error
    with source, ExitStack() as opened:
        yield Archive(path, opened.enter_context(_unzipped(path, source)), opened)


def _unzipped(path: Path, source: io.FileIO) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(source)
    except (*_BROKEN, UnicodeError, ValueError) as error:
        raise _foreign(
            path, f"it is no ZIP file, or its end is missing ({_short(error)})"
        ) from error


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """What the ZIP library says of broken files, as dowse says it."""
    try:
        yield
    except _BROKEN as error:
        raise Damaged(f"{path} is damaged: {_short(error)}.", _AGAIN) from error


def _check_members(path: Path, file: zipfile.ZipFile) -> None:
    """Refuses what no export holds, before a byte is unpacked."""
    members = file.infolist()
    names = [member.filename for member in members]
    if MANIFEST not in names:
        raise _foreign(path, f"it holds no {MANIFEST}")
    if len(set(names)) < len(names):
        raise Refused(f"{path} holds two files of the same name.", _AGAIN)
    for member in members:
        if member.flag_bits & _ENCRYPTED or member.compress_type not in _METHODS:
            raise Refused(
                f"{path} is packed or encrypted in a way that dowse does not use.", _AGAIN
            )
    unpacked = sum(member.file_size for member in members)
    if unpacked > max(_HARMLESS, _DENSEST * path.stat().st_size):
        raise Refused(
            f"{path} would unpack to {unpacked // 1_000_000:,} MB, more than an export does.",
            "Import only files from people whom you trust.",
        )


def _read_manifest(path: Path, file: zipfile.ZipFile) -> Manifest:
    if file.getinfo(MANIFEST).file_size > _MOST_OF_MANIFEST:
        raise _foreign(path, f"its {MANIFEST} is too long")
    with _damage(path):
        data = file.read(MANIFEST)
    try:
        claim = msgspec.json.decode(data, type=FormatClaim)
    except _UNREADABLE as error:
        raise _foreign(path, f"its {MANIFEST} cannot be read") from error
    if claim.format != FORMAT:
        raise _foreign(path, f"its {MANIFEST} is of something else")
    if claim.version != VERSION:
        raise StampMismatch(
            f"{path} has version {claim.version} of the format, this dowse reads {VERSION}.",
            "Update dowse." if claim.version > VERSION else "Export it once more.",
        )
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except _UNREADABLE as error:
        raise Damaged(f"{path} is damaged: {MANIFEST}: {_short(error)}.", _AGAIN) from error
    if {*file.namelist()} != {MANIFEST, *manifest.parts} or manifest.parts.keys() != _PARTS:
        raise Refused(f"{path} does not hold the files that an export holds.", _AGAIN)
    return manifest


def _foreign(path: Path, why: str) -> UsageError:
    return UsageError(
        f"{path} is no export of dowse, or only a part of one: {why}.",
        "Name a file that `dowse export` made.",
    )


def _short(error: Exception) -> str:
    """What an error says, without the whole of a long name or value that it repeats."""
    return str(error)[:_SHOWN]
